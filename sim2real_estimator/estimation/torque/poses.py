"""
Least squares on poses and points of motion capture, where the motion of joints is known.

A sample y of a sensor whose clock is late by d is a nonlinear measurement of the kinematics x,

    y = h(q(t - d), x) + e,

lengths, encoder zeros, mounts, the pose of the world of motion capture and d, which drifts if the
clock runs fast or slow: d = d_0 + r (t - t_0). Samples spread over the motion are kept, each with
the positions of joints about its time, and are linearized anew for every posterior (Gauss-Newton);
older ones are added to sums that are linearized at the posterior of that time. As of torques, the
variance s^2 of every position and turn is learned, in units of the configured one (the square of
the ratio of Birge 1932), and so is the inflation f, the factor by which correlated samples have
less information than independent ones. Samples with unusually large residuals are left out, so
that a sensor that follows another marker for a while has no effect.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag

from ...reported_events import NoiseQuestioned, PosesOff
from ..factors import solve_triangular
from ..protocol import Gaussian
from .joint_motion import REPORTED_FACTOR
from .regression import inflations

# A sample is kept if joints have moved by so much since the last one [rad or m] and this time has
# passed [ns]; at rest, after the second time [ns].
_MOVED, _SPACING_NS, _AT_REST_NS = 0.02, 45_000_000, 1_000_000_000
# Samples of a sensor that are kept, at the most; then every second one of the older half is added
# to the sums.
_MOST_KEPT = 160
# Samples that wait for the motion, at the most: without encoders they would wait forever.
_MOST_WAITING = 4000
# Positions of joints about a sample are a polynomial through so many points, which reach so many
# standard deviations of the delay to either side, within bounds [s].
_POINTS, _DEVIATIONS, _LEAST_REACH, _MOST_REACH = 5, 3.0, 0.004, 0.1
# Most Gauss-Newton steps. They have converged when a step is below so many standard deviations,
# and variances change by less than this part.
_STEPS, _CONVERGED, _UNCHANGED = 8, 0.1, 0.1
# How often the posterior is computed [ns of data]; the first so many times at every opportunity.
RENEWED_NS, FIRST_RENEWALS = 2_000_000_000, 20
# Samples are left out whose position or turn has a residual of so many times the usual one, judged
# by the median of the sum of two or three squared standard normals.
_OUTLIER, _MEDIAN_SQUARES = 3.0, {2: 1.386, 3: 2.366}
# Fewest samples from which the usual residual is judged.
_LEAST_GATED = 6
# Number of samples that the configured standard deviations count for.
_PRIOR_SAMPLES = 10.0
# Lags over which correlation is judged, and its prior inflation.
_LAGS, _PRIOR_INFLATION = 40, 2.0
# A sensor is reported to be off if less than this part of its samples is used.
_MOSTLY = 0.6
# Prior standard deviation of the rate of a clock, in seconds per second: that of a usual crystal.
_RATE = 5e-5
# Values of a pose beyond this are no measurements [m].
_MOST = 1e6
_AXES, _NANO = 3, 1e-9
_POWERS = np.arange(_POINTS)
_PLACES = np.linspace(-1.0, 1.0, _POINTS)
_TO_POLYNOMIAL = np.linalg.inv(_PLACES[:, None] ** _POWERS)


@dataclass(frozen=True)
class Poses:
    """
    Samples of sensors, N of them in the order of time.

    sensors [N]: their numbers; stamps [N] ns; delays [N] s: of their clocks, as known when they
    came; reaches [N] s; paths [N, 5, n]: coefficients of polynomials of the positions of joints in
    time, relative to the time of the sample, in units of the reach; values [N, .]: measured.
    """

    sensors: np.ndarray
    stamps: np.ndarray
    delays: np.ndarray
    reaches: np.ndarray
    paths: np.ndarray
    values: np.ndarray

    @staticmethod
    def joined(parts):
        """Return the samples of several parts, one after the other."""
        return Poses(*(np.concatenate(part) for part in zip(*(vars(p).values() for p in parts))))

    def pick(self, which):
        """Return some of them."""
        return Poses(*(part[which] for part in vars(self).values()))

    def motion(self, delays):
        """Return positions and velocities [N, n] of joints at the samples, for delays [N]."""
        along = (self.delays - delays) / self.reaches
        positions = np.einsum('nk,nkj->nj', along[:, None] ** _POWERS, self.paths)
        rates = _POWERS[1:] * along[:, None] ** _POWERS[:-1] / self.reaches[:, None]
        return positions, np.einsum('nk,nkj->nj', rates, self.paths[:, 1:])


@dataclass(frozen=True)
class PoseSums:
    """
    Linearised samples of G parts, about the mean of the prior.

    gram [G, k, k], cross [G, k], square, number [G] of J'J, J'b, b'b and of samples, in the
    standard deviations of sensors, for residuals J x - b.
    """

    gram: np.ndarray
    cross: np.ndarray
    square: np.ndarray
    number: np.ndarray

    def squares_left(self, away):
        """Return the sums of squared residuals [G] at coordinates [k] less the prior's mean."""
        left = self.square - 2 * self.cross @ away + (self.gram @ away) @ away
        return np.maximum(left, 0.0)


