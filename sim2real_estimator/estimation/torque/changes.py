"""
Changes of a robot whose torques are measured: payloads, friction and gains, noisier joints.

Windows of the last seconds are compared with what was known when they began. For each possible
cause the marginal likelihood of a window, with the cause's coordinates free, is divided by that of
no change (Bayes factor; Kass and Raftery 1995). The noise of a window is unknown: the rows of each
joint are normal with an unknown factor on their variance, so that the likelihood is one of
Student's t. A cause then has to explain a large part of the residuals, not just some of it; with a
fixed noise unchanged real arms give causes a factor of e^40 and more. The onset of a change is the
maximum of the cumulative sum of log likelihood ratios (CUSUM; Page 1954).
"""

from dataclasses import dataclass, replace

import numpy as np

from ...reported_events import TorqueNoisier
from ..changes.isolation import EarlierModel
from ..factors import solve_triangular
from .regression import Fit, Rows, Sums

# Seconds of the windows, and degrees of freedom of the noise of one.
WINDOWS = (1.0, 3.0, 8.0)
FREEDOM = 4.0
# Log Bayes factors from which on a cause is accepted: of a body that came or went, or of a return
# to what was known before, and of anything inside a joint. Chosen on recordings of a UR10e and on
# arms in MuJoCo that did not change.
_BODY, _JOINT = 12.0, 20.0
# The evidence of a cause is refined, by iterating on the noise, from this log Bayes factor at the
# noise of no change on; of so many causes at the most.
_WORTH_REFINING, _MOST_REFINED = 2.0, 4
# Onsets of a cause that are compared, at the most.
_COMPARED_AT = 12
# A change has begun so long ago at the least [ns].
_LEAST_NS = 250_000_000
# Rows after an onset that fit the robot neither before nor after the change, since smoothed
# accelerations lag behind.
_TRANSIENT = 2
# Most steps in which the noise of a window is found, and the change of its logarithm below which
# they have converged.
_STEPS, _CONVERGED = 12, 0.02
# A joint is noisier whose rows have so many times their usual variance, if no cause explains it.
_NOISIER = 2.0
# The longest window by which joints are said to be noisier: noise that is over soon counts no more
# [ns].
_NOISY_NS = 5_000_000_000
# A cause explains a joint in part only that keeps so many times its usual variance. With payloads
# of a UR10e and of arms in MuJoCo it is 1.9 at the most, with a gain that falls by 30 % 7.
_IN_PART = 4.0
# Causes whose log evidence is less than the best one by up to this remain possible.
_POSSIBLE = 6.0
# How a return is named after the change that it undoes, and how a change that happens again is.
_AS_BEFORE, _AGAIN = 'as before: ', 'again: '
# A joint is noisier that is so at so many searches in a row. Where nothing happens windows of arms
# in MuJoCo and of a UR10e exceed their usual noise twice for up to ten searches, 1.4 times for
# twenty.
_NOISY_SEARCHES = 20


@dataclass(frozen=True)
class Snapshot:
    """What was known at the stamp end_ns of the last row: sums of all rows, and their `Fit`."""

    end_ns: int
    sums: Sums
    fit: Fit


@dataclass(frozen=True)
class Cause:
    """
    A hypothesis on what has changed, judged on a window.

    name: for people; jump: the `ModelChange`, of a return the one that had led there; returns_to:
    `EarlierModel` to which the robot returns, None of any other cause; evidence: log Bayes factor
    against no change; since: `Snapshot` at which the window began, once causes are compared that
    of the likeliest onset.
    """

    name: str
    jump: object
    returns_to: EarlierModel | None
    evidence: float
    since: Snapshot


