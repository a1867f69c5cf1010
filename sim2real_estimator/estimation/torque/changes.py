"""
Changes of a robot whose torques are measured: what was taken up, what sticks, what is noisier.

Windows of the last seconds are held against what was known when they began. How noisy a window is
is not known either: each joint's rows are normal with an unknown factor on their variance, which
makes the evidence one of Student's t. So a cause has to explain a large part of what is left over,
not just some of it; with a fixed noise unchanged real arms give causes a factor of e^40 and more.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..changes.isolation import Memory
from ..factors import solve_triangular
from .regression import Fit, Rows, Sums

# Seconds of the windows, and degrees of freedom of the noise of one.
WINDOWS = (1.0, 3.0, 8.0)
FREEDOM = 4.0
# Log Bayes factors from which on a cause is believed: of a body that came or went, or of what was
# known before coming back, and of anything inside a joint. Chosen on recordings of a UR10e and on
# arms in MuJoCo that did not change.
_BODY, _JOINT = 12.0, 20.0
# The link at the end is where things are held, by this factor.
_AT_THE_END = np.log(5.0)
# Causes are looked at closely from this quick log Bayes factor on, so many at the most.
_WORTH_A_LOOK, _LOOKED_AT = 2.0, 4
# At so many times at most it is asked whether a cause has begun then.
_COMPARED_AT = 12
# A change has begun so long ago at least.
_LEAST_NS = 250_000_000
# Rows that are neither of before a change nor of after it, by the lag of smoothed accelerations.
_TRANSIENT = 2
# Steps in which the noise of a window is found, at most, and the change of its logarithm from
# which on there is another one.
_STEPS, _AGREED = 12, 0.02
# A joint whose rows vary so many times as much as usual is noisier, if nothing explains it.
_NOISIER = 2.0
# The longest window that is asked for noise: what is over counts for no longer [ns].
_LOUD_NS = 5_000_000_000
# A cause explains a joint in part whose rows vary so many times as much as usual beside it. With
# loads of a UR10e and of arms in MuJoCo it is 1.9 at the most, with a gain that falls by 30 % 7.
_IN_PART = 4.0
# Causes that are this much less probable than the best one remain possible.
_POSSIBLE = 6.0
# What was known before a change is called by it, and what it was since then if that comes back.
_AS_BEFORE, _AGAIN = 'as before: ', 'again: '


# A joint is noisier that is so at so many searches in a row. Where nothing happens windows of arms
# in MuJoCo and of a UR10e exceed their usual noise twice for up to ten searches, 1.4 times for
# twenty.
_NOISY_SEARCHES = 20


@dataclass(frozen=True)
class Snapshot:
    """What was known at a time: end_ns of the last row; sums: of all rows; fit: of them."""

    end_ns: int
    sums: Sums
    fit: Fit


@dataclass(frozen=True)
class Cause:
    """
    What may have changed, seen from a window.

    name: for people; jump: the `ModelChange`, where a memory holds again that of the memory;
    memory: that `Memory`; evidence: log Bayes factor against no change; since: `Snapshot` at which
    the window began.
    """

    name: str
    jump: object
    memory: Memory | None
    evidence: float
    since: Snapshot


@dataclass(frozen=True)
class Onset:
    """
    A change of which it is still asked when it began and what it was.

    known: `Fit` of before, in which joints that are not known have no weight; rows: since then,
    up to the look that found the change at end_ns; before: how many of them are of before the
    change; visited [3, K, n]: motion at the rows, where poses move lengths, else None; asked:
    seconds of rows since the change when it was asked last; in_part: numbers of joints of which
    it was said that no cause explains them.
    """

    known: Fit
    rows: Rows
    end_ns: int
    before: int
    visited: np.ndarray | None = None
    asked: float = 0.0
    in_part: tuple = ()

    def moved(self, changed):
        """
        Return this with the likeliest time at which the robot became that of a `Fit`.

        Where the sum of log likelihood ratios (CUSUM) of all rows from then on is largest, with
        residuals of Student's t: a grasp comes with rows that are of neither robot.
        """
        after = np.cumsum(self.for_change(changed, self.rows)[::-1])[::-1]
        return replace(self, before=int(np.argmax(after)) + _TRANSIENT)

    def for_change(self, changed, rows):
        """
        Return log likelihood ratios [K] of the robot of a `Fit` to the one of before.

        By the residuals of `Rows`, as of Student's t.
        """
        weights, ratio = self.known.noise, np.zeros(rows.count)
        for fit, sign in ((self.known, 1.0), (changed, -1.0)):
            squares = rows.residuals(fit.standard, fit.scales) ** 2 / weights.variance
            ratio += sign * (np.log1p(squares / FREEDOM) @ weights.explained)
        return ratio

    @property
    def since(self):
        """`Rows` of after the change, up to `end_ns`."""
        return self.rows.part(slice(self.before, None))


@dataclass(frozen=True)
class Finding:
    """What a look at the windows brings: causes: the best first; noisier: numbers of joints."""

    causes: tuple = ()
    noisier: tuple = ()


def find_changes(model, snapshots, now, jumps, memories, floor, is_known=None):
    """
    Return the `Finding` of the windows before a time.

    model: as in `torque_regression.fit`; snapshots: in the order of time, the last ones; now: the
    newest one; jumps: the `ModelChange`s that may have happened, the first
    one being of the link at the end; memories: what may hold again; floor: function from a `Fit`
    to a root [p, p] of what was known, drift included; is_known [J]: joints of which enough is
    known to tell that they have changed, None: all.
    """
    snapshots, now = _of_known(snapshots, is_known), _of_known((now,), is_known)[0]
    causes, noisier, best, factors = {}, (), None, None
    for since in windows(snapshots, now.end_ns):
        window = _Window(model, since, now.sums, floor)
        found = _causes(window, since, jumps, memories)[:_LOOKED_AT]
        if found[0].evidence >= _threshold(found[0]):
            causes |= {cause.name: cause for cause in found if cause.name not in causes}
            if best is None or found[0].evidence > best.evidence:
                best, factors = found[0], window.factors_with(found[0])
        noisier = window.noisier if since.end_ns >= now.end_ns - _LOUD_NS else noisier
    if best is None:
        return Finding((), noisier)
    # Windows are of different rows: causes are compared on those of the longest, with one another
    # and with none, which has to be much less likely whenever friction moves on.
    first = min((cause.since for cause in causes.values()), key=lambda since: since.end_ns)
    later = [s for s in snapshots if first.end_ns <= s.end_ns <= now.end_ns - _LEAST_NS]
    ordered, nothing = _compared(model, (first, later, now), causes.values(), factors, floor)
    ordered = [replace(cause, evidence=cause.evidence - nothing) for cause in ordered]
    if not any(cause.evidence >= _threshold(cause) for cause in ordered):
        return Finding((), noisier)
    # Where something has been taken up, that is where; not that it has.
    ordered = [replace(c, evidence=c.evidence + favour(jumps, c)) for c in ordered]
    ordered = sorted(ordered, key=lambda cause: -cause.evidence)
    least = ordered[0].evidence - _POSSIBLE
    return Finding(tuple(cause for cause in ordered if cause.evidence > least))


def isolate(model, known, sums, jumps, memories, floor):
    """
    Return (`Cause`s of a change that remain possible, joints in which more is left), by all rows.

    The best cause is the first; of numbers of joints are those that it explains in part only.

    known: `Fit` of before; sums: of the rows since; all else: as in `look`. Other than a look at
    what is new beside an answer, this takes back what was answered when there were few rows.
    """
    then = Snapshot(0, sums.of(()), known)
    window = _Window(model, then, sums, floor)
    found = _causes(window, then, jumps, memories, True)
    found = [replace(c, evidence=c.evidence + favour(jumps, c)) for c in found]
    found = sorted(found, key=lambda cause: -cause.evidence)
    least = found[0].evidence - _POSSIBLE
    left = np.flatnonzero(window.factors_with(found[0]) > _IN_PART)
    return tuple(cause for cause in found if cause.evidence > least), tuple(left.tolist())


def with_noisier(model, state, noisier, report):
    """Return the `TorqueState` after a search that found joints of some numbers noisier."""
    if state.onset is not None or state.disruption is not None:
        # A recent change leaves rows that nothing explains.
        return replace(state, noisy_searches=())
    before = state.noisy_searches or (0,) * len(model.joints)
    counts = tuple(count + 1 if k in noisier else 0 for k, count in enumerate(before))
    report.events += tuple(
        f'more noise: {joint}'
        for joint, count in zip(model.joints, counts)
        if count == _NOISY_SEARCHES
    )
    return replace(state, noisy_searches=counts)


def name_of_return(name):
    """Return what it is called when what was known before a change comes back."""
    for word, other in ((_AS_BEFORE, _AGAIN), (_AGAIN, _AS_BEFORE)):
        if name.startswith(word):
            return other + name.removeprefix(word)
    return _AS_BEFORE + name


def _causes(window, since, jumps, memories, is_close=False):
    """Return a `Cause` for every `ModelChange` and `Memory`, the most probable first."""
    found = [
        Cause(jump.name, jump, None, value, since)
        for jump, value in zip(jumps, window.evidence_of(jumps, is_close))
    ]
    found += [
        Cause(name_of_return(m.name), m.jump, m, window.evidence_of_memory(m), since)
        for m in memories
    ]
    return sorted(found, key=lambda cause: -cause.evidence - favour(jumps, cause))


def _of_known(snapshots, is_known):
    """Return `Snapshot`s in which joints that are not known have no weight."""
    if is_known is None or is_known.all():
        return tuple(snapshots)
    return tuple(
        replace(s, fit=replace(s.fit, noise=s.fit.noise.without(~is_known))) for s in snapshots
    )


def favour(jumps, cause):
    """Return by how much a `Cause` is more probable beforehand: on the link at the end."""
    if cause.memory is not None:
        return 0.0
    is_at_the_end = bool(jumps) and cause.jump is jumps[0]
    return cause.jump.log_odds + (_AT_THE_END if is_at_the_end else 0.0)


def _compared(model, times, causes, factors, floor):
    """
    Return (`Cause`s with the log evidence of all rows since a time, that of no change).

    Each from when it is likeliest to have begun. times: (`Snapshot` of that time, those later at
    which one may have begun, and of now); factors [J]: on the variance of rows. What has been
    before a change are rows of no change.
    """
    first, later, now = times
    noise, best = first.fit.noise, {cause.name: cause for cause in causes}
    values, nothing = dict.fromkeys(best, -np.inf), -np.inf
    step = -(-len(later) // _COMPARED_AT)
    for at in later[::step]:
        before = 0.0
        if at is not first:
            before = _Window(model, first, at.sums, floor, factors).gaussian()
        # In the same units: what has changed makes later fits believe in more noise.
        in_units = replace(at, fit=replace(at.fit, noise=noise))
        window = _Window(model, in_units, now.sums, floor, factors)
        nothing = max(nothing, before + window.gaussian())
        for cause in causes:
            value = before + window.gaussian(cause)
            if value > values[cause.name]:
                values[cause.name] = value
                best[cause.name] = replace(cause, evidence=value, since=at)
    return list(best.values()), nothing


def _threshold(cause):
    is_body = cause.memory is not None or cause.jump.body is not None
    return _BODY if is_body else _JOINT


def windows(snapshots, now_ns):
    """Return the newest snapshot that is as old as each of the windows."""
    found = []
    for seconds in WINDOWS:
        old = [s for s in snapshots if s.end_ns <= now_ns - seconds * 1e9]
        if old and old[-1] not in found:
            found.append(old[-1])
    return found


class _Window:
    """
    Rows since a snapshot, seen from what was known then, in units of the noise known then.

    Torques move with standard parameters, and each joint's with its own gain, by what is predicted
    of it: numbers [P + J], the last ones being of c_j over what it was then, less one.
    """

    def __init__(self, model, since, now, floor, factors=None):
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
        self._known = self._slope @ floor(fit)
        self._factors = factors
        if factors is not None:
            return
        factors, squares, solution, self._factor = self._settled(*self._columns(None))
        self._factors = factors
        self._nothing = self._score(squares, solution, self._factor)
        is_any = self._number > FREEDOM
        self.noisier = tuple(np.flatnonzero(is_any & (factors > _NOISIER)).tolist())

    def evidence_of(self, jumps, is_close=False):
        """
        Return the log Bayes factors of `ModelChange`s against no change.

        is_close: whether all of bodies are looked at closely, not just the likeliest.
        """
        if not jumps:
            return np.zeros(0)
        gram = np.tensordot(1 / self._factors, self._gram, 1)
        gradient = self._gradient.T @ (1 / self._factors)
        factor, seen = self._factor, gram @ self._known
        # Of all jumps at once, beside what is known; each of them has its own block.
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
            is_likely = place < _LOOKED_AT and result[k] > _WORTH_A_LOOK
            if is_likely or (is_close and jumps[k].body is not None):
                result[k] = self._closely(Cause(jumps[k].name, jumps[k], None, 0.0, None))
        return result

    def evidence_of_memory(self, memory):
        """Return the log Bayes factor of what was known before against no change."""
        return self._closely(Cause(memory.name, None, memory, 0.0, None))

    def factors_with(self, cause):
        """Return the factors [J] on the variance of rows that a `Cause` leaves."""
        return self._settled(*self._columns(cause))[0]

    def gaussian(self, cause=None):
        """Return the log evidence of a `Cause`, or of no change, with the noise that is given."""
        together, away = self._columns(cause)
        _, factor, solution = self._solved(self._factors, together, away)
        squares = self._left(together @ solution + away) / self._factors
        volume = np.log(np.abs(np.diag(factor))).sum()
        return -(squares.sum() + solution @ solution) / 2 - volume

    def _columns(self, cause):
        """Return (whitened columns [P + J, r] along which a cause moves, where it begins)."""
        nowhere = np.zeros(len(self._slope))
        if cause is None:
            return self._known, nowhere
        if cause.memory is not None:
            away = self._slope @ (cause.memory.mean - self._fit.mean)
            # Gains may be far from what they were, where their slope is another one.
            scales = self._model.scales(cause.memory.mean)[0] / self._fit.scales
            away[-len(scales) :] = scales - 1.0
            return self._slope @ cause.memory.root, away
        return np.hstack([self._known, self._slope @ cause.jump.root]), nowhere

    def _settled(self, together, away):
        """
        Return (factors [J], squares [J], solution, root) with the noise found anew.

        There may be two answers: with the usual noise all joints are explained as well as they
        can be, with much of it in some joints these are given up. The likelier one counts.
        """
        starts = [np.ones(len(self._square))]
        if self._factors is not None:
            starts.append(self._factors)
        found = [self._settled_from(factors, together, away) for factors in starts]
        return max(found, key=lambda each: self._score(*each[1:]))

    def _settled_from(self, factors, together, away):
        """Return the same of one start."""
        for _ in range(_STEPS):
            _, factor, solution = self._solved(factors, together, away)
            squares = self._left(together @ solution + away)
            before, factors = factors, (FREEDOM + squares) / (FREEDOM + self._number)
            if np.abs(np.log(factors / before)).max() < _AGREED:
                break
        return factors, squares, solution, factor

    def _closely(self, cause):
        """Return the log Bayes factor of a `Cause` with the noise of the window found anew."""
        _, squares, solution, factor = self._settled(*self._columns(cause))
        return self._score(squares, solution, factor) - self._nothing

    def _solved(self, factors, together=None, away=None):
        """Return (gram, root of the information, solution) along whitened columns [P + J, r]."""
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
        """Return the squares left [J] where standard parameters and gains have moved [P + J]."""
        quadratic = np.einsum('p,jpq,q->j', moved, self._gram, moved, optimize=True)
        return np.maximum(self._square - 2 * self._gradient @ moved + quadratic, 0.0)

    def _score(self, squares, solution, factor):
        noise = ((FREEDOM + self._number) * np.log1p(squares / FREEDOM)).sum()
        return -(noise + solution @ solution) / 2 - np.log(np.abs(np.diag(factor))).sum()


def _with_gains(gram, fitted, standard):
    """
    Return sums of squares [J, P + J, P + J] with a column for the gain of every joint.

    gram [J, P, P]; fitted [J, P]: gram times standard parameters [P], which predict the torque
    that a gain multiplies.
    """
    joints, size = fitted.shape
    augmented, rows = np.zeros((joints, size + joints, size + joints)), np.arange(joints)
    augmented[:, :size, :size] = gram
    augmented[rows, :size, size + rows] = augmented[rows, size + rows, :size] = fitted
    augmented[rows, size + rows, size + rows] = fitted @ standard
    return augmented


def _root(matrix):
    """Return the Cholesky root of one plus what cannot be negative, but for rounding."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        sizes, axes = np.linalg.eigh((matrix + matrix.T) / 2)
        return np.linalg.qr((axes * np.sqrt(np.maximum(sizes, 1.0))).T, 'r').T
