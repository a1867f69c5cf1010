"""
The delay of measured torques relative to the encoders: one for all joints, from their rows.

A drive reports a filtered current, some milliseconds late. Torques with stamps t + l belong to the
motion at t + l - d. Unless l is the delay d, residuals of rows contain (l - d) times the rate at
which predicted torques change. So residuals of torques taken l later are regressed on the columns
of all unknown parameters and on that rate, and d is the l at which the coefficient of the rate is
zero. The rate is predicted, not measured, and so free of noise. A zero is found, not a least sum
of squares, because interpolation makes noise smaller between samples.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...reported_events import TorqueLate
from ..factors import solve_triangular
from .regression import BLOCK_NS

# Times after the motion of a row at which torques are kept [s]: drives are 0 to 30 ms late.
LAGS = 8e-3 * np.arange(-1, 5)
# Torques are not interpolated between samples that are farther apart than this [s].
_COARSEST = 0.02
# Prior standard deviation of the delay [s], that of any clock.
_PRIOR_SD = 0.01
# Share of a row, and of its neighbours, in which a joint has to move.
_WHOLE = 0.99
# The delay is unobservable if the coefficient of the rate rises less than this with the lag; it
# should rise by one.
_LEAST_SLOPE = 0.3
# A delay is applied from so much on [s], below which it does no harm, and from so many standard
# deviations on: fewer for late torques than for early ones, which no drive has. Its error was 2
# standard deviations at the most in arms of MuJoCo; a UR10e seems 1 to 5 ms early, by 3.2 of them.
# A delay that is applied is revised from the last difference on [s].
_MATTERS, _LATE, _EARLY, _REFINED = 4e-3, 3.0, 5.0, 1.5e-3


# The delay is estimated after so many seconds of rows, again whenever there are so many times as
# many, and no more after so many.
_FIRST, _AGAIN, _LAST = 3.0, 1.4, 45.0


@dataclass(frozen=True)
class Delay:
    """
    The delay of torques.

    mean, sd: of the posterior [s]; applied: with which rows are made [s]; looked: seconds of rows
    when it was estimated last.
    """

    mean: float = 0.0
    sd: float = _PRIOR_SD
    applied: float = 0.0
    looked: float = 0.0

    def is_due(self, seconds):
        """Tell whether it is time to estimate it, after so many seconds of rows."""
        return max(_FIRST, _AGAIN * self.looked) <= seconds <= _LAST

    def renewed(self, mean, sd, looked):
        """Return this with another posterior, after so many seconds of rows."""
        least = _REFINED if self.applied else max(_MATTERS, (_LATE if mean > 0 else _EARLY) * sd)
        applied = mean if abs(mean - self.applied) > least else self.applied
        return Delay(mean, sd, applied, looked)


def with_delay(model, state, rows, report):
    """
    Return the `TorqueState` with the delay of torques estimated from the newest `Rows`.

    If another delay applies from now on, the newest rows are computed anew and older ones are
    dropped.
    """
    delay = state.delay
    times = [end_ns - BLOCK_NS * np.arange(part.count, 0, -1) for end_ns, part in state.recent]
    times, prior = np.concatenate(times), state.branches[0].prior
    found = estimate(model, prior, state.fit, rows, times, BLOCK_NS)
    if found is None:
        return replace(state, delay=replace(delay, looked=state.used))
    state = replace(state, delay=delay.renewed(*found, state.used))
    if state.delay.applied == delay.applied:
        return state
    report.events += (TorqueLate(*found),)
    recent = tuple((ns, delayed(part, state.delay.applied)) for ns, part in state.recent)
    sums = state.sums.of(part for _, part in recent)
    # Frequency responses were computed with other torques.
    return replace(state, recent=recent, sums=sums, snapshots=()).without_responses()


def estimate(model, prior, fit, rows, times, period):
    """
    Return (mean, sd) [s] of the delay of torques by `Rows`, None where it is unobservable.

    model, prior, fit: as of `regression.fit`; times [K]: of the rows; period: between consecutive
    rows, in the same unit.
    """
    known = np.isfinite(rows.late).all(2) & (rows.shares > _WHOLE)
    is_inner = np.zeros_like(known)
    follows = times[2:] - times[:-2] == 2 * period
    is_inner[1:-1] = known[1:-1] & (rows.shares[:-2] > _WHOLE) & (rows.shares[2:] > _WHOLE)
    is_inner[1:-1] &= follows[:, None]
    if not is_inner.any():
        return None
    weights, scales = np.sqrt(fit.noise.weights), fit.scales
    predicted = scales * (rows.columns @ fit.standard)
    rate = np.zeros_like(predicted)
    rate[1:-1] = (predicted[2:] - predicted[:-2]) / (2e-9 * period)
    rate = (weights * rate)[is_inner]
    whitened = model.standard(fit.mean)[1] @ prior.root
    columns = (weights * scales)[:, None] * (rows.columns @ whitened)
    columns = columns[is_inner]
    left = (weights[:, None] * (rows.late - predicted[..., None]))[is_inner]
    information = columns.T @ columns
    information[np.diag_indices_from(information)] += 1.0
    factor = np.linalg.cholesky(information)
    across = solve_triangular(factor, columns.T @ rate, lower=True)
    alone = rate @ rate - across @ across
    away = solve_triangular(prior.root, fit.mean - prior.mean, lower=True)
    moved = solve_triangular(factor, columns.T @ left - away[:, None], lower=True)
    if alone <= 0:
        return None
    excess = (rate @ left - across @ moved) / alone
    return _zero_of(excess, 1 / np.sqrt(alone))


def _zero_of(excess, sd):
    """
    Return (mean, sd) [s] of the lag at which `excess` [lags], with a standard deviation, is zero.

    Of several zeros the one nearest to no delay counts; the prior of delays is included.
    """
    rises = np.flatnonzero((excess[:-1] <= 0) & (excess[1:] > 0))
    if not len(rises):
        return None
    slopes = (excess[rises + 1] - excess[rises]) / (LAGS[rises + 1] - LAGS[rises])
    found = LAGS[rises] - excess[rises] / slopes
    nearest = np.argmin(np.abs(found))
    delay, slope = found[nearest], slopes[nearest]
    if slope < _LEAST_SLOPE:
        return None
    variance = (sd / slope) ** 2
    share = _PRIOR_SD**2 / (_PRIOR_SD**2 + variance)
    return float(share * delay), float(np.sqrt(share * variance))


def delayed(rows, delay):
    """Return `Rows` with the torques of a delay [s], without rows whose torques are unknown."""
    torques = torques_at(rows.late, delay)
    is_known = np.isfinite(torques)
    return replace(
        rows,
        columns=np.where(is_known[..., None], rows.columns, 0.0),
        torques=np.where(is_known, torques, 0.0),
        shares=np.where(is_known, rows.shares, 0.0),
    )


def late_torques(stamps, torques, times):
    """
    Return torques [N, J, lags] of `LAGS` after times [N] ns, NaN where they are unknown.

    stamps [M] ns, torques [M, J]: of all samples.
    """
    wanted = times[:, None] + np.round(1e9 * LAGS).astype(np.int64)
    if len(stamps) < 2:
        return np.full((len(times), torques.shape[1], len(LAGS)), np.nan)
    after = np.searchsorted(stamps, wanted).clip(1, len(stamps) - 1)
    step = stamps[after] - stamps[after - 1]
    share = (wanted - stamps[after - 1]) / step
    is_known = (share >= 0) & (share <= 1) & (step < _COARSEST * 1e9)
    share = np.where(is_known, share, np.nan)[..., None]
    found = (1 - share) * torques[after - 1] + share * torques[after]
    return found.transpose(0, 2, 1)


def torques_at(late, delay):
    """Return torques [...] at a delay [s] from those of `LAGS` [..., lags], by Lagrange cubics."""
    first = int(np.clip(np.searchsorted(LAGS, delay) - 2, 0, len(LAGS) - 4))
    lags = LAGS[first : first + 4]
    weights = [
        np.prod([(delay - other) / (lag - other) for other in lags if other != lag])
        for lag in lags
    ]
    return late[..., first : first + 4] @ np.array(weights)