@dataclass(frozen=True)
class Onset:
    """
    A change whose onset and cause are still being isolated.

    known: `Fit` of before, in which joints that are not known well have no weight; rows: since
    then, up to the search that found the change at end_ns; before: how many of them are of before
    the change; visited [3, K, n]: motion at the rows, where poses move lengths, else None;
    isolated_at: seconds of rows since the change when its cause was isolated last; in_part:
    numbers of joints that were reported to be explained in part.
    """

    known: Fit
    rows: Rows
    end_ns: int
    before: int
    visited: np.ndarray | None = None
    isolated_at: float = 0.0
    in_part: tuple = ()

    def moved(self, changed):
        """
        Return this with the likeliest onset, from which on the robot is that of a `Fit`.

        The onset maximises the sum of log likelihood ratios of all rows from then on (CUSUM), with
        residuals of Student's t: during a grasp rows are of neither robot.
        """
        after = np.cumsum(self.for_change(changed, self.rows)[::-1])[::-1]
        return replace(self, before=int(np.argmax(after)) + _TRANSIENT)

    def for_change(self, changed, rows):
        """
        Return log likelihood ratios [K] of the robot of a `Fit` to the one of before, of `Rows`.

        Residuals are of Student's t.
        """
        weights, ratio = self.known.noise, np.zeros(rows.count)
        for fit, sign in ((self.known, 1.0), (changed, -1.0)):
            squares = rows.residuals(fit.standard, fit.scales) ** 2 / weights.variance
            ratio += sign * (np.log1p(squares / FREEDOM) @ weights.explained)
        return ratio

    @property
    def since(self):
        """The `Rows` since the onset, up to `end_ns`."""
        return self.rows.part(slice(self.before, None))


@dataclass(frozen=True)
class Finding:
    """
    Result of a search.

    causes: `Cause`s, the best first; noisier: numbers of joints that are noisier; in_part: of
    joints that the best cause explains in part only.
    """

    causes: tuple = ()
    noisier: tuple = ()
    in_part: tuple = ()


def find_changes(model, snapshots, now, jumps, earlier_models, root_of, is_known=None):
    """
    Return the `Finding` of a search in the windows that end now.

    model: as of `regression.fit`; snapshots: the last ones, in the order of time; now: the newest
    one; jumps: the `ModelChange`s that are possible;
    earlier_models: to which the robot may return; root_of: function from a `Fit` to a root [p, p]
    of the covariance that it has now, drift included; is_known [J]: joints that are known well
    enough to say that they have changed, None: all.
    """
    snapshots, now = _of_known(snapshots, is_known), _of_known((now,), is_known)[0]
    causes, noisier, best, factors = {}, (), None, None
    for since in windows(snapshots, now.end_ns):
        window = _Window(model, since, now.sums, root_of)
        found = _causes(window, since, jumps, earlier_models)[:_MOST_REFINED]
        if found[0].evidence >= _threshold(found[0]):
            causes |= {cause.name: cause for cause in found if cause.name not in causes}
            if best is None or found[0].evidence > best.evidence:
                best, factors = found[0], window.factors_with(found[0])
        noisier = window.noisier if since.end_ns >= now.end_ns - _NOISY_NS else noisier
    if best is None:
        return Finding((), noisier)
    # Windows have different rows. Causes are compared with one another, and with no change, on the
    # rows of the longest one. No change is given the benefit of friction that has drifted.
    first = min((cause.since for cause in causes.values()), key=lambda since: since.end_ns)
    later = [s for s in snapshots if first.end_ns <= s.end_ns <= now.end_ns - _LEAST_NS]
    ordered, no_change = _compared(model, (first, later, now), causes.values(), factors, root_of)
    ordered = [replace(cause, evidence=cause.evidence - no_change) for cause in ordered]
    if not any(cause.evidence >= _threshold(cause) for cause in ordered):
        return Finding((), noisier)
    # Prior odds say which link holds a payload, and nothing about whether there is one.
    ordered = [replace(c, evidence=c.evidence + prior_log_odds(c)) for c in ordered]
    ordered = sorted(ordered, key=lambda cause: -cause.evidence)
    least = ordered[0].evidence - _POSSIBLE
    causes = tuple(cause for cause in ordered if cause.evidence > least)
    return Finding(causes, (), tuple(np.flatnonzero(factors > _IN_PART).tolist()))