@dataclass(frozen=True)
class PoseFit:
    """
    The posterior of kinematics: mean [k], root [k, k] of the covariance.

    variance [G]: of a part, in units of what is configured; inflation [G]; share [G]: of the
    samples kept that are used.
    """

    mean: np.ndarray
    root: np.ndarray
    variance: np.ndarray
    inflation: np.ndarray
    share: np.ndarray


@dataclass(frozen=True)
class PoseState:
    """
    All that is carried on: samples, and the posterior.

    fit: `PoseFit` of the kinematics [k], delays as they are now; whole: of the kinematics with
    delays as they were at the stamp begun_ns, followed by the rates of clocks that may be late;
    prior: `Gaussian` of these; kept: `Poses`; sums: `PoseSums` of others, by these;
    waiting: ((sensor, stamp_ns, values), ...) whose motion is not known yet; moved_ns: by how much
    the stamps of encoders have been set earlier; seen: number of samples so far, and fitted: at
    the last fit; renewals: number of fits, the last one at renewed_ns.
    """

    prior: Gaussian
    whole: PoseFit
    fit: PoseFit
    kept: Poses
    sums: PoseSums
    begun_ns: int | None = None
    waiting: tuple = ()
    moved_ns: int = 0
    seen: int = 0
    fitted: int = 0
    renewals: int = 0
    renewed_ns: int = 0


def begin(model, prior):
    """
    Return the `PoseState` before any data.

    model: with `parts` [G] of (sensor, slice of its rows), `places` [k], `sensors`, `read`,
    `delays` and `residuals`, as `prediction.pose_model.PoseModel`; prior: `Gaussian` of all
    coordinates.
    """
    root = np.linalg.qr(prior.root[model.places].T, 'r').T
    mean, parts, rates = prior.mean[model.places], len(model.parts), len(_late(model)[0])
    whole = Gaussian(
        np.concatenate([mean, np.zeros(rates)]), block_diag(root, _RATE * np.eye(rates))
    )
    zero, ones, size = np.zeros(parts), np.ones(parts), len(whole.mean)
    sums = PoseSums(np.zeros((parts, size, size)), np.zeros((parts, size)), zero, zero)
    fit = PoseFit(mean, root, ones, _PRIOR_INFLATION * ones, ones)
    return PoseState(whole, replace(fit, mean=whole.mean, root=whole.root), fit, None, sums)


def _late(model):
    """Return (numbers of sensors whose clocks may be late, coordinates of their delays)."""
    _, slope = model.delays(np.zeros(len(model.places)))
    late = np.flatnonzero((slope > 0).any(1))
    return late, slope[late].argmax(1)


def _delays_of(model, mean, sensors, stamps, begun_ns):
    """Return the delays [N] of samples of sensors with stamps; mean: of all coordinates."""
    size = len(model.places)
    delays, rates = model.delays(mean[:size])[0], np.zeros(len(model.sensors))
    rates[_late(model)[0]] = mean[size:]
    return delays[sensors] + rates[sensors] * _NANO * (stamps - begun_ns)


def _as_now(model, whole, age):
    """Return the `PoseFit` of the kinematics with the delays of so many seconds later."""
    size = len(model.places)
    late, columns = _late(model)
    later = np.eye(size, len(whole.mean))
    later[columns, size + np.arange(len(late))] = age
    root = np.linalg.qr((later @ whole.root).T, 'r').T
    return replace(whole, mean=later @ whole.mean, root=root)


def received(model, state, frame):
    """Return the state with the samples of a frame, which wait for the motion of the joints."""
    if not frame.samples:
        return state
    found, moved_ns = model.read(frame, state.moved_ns)
    # Missing parts are NaN; all others are finite and of a plausible size.
    found = tuple(each for each in found if not (np.abs(each[-1]) > _MOST).any())
    waiting = (*state.waiting, *found)[-_MOST_WAITING:]
    return replace(state, waiting=waiting, moved_ns=moved_ns)