def isolate(model, known, sums, jumps, earlier_models, root_of):
    """
    Return (`Cause`s of a change that remain possible, joints explained in part) by rows since.

    The best cause is the first; joints are numbers of those that it explains in part only. known:
    `Fit` of before the change; sums: of the rows since; other arguments: as of `find_changes`.
    Unlike a search for another change this revises the cause that was accepted with few rows.
    """
    then = Snapshot(0, sums.of(()), known)
    window = _Window(model, then, sums, root_of)
    found = _causes(window, then, jumps, earlier_models, True)
    found = [replace(c, evidence=c.evidence + prior_log_odds(c)) for c in found]
    found = sorted(found, key=lambda cause: -cause.evidence)
    least = found[0].evidence - _POSSIBLE
    left = np.flatnonzero(window.factors_with(found[0]) > _IN_PART)
    return tuple(cause for cause in found if cause.evidence > least), tuple(left.tolist())


def with_noisier(model, state, noisier, report):
    """Return the `TorqueState` after a search that found joints of some numbers noisier."""
    if state.onset is not None or state.disruption is not None:
        # A recent change leaves rows that no cause explains.
        return replace(state, noisy_searches=())
    before = state.noisy_searches or (0,) * len(model.joints)
    counts = tuple(count + 1 if k in noisier else 0 for k, count in enumerate(before))
    report.events += tuple(
        TorqueNoisier(joint)
        for joint, count in zip(model.joints, counts)
        if count == _NOISY_SEARCHES
    )
    return replace(state, noisy_searches=counts)


def name_of_return(name):
    """Return the name of a return to what was known before a change of some name."""
    for word, other in ((_AS_BEFORE, _AGAIN), (_AGAIN, _AS_BEFORE)):
        if name.startswith(word):
            return other + name.removeprefix(word)
    return _AS_BEFORE + name


def _causes(window, since, jumps, earlier_models, is_refined=False):
    """Return a `Cause` for every `ModelChange` and `EarlierModel`, the most probable first."""
    found = [
        Cause(jump.name, jump, None, value, since)
        for jump, value in zip(jumps, window.evidence_of(jumps, is_refined))
    ]
    found += [
        Cause(name_of_return(m.name), m.reached_by, m, window.evidence_of_return(m), since)
        for m in earlier_models
    ]
    return sorted(found, key=lambda cause: -cause.evidence - prior_log_odds(cause))


def _of_known(snapshots, is_known):
    """Return `Snapshot`s in which joints that are not known well have no weight."""
    if is_known is None or is_known.all():
        return tuple(snapshots)
    return tuple(
        replace(s, fit=replace(s.fit, noise=s.fit.noise.without(~is_known))) for s in snapshots
    )


def prior_log_odds(cause):
    """Return the prior log odds of a `Cause`."""
    return 0.0 if cause.returns_to is not None else cause.jump.log_odds