def placed(model, state, until_ns, positions_at=None, known_ns=None):
    """
    Return the state with those samples kept that were taken before a stamp.

    positions_at: function from stamps [M] ns to positions of joints [M, n], None: the motion is
    unknown; known_ns: (first, last) stamp at which it is known.
    """
    delays, slope = model.delays(state.fit.mean)
    spread = np.sqrt(((slope @ state.fit.root) ** 2).sum(1))
    reaches = np.clip(_DEVIATIONS * spread, _LEAST_REACH, _MOST_REACH)
    taken_ns = [stamp - round(1e9 * delays[number]) for number, stamp, _ in state.waiting]
    is_due = [at_ns < until_ns for at_ns in taken_ns]
    waiting = tuple(each for each, due in zip(state.waiting, is_due) if not due)
    due = [
        (number, stamp, at_ns, values)
        for (number, stamp, values), at_ns, due in zip(state.waiting, taken_ns, is_due)
        if due
    ]
    state = replace(state, waiting=waiting)
    if positions_at is None or not due:
        return state
    numbers = np.array([number for number, _, _, _ in due])
    at_ns = np.array([at for _, _, at, _ in due])
    offsets = np.round(1e9 * reaches[numbers, None] * _PLACES).astype(np.int64)
    about = at_ns[:, None] + offsets
    inside = (about[:, 0] >= known_ns[0]) & (about[:, -1] <= known_ns[1])
    numbers, about = numbers[inside], about[inside]
    if not len(numbers):
        return state
    positions = positions_at(about.ravel()).reshape(*about.shape, -1)
    new = Poses(
        numbers,
        np.array([stamp for _, stamp, _, _ in due])[inside],
        delays[numbers],
        reaches[numbers],
        np.einsum('kp,npj->nkj', _TO_POLYNOMIAL, positions),
        np.array([values for _, _, _, values in due])[inside],
    )
    kept = _far_apart(state.kept, new)
    if not len(kept.sensors):
        return state
    before = () if state.kept is None else (state.kept,)
    joined, begun_ns = Poses.joined([*before, kept]), state.begun_ns
    if begun_ns is None:
        begun_ns = int(kept.stamps[0])
    seen = state.seen + len(kept.sensors)
    return replace(state, kept=joined, seen=seen, begun_ns=begun_ns)


def events_of(model, before, state, is_last=False):
    """
    Return a `NoiseQuestioned` where that is due, once, and a `PosesOff` when that begins.

    before: `PoseFit` of before; is_last: whether no more poses come.
    """
    found, fit = [], state.fit
    if (
        fit is not before
        and state.renewals == FIRST_RENEWALS
        or (is_last and 0 < state.renewals < FIRST_RENEWALS)
    ):
        for (sensor, part, sd), variance in zip(model.titles, fit.variance.tolist()):
            factor = variance**0.5
            if not 1 / REPORTED_FACTOR <= factor <= REPORTED_FACTOR:
                found.append(NoiseQuestioned(sensor, part, factor, float(factor * sd)))
    for title, was, now in zip(model.titles, before.share, fit.share):
        if now < _MOSTLY <= was and PosesOff(title[0]) not in found:
            found.append(PosesOff(title[0]))
    return tuple(found)


def _far_apart(kept, new):
    """Return the new `Poses` that are far enough from the one before of the same sensor."""
    last = {}
    if kept is not None:
        for k, number in enumerate(kept.sensors.tolist()):
            last[number] = kept.stamps[k], kept.paths[k, 0]
    found = []
    for k, number in enumerate(new.sensors.tolist()):
        stamp, at = new.stamps[k], new.paths[k, 0]
        if number in last:
            later = abs(stamp - last[number][0])
            moved = np.abs(at - last[number][1]).max()
            if later < _SPACING_NS or (moved < _MOVED and later < _AT_REST_NS):
                continue
        last[number] = stamp, at
        found.append(k)
    return new.pick(np.array(found, dtype=int))


@dataclass(frozen=True)
class _Linear:
    """
    Samples linearized at a mean: residuals [N, parts, 3], slopes [.., k], parts: numbers of G.

    sizes [G]: number of rows of a part; further rows are zero.
    """

    residuals: np.ndarray
    slopes: np.ndarray
    parts: np.ndarray
    sizes: np.ndarray


def renewed(model, state, now_ns):
    """Return the state with the posterior of all samples so far, if it is due."""
    is_late = now_ns - state.renewed_ns >= RENEWED_NS or state.renewals < FIRST_RENEWALS
    if state.seen == state.fitted or not is_late:
        return state
    state = replace(state, fitted=state.seen, renewals=state.renewals + 1, renewed_ns=now_ns)
    prior, fit = state.prior, state.whole
    for _ in range(_STEPS):
        at, before = fit.mean, fit.variance
        seen = _linearized(model, at, state)
        used, variance = _gated(state, fit, seen)
        mean, root, step = _step(state, fit, variance, at, _own_sums(seen, used, len(variance)))
        if not np.isfinite(mean).all():
            return state
        fit = replace(fit, mean=mean, root=root, variance=variance)
        if np.abs(step).max() < _CONVERGED and (np.abs(variance / before - 1) < _UNCHANGED).all():
            break
    inflation, share = _correlated(seen, used, len(variance))
    whole = replace(fit, inflation=inflation, share=share)
    age = _NANO * (state.kept.stamps.max() - state.begun_ns)
    state = replace(state, whole=whole, fit=_as_now(model, whole, age))
    return _folded(state, seen, used, at - prior.mean)


def _step(state, fit, variance, at, own):
    """
    Return (mean [k], root [k, k], step in deviations) after one step of Gauss and Newton.

    own: J'J [G, k, k] and J'r [G, k] of the samples kept, at a mean.
    """
    prior, sums, weights = state.prior, state.sums, 1 / (variance * fit.inflation)
    (gram, cross), away = own, at - prior.mean
    gradient = sums.cross - sums.gram @ away - cross
    information = prior.root.T @ np.tensordot(weights, gram + sums.gram, 1) @ prior.root
    information[np.diag_indices_from(information)] += 1.0
    whitened = prior.root.T @ (weights @ gradient)
    whitened -= solve_triangular(prior.root, away, lower=True)
    factor = np.linalg.cholesky(information)
    step = solve_triangular(factor, whitened, lower=True)
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True).T
    return at + prior.root @ (inverse @ step), prior.root @ inverse, step


def _linearized(model, mean, state):
    """Return the `_Linear` of the samples that are kept, at a mean of all coordinates."""
    most = max(sum(number == k for number, _ in model.parts) for k in range(len(model.sensors)))
    kept, size = state.kept, len(model.places)
    count, ages = len(kept.sensors), _NANO * (kept.stamps - state.begun_ns)
    late, columns = _late(model)
    residuals = np.zeros((count, most, _AXES))
    slopes = np.zeros((count, most, _AXES, len(mean)))
    parts = np.full((count, most), -1)
    delays = _delays_of(model, mean, kept.sensors, kept.stamps, state.begun_ns)
    positions, velocities = kept.motion(delays)
    for number in range(len(model.sensors)):
        own = np.flatnonzero(kept.sensors == number)
        if not len(own):
            continue
        rows, by_mean = model.residuals(
            mean[:size], number, positions[own], velocities[own], kept.values[own]
        )
        by_rates = np.zeros((*rows.shape, len(late)))
        for rate in np.flatnonzero(late == number):
            by_rates[..., rate] = by_mean[..., columns[rate]] * ages[own, None]
        by_mean = np.concatenate([by_mean, by_rates], -1)
        places = [place for place, (sensor, _) in enumerate(model.parts) if sensor == number]
        for column, place in enumerate(places):
            part = model.parts[place][1]
            length = part.stop - part.start
            residuals[own, column, :length] = rows[:, part]
            slopes[own, column, :length] = by_mean[:, part]
            # Missing parts have neither residual nor slope.
            parts[own, column] = np.where(rows[:, part].any(1), place, -1)
    sizes = np.array([part.stop - part.start for _, part in model.parts])
    return _Linear(residuals, slopes, parts, sizes)