def _compared(model, times, causes, factors, root_of):
    """
    Return (`Cause`s with the log evidence of all rows since a time, log evidence of no change).

    Each cause has its likeliest onset; rows before it are of the unchanged robot. times:
    (`Snapshot` of that time, those of possible onsets, and of now); factors [J]: on the variance
    of rows.
    """
    first, later, now = times
    noise, best = first.fit.noise, {cause.name: cause for cause in causes}
    values, no_change = dict.fromkeys(best, -np.inf), -np.inf
    step = -(-len(later) // _COMPARED_AT)
    for at in later[::step]:
        before = 0.0
        if at is not first:
            before = _Window(model, first, at.sums, root_of, factors).gaussian()
        # With the same noise: later fits have learned more of it because of the change.
        in_units = replace(at, fit=replace(at.fit, noise=noise))
        window = _Window(model, in_units, now.sums, root_of, factors)
        no_change = max(no_change, before + window.gaussian())
        for cause in causes:
            value = before + window.gaussian(cause)
            if value > values[cause.name]:
                values[cause.name] = value
                best[cause.name] = replace(cause, evidence=value, since=at)
    return list(best.values()), no_change


def _threshold(cause):
    is_body = cause.returns_to is not None or cause.jump.body is not None
    return _BODY if is_body else _JOINT


def windows(snapshots, now_ns):
    """Return the newest snapshot that is as old as each length of windows, each once."""
    found = []
    for seconds in WINDOWS:
        old = [s for s in snapshots if s.end_ns <= now_ns - seconds * 1e9]
        if old and old[-1] not in found:
            found.append(old[-1])
    return found


class _Window:
    """
    Rows since a snapshot, in units of the noise known then, relative to what was predicted then.

    Predictions change by standard parameters, and that of each joint in proportion to its gain:
    numbers [P + J], the last J of which are c_j over what it was then, less one.
    """

    def __init__(self, model, since, now, root_of, factors=None):
        fit, then = since.fit, since.sums
        self._model, self._fit = model, fit
        noise, scales = fit.noise.of_changes, fit.scales
        weights = noise.weights
        gram = now.gram - then.gram
        fitted = np.einsum('jpq,q->jp', gram, fit.standard)
        cross = now.cross - then.cross
        left = (now.square - then.square) - 2 * scales * (cross @ fit.standard)
        left += scales**2 * (fitted @ fit.standard)
        self._square = weights * np.maximum(left, 0.0)
        missing = (weights * scales)[:, None] * (cross - scales[:, None] * fitted)
        self._gradient = np.hstack([missing, np.diag(missing @ fit.standard)])
        self._gram = (weights * scales**2)[:, None, None] * _with_gains(gram, fitted, fit.standard)
        self._number = (now.number - then.number) / noise.inflation
        by_scales = model.scales(fit.mean)[1] / scales[:, None]
        self._slope = np.vstack([model.standard(fit.mean)[1], by_scales])
        self._known = self._slope @ root_of(fit)
        self._factors = factors
        if factors is not None:
            return
        factors, squares, solution, self._factor = self._converged(*self._columns(None))
        self._factors = factors
        self._no_change = self._score(squares, solution, self._factor)
        is_any = self._number > FREEDOM
        self.noisier = tuple(np.flatnonzero(is_any & (factors > _NOISIER)).tolist())

    def evidence_of(self, jumps, is_refined=False):
        """
        Return the log Bayes factors of `ModelChange`s against no change.

        is_refined: whether to refine the evidence of all bodies, not just of the likeliest ones.
        """
        if not jumps:
            return np.zeros(0)
        gram = np.tensordot(1 / self._factors, self._gram, 1)
        gradient = self._gradient.T @ (1 / self._factors)
        factor, seen = self._factor, gram @ self._known
        # Of all changes at once, given what is known; each of them has its own block.
        extra = self._slope @ np.hstack([jump.root for jump in jumps])
        side = solve_triangular(factor, self._known.T @ gradient, lower=True)
        across = solve_triangular(factor, seen.T @ extra, lower=True)
        matrix = extra.T @ gram @ extra - across.T @ across
        matrix[np.diag_indices_from(matrix)] += 1.0
        missing, begin = extra.T @ gradient - across.T @ side, 0
        result = np.empty(len(jumps))
        for k, jump in enumerate(jumps):
            own = slice(begin, begin + jump.root.shape[1])
            root, begin = _root(matrix[own, own]), own.stop
            moved = solve_triangular(root, missing[own], lower=True)
            result[k] = moved @ moved / 2 - np.log(np.abs(np.diag(root))).sum()
        for place, k in enumerate(np.argsort(-result)):
            is_likely = place < _MOST_REFINED and result[k] > _WORTH_REFINING
            if is_likely or (is_refined and jumps[k].body is not None):
                result[k] = self._refined_evidence(Cause(jumps[k].name, jumps[k], None, 0.0, None))
        return result

    def evidence_of_return(self, earlier):
        """Return the log Bayes factor of a return to an `EarlierModel` against no change."""
        return self._refined_evidence(Cause(earlier.name, None, earlier, 0.0, None))

    def factors_with(self, cause):
        """Return the factors [J] on the variance of rows, given a `Cause`."""
        return self._converged(*self._columns(cause))[0]

    def gaussian(self, cause=None):
        """Return the log evidence of a `Cause`, or of no change, with the noise held fixed."""
        together, away = self._columns(cause)
        _, factor, solution = self._solved(self._factors, together, away)
        squares = self._left(together @ solution + away) / self._factors
        volume = np.log(np.abs(np.diag(factor))).sum()
        return -(squares.sum() + solution @ solution) / 2 - volume

    def _columns(self, cause):
        """Return (root [P + J, r] of the prior under a cause, offset [P + J] of its mean)."""
        nowhere = np.zeros(len(self._slope))
        if cause is None:
            return self._known, nowhere
        if cause.returns_to is not None:
            away = self._slope @ (cause.returns_to.mean - self._fit.mean)
            # Gains may be far from what they were, so that linearizing them is not enough.
            scales = self._model.scales(cause.returns_to.mean)[0] / self._fit.scales
            away[-len(scales) :] = scales - 1.0
            return self._slope @ cause.returns_to.root, away
        return np.hstack([self._known, self._slope @ cause.jump.root]), nowhere

    def _converged(self, together, away):
        """
        Return (factors [J], squares [J], solution, root) with the noise of the window.

        The likelihood may have two maxima: one with the usual noise, which explains all joints as
        well as possible, and one with much noise in some joints. The higher one counts.
        """
        guesses = [np.ones(len(self._square))]
        if self._factors is not None:
            guesses.append(self._factors)
        found = [self._converged_from(factors, together, away) for factors in guesses]
        return max(found, key=lambda each: self._score(*each[1:]))

    def _converged_from(self, factors, together, away):
        """Return the same from initial factors."""
        for _ in range(_STEPS):
            _, factor, solution = self._solved(factors, together, away)
            squares = self._left(together @ solution + away)
            before, factors = factors, (FREEDOM + squares) / (FREEDOM + self._number)
            if np.abs(np.log(factors / before)).max() < _CONVERGED:
                break
        return factors, squares, solution, factor

    def _refined_evidence(self, cause):
        """Return the log Bayes factor of a `Cause`, with noise that is found given that cause."""
        _, squares, solution, factor = self._converged(*self._columns(cause))
        return self._score(squares, solution, factor) - self._no_change

    def _solved(self, factors, together=None, away=None):
        """Return (gram, root of the information, solution [r]) along columns [P + J, r]."""
        together = self._known if together is None else together
        gram = np.tensordot(1 / factors, self._gram, 1)
        gradient = self._gradient.T @ (1 / factors)
        if away is not None:
            gradient = gradient - gram @ away
        matrix = together.T @ gram @ together
        matrix[np.diag_indices_from(matrix)] += 1.0
        factor = _root(matrix)
        half = solve_triangular(factor, together.T @ gradient, lower=True)
        return gram, factor, solve_triangular(factor, half, lower=True, trans='T')

    def _left(self, moved):
        """Return the squared residuals [J] after a change [P + J] of parameters and gains."""
        quadratic = np.einsum('p,jpq,q->j', moved, self._gram, moved, optimize=True)
        return np.maximum(self._square - 2 * self._gradient @ moved + quadratic, 0.0)

    def _score(self, squares, solution, factor):
        noise = ((FREEDOM + self._number) * np.log1p(squares / FREEDOM)).sum()
        return -(noise + solution @ solution) / 2 - np.log(np.abs(np.diag(factor))).sum()


def _with_gains(gram, fitted, standard):
    """
    Return sums of squares [J, P + J, P + J] with a column for the gain of every joint.

    gram [J, P, P]; fitted [J, P]: gram times standard parameters [P], which predict the torque
    that a gain scales.
    """
    joints, size = fitted.shape
    augmented, rows = np.zeros((joints, size + joints, size + joints)), np.arange(joints)
    augmented[:, :size, :size] = gram
    augmented[rows, :size, size + rows] = augmented[rows, size + rows, :size] = fitted
    augmented[rows, size + rows, size + rows] = fitted @ standard
    return augmented


def _root(matrix):
    """Return the root of the identity plus a matrix that is not negative but for rounding."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        sizes, axes = np.linalg.eigh((matrix + matrix.T) / 2)
        return np.linalg.qr((axes * np.sqrt(np.maximum(sizes, 1.0))).T, 'r').T