def _gated(state, fit, seen):
    """Return (which parts of samples [N, .] are used, variance [G])."""
    count = len(fit.variance)
    squares = (seen.residuals**2).sum(-1)
    used, variance = seen.parts >= 0, np.ones(count)
    left = state.sums.squares_left(fit.mean - state.prior.mean)
    for part in range(count):
        own, size = seen.parts == part, seen.sizes[part]
        number = own.sum()
        usual = 1.0
        if number:
            usual = np.median(squares[own]) / _MEDIAN_SQUARES[size]
            usual = (number * usual + _PRIOR_SAMPLES) / (number + _PRIOR_SAMPLES)
        if number >= _LEAST_GATED:
            used[own] = squares[own] <= size * _OUTLIER**2 * usual
        own &= used
        slopes = seen.slopes[own].reshape(-1, len(fit.mean))
        gram = slopes.T @ slopes + state.sums.gram[part]
        unsure = np.einsum('kr,kl,lr->', fit.root, gram, fit.root, optimize=True)
        total = size * _PRIOR_SAMPLES + squares[own].sum() + left[part]
        number = size * (_PRIOR_SAMPLES + own.sum() + state.sums.number[part])
        variance[part] = (total + unsure / fit.inflation[part]) / number
    # A sensor that follows another body has both a wrong place and a wrong turn.
    is_off = ((seen.parts >= 0) & ~used).any(1)
    return used & ~is_off[:, None], variance


def _own_sums(seen, used, count):
    """Return J'J [G, k, k] and J'r [G, k] of samples."""
    size = seen.slopes.shape[-1]
    gram, cross = np.zeros((count, size, size)), np.zeros((count, size))
    for part in range(count):
        own = (seen.parts == part) & used
        slopes = seen.slopes[own].reshape(-1, size)
        gram[part] = slopes.T @ slopes
        cross[part] = slopes.T @ seen.residuals[own].ravel()
    return gram, cross


def _correlated(seen, used, count):
    """Return inflations [G] by which the newest samples are correlated, and shares used [G]."""
    inflation, share = np.full(count, _PRIOR_INFLATION), np.ones(count)
    for part in range(count):
        own, size = seen.parts == part, seen.sizes[part]
        if not own.any():
            continue
        which = own & used
        share[part] = which.sum() / own.sum()
        residuals = np.where(which[..., None], seen.residuals, 0.0)[own][-_MOST_KEPT // 2 :, :size]
        shares = np.repeat(which[own][-_MOST_KEPT // 2 :, None].astype(float), size, 1)
        lags = min(_LAGS, max(len(residuals) - 2, 0))
        inflation[part] = inflations(residuals, shares, lags, _PRIOR_INFLATION).mean()
    return inflation, share


def _folded(state, seen, used, away):
    """
    Return the state with at most the samples that are kept; older ones are added to the sums.

    away [k]: mean at which they are linearized, relative to the prior's.
    """
    folded = np.zeros(len(state.kept.sensors), dtype=bool)
    for number in np.unique(state.kept.sensors):
        own = np.flatnonzero(state.kept.sensors == number)
        if len(own) > _MOST_KEPT:
            folded[own[: len(own) // 2 : 2]] = True
    if not folded.any():
        return state
    sums = state.sums
    own = _Linear(seen.residuals[folded], seen.slopes[folded], seen.parts[folded], seen.sizes)
    kept, count = used[folded], len(sums.number)
    gram, _ = _own_sums(own, kept, count)
    cross, square, number = np.zeros_like(sums.cross), np.zeros(count), np.zeros(count)
    for part in range(count):
        which = (own.parts == part) & kept
        slopes = own.slopes[which].reshape(-1, len(away))
        target = slopes @ away - own.residuals[which].ravel()
        cross[part], square[part] = slopes.T @ target, target @ target
        number[part] = which.sum()
    sums = PoseSums(
        sums.gram + gram, sums.cross + cross, sums.square + square, sums.number + number
    )
    return replace(state, kept=state.kept.pick(~folded), sums=sums)


def conditioned(gaussian, places, fit):
    """
    Return a `Gaussian` [p] in which the marginal of some coordinates is that of poses.

    places [k]: their numbers; fit: `PoseFit`. Other coordinates have their conditional
    distribution given these, which later rows of torques do not change.
    """
    others = np.setdiff1d(np.arange(len(gaussian.mean)), places)
    order, size = np.concatenate([places, others]), len(places)
    root = np.linalg.qr(gaussian.root[order].T, 'r').T
    # Regression of the other coordinates on those of poses.
    slope = solve_triangular(root[:size, :size], root[size:, :size].T, lower=True, trans='T').T
    mean = gaussian.mean.copy()
    mean[places] = fit.mean
    mean[others] += slope @ (fit.mean - gaussian.mean[places])
    root[:size, :size], root[size:, :size] = fit.root, 0.0
    back = np.argsort(order)
    return Gaussian(mean, np.linalg.qr(root[back].T, 'r').T)
