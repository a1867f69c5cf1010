"""
Multiple shooting, online: short windows with first states of their own, one set of parameters.

For real mechanisms whose efforts are commanded or absent, and of which no model is exact. What a
model lacks pushes the robot in ways that no noise model has right: over long stretches motion
drifts off, from sample to sample anything fits. Over a window of a quarter of a swing it does
neither. The windows are fitted together by least squares, again and again as they come, and how
much they differ in what they ask of the parameters is what the covariance is made of: with
H the prior's information and that of all windows, and the pull g_w of window w after it has been
left out of the fit,

    V = factor^2 H^-1 (prior's information + sum_w g_w g_w') H^-1
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ...records import Status, UpdateReport
from ..changes.isolation import Memory
from ..factors import lower_root, solve_triangular
from ..mixture import Mixture
from ..protocol import ModelChange
from ..windows.shooting import Quadratic, shoot
from .base import AbstractEstimator

_NANO = 1e-9
# Robots change slowly: of windows no longer kept about so many count.
_REMEMBERED = 1000.0
# What is known of how fast a robot turns is of about so many windows.
_TURNS_OF = 30.0
# Residuals count in so many times their median: there is always more than is seen of most.
_LEVEL = 1.5
# They are this part of what sensors are said to be off at the least, and so many times in the
# beginning.
_LEAST_LEVEL, _FIRST_LEVEL = 0.1, 10.0
# Windows are as long as the robot takes to change its velocity by about so many times its size,
# within these bounds [s]; it has to be watched for so long before that is known [s].
_TURNS, _SHORTEST, _LONGEST, _WATCHED = 2.5, 0.08, 1.0, 1.0
# Between recordings of one robot estimates differ by so much more than within one.
_BETWEEN = 1.75
# What the spread of windows is told by counts for so many windows of the usual one beforehand,
# which is so many times that of white noise.
_USUAL_WINDOWS, _USUAL_COLOUR = 4.0, 4.0
# Clocks, lengths and what friction is made of are never quite as a model has them: nothing is
# known better than to this part of its size.
_LEAST_KNOWN = 2e-3
# No window tells more of anything than this part of what is known together, for its own leverage.
_MOST_LEVERAGE = 0.98
# A joint that is driven sticks below this speed [rad/s or m/s]; windows in which one does for more
# than this part of the time tell nothing right.
_SLOW, _STICKS = 0.1, 0.3
# Rounds of a fit, with many windows of which one is new, and how small its last step is in
# deviations of white noise.
_ROUNDS, _FEW_ROUNDS, _SETTLED = 8, 3, 0.3
# With few windows all is simulated until nothing changes; with more, what they cost is known to
# this part of it.
_FEW, _INEXACT = 12, 0.05
# Windows are simulated again when the parameters, or the levels, have moved so much since.
_MOVED, _RELEVELLED = 4.0, 1.25
# What rounding leaves of information, as a part of it.
_RIDGE = 1e-12
# Longest step in standard deviations of the prior, and farthest place.
_LONGEST_STEP, _FARTHEST = 1.5, 6.0
# So many windows after a change tell of it, and so many have to have been there before.
_ASKED, _BEFORE = 4, 8
# That several things changed at once is so many times less probable, as powers of their number.
_SEVERAL = 2.0
# Misfits per degree of all of them but one, and that of one by itself, from which they do not
# belong to the robot that is known: in terms of what is usual for this robot, whose model may lack
# something that a motion brings out more and more. That is a mean over about so many windows, of
# so many times one before any.
_MISFIT, _ABSURD = 4.0, 25.0
_USUAL_OF, _USUAL_BEFORE = 20.0, 4.0


@dataclass(frozen=True)
class FoldedWindows(Quadratic):
    """
    What windows told that are no longer kept, but for a constant.

    meat [p, p]: sum of the squares of their pulls; number: of windows.
    """

    meat: np.ndarray
    number: float = 0.0

    @staticmethod
    def none(mean):
        """Return what no windows told."""
        empty = np.zeros((len(mean), len(mean)))
        return FoldedWindows(mean, 0.0, empty, np.zeros(len(mean)), empty)

    def with_shot(self, shot, meat):
        """Return this with a `Shot` that is given up; meat [p, p]: its own."""
        more, kept = shot.pull_at(self.at), 1 - 1 / _REMEMBERED
        return FoldedWindows(
            self.at,
            0.0,
            kept * self.gram + shot.gram,
            kept * self.pull + more,
            kept * self.meat + meat,
            kept * self.number + 1,
        )


@dataclass(frozen=True)
class ShootingState:
    """
    What is carried on.

    pending: frames of the window to come; turns [2, v]: sums of squared velocities and
    accelerations, None while nothing is known of them; misspecified: windows that do not fit what
    is known, and wait for what the next ones say; shots: of the windows kept; folded: of those
    before; mean [p], root [p, p]: posterior of the parameters; levels [C]: of residuals; point
    [nx], place [t, t + d], by [t, p]: state at the end of the last frame, root of its covariance
    where parameters are given, derivative by them; latest: (misfit per degree over what is usual,
    mean, root) of the last windows, by what was known before them; misfits [2]: sum of the misfits
    per degree, and number, of windows of the robot that is known; begun: prior (mean, root) since
    the last change, None: the problem's; last_change: `Memory` of before that.
    """

    pending: tuple = ()
    turns: np.ndarray | None = None
    misspecified: tuple = ()
    shots: tuple = ()
    folded: FoldedWindows | None = None
    mean: np.ndarray | None = None
    root: np.ndarray | None = None
    levels: np.ndarray | None = None
    point: np.ndarray | None = None
    place: np.ndarray | None = None
    by: np.ndarray | None = None
    latest: tuple = ()
    misfits: np.ndarray = field(default_factory=lambda: np.zeros(2))
    begun: tuple | None = None
    last_change: object = None


@dataclass(frozen=True)
class MultipleShooting(AbstractEstimator):
    """
    See the module.

    windows: how many are kept to be simulated again; the older ones are kept as a quadratic;
    seconds: how long they are, None: as the robot moves; seed: of nothing, no draws are needed.
    """

    windows: int = 40
    seconds: float | None = None
    seed: int = 0

    name = 'multiple_shooting'

    def init(self, problem):
        """Return the state before any data."""
        mean = problem.prior.mean
        levels = np.full(problem.channel_count, _FIRST_LEVEL)
        return ShootingState(
            folded=FoldedWindows.none(mean),
            mean=mean,
            root=problem.prior.root,
            levels=levels,
        )

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        if frame.is_last:
            return state, UpdateReport('filter')
        is_known = problem.knows_inputs(frame)
        if frame.after_gap or not is_known:
            state, report = self._closed(problem, state)
            events = report.events if is_known else (*report.events, 'efforts unknown')
            return replace(state, point=None), replace(report, events=events)
        if frame.end_ns == frame.start_ns:
            return state, UpdateReport('batch')
        state = replace(state, pending=(*state.pending, frame))
        if state.turns is None:
            return self._watch(problem, state)
        if _length(state.pending) < self._seconds(state) - 0.5 * _length((frame,)):
            return self._led_on(problem, state, frame), UpdateReport('filter')
        return self._with_window(problem, state)

    def interrupted(self, state):
        """Return a state without the window to come."""
        return replace(state, pending=(), misspecified=(), point=None)

    def kept_frames(self, state):
        """Return the frames of the window to come."""
        return state.pending

    def with_frames(self, state, frames):
        """Return a state with other frames of the window to come."""
        return replace(state, pending=frames)

    def mixture(self, problem, state):
        """Return the posterior."""
        t, p = problem.tangent_size, len(problem.labels)
        root = np.zeros((t + p, t + p))
        root[t:, t:] = state.root
        point = problem.neutral
        if state.point is not None:
            point = state.point
            known = np.linalg.qr(state.place.T, mode='r').T
            root[:t, : known.shape[1]] = known
            root[:t, t:] = state.by @ state.root
        return Mixture(np.zeros(1), point[:, None], state.mean[:, None], root[None])

    # ------------------------------------------------------------------------ windows

    def _watch(self, problem, state, is_end=False):
        """
        Find out how fast the robot turns, by the first second in which it moves.

        is_end: whether less has to do, as the motion is not followed any longer.
        """
        frames = state.pending
        if _length(frames) < _WATCHED and not is_end:
            return state, UpdateReport('batch')
        point = problem.first_state(frames)[0]
        if not problem.moves(point, frames):
            return replace(state, pending=frames[len(frames) // 2 :]), UpdateReport(
                'batch', events=('at rest',)
            )
        course, nv = problem.first_trajectory(frames), problem.position_count
        state = replace(state, turns=_turns(course[:, -nv:], frames), pending=())
        events = []
        for frame in frames:
            state, report = self.update(problem, state, frame)
            events += report.events
        if is_end:
            state, report = self._closed(problem, state)
            events += report.events
        return state, replace(report, events=tuple(events))

    def _closed(self, problem, state):
        """Return (state, report) at the end of a stretch: what waits may do as a window."""
        if state.turns is None and _length(state.pending) > 2 * _SHORTEST:
            # A throw, or another short motion: all there is.
            state, report = self._watch(problem, state, is_end=True)
            return replace(state, pending=()), report
        if state.turns is None or _length(state.pending) < 0.5 * self._seconds(state):
            return replace(state, pending=()), UpdateReport('batch')
        return self._with_window(problem, state)

    def _seconds(self, state):
        """Return how long windows are [s]."""
        return self.seconds or _usual_turn(state.turns)

    def _with_window(self, problem, state):
        """Return (state, report) with the window that has become complete."""
        frames, state = state.pending, replace(state, pending=())
        point, place = problem.first_state(frames)
        if not problem.moves(point, frames):
            by = np.zeros((problem.tangent_size, len(state.mean)))
            state = replace(state, point=point, place=place, by=by)
            return state, UpdateReport('filter', events=('at rest',))
        pushes = problem.pushes
        guess = point, np.zeros(len(pushes.places))
        shot = shoot(problem, frames, guess, state.mean, state.levels, pushes)
        if shot is None:
            report = UpdateReport('filter', events=(Status.UPDATE_REFUSED.value,))
            return replace(state, point=None), report
        velocities = shot.course[:, -problem.position_count :]
        turns = (1 - 1 / _TURNS_OF) * state.turns + _turns(velocities, frames)
        now = {'point': shot.course[-1], 'place': shot.end_root, 'by': shot.end_slope}
        state = replace(state, turns=turns, **now)
        if _sticks(problem, velocities):
            return state, UpdateReport('filter', events=('sticks',))
        number = len(state.shots) + state.folded.number
        misfit, degrees = _misfit(shot, state.root) if number else (0.0, 0)
        stage = 'filter' if number >= _BEFORE else 'batch'
        report = UpdateReport(stage, misfit, degrees)
        if number < _BEFORE or not degrees:
            return self._taken(problem, state, (shot,), report)
        return self._weighed(problem, state, shot, misfit / degrees, report)

    def _weighed(self, problem, state, shot, misfit, report):
        """Return (state, report) with a window that may be of another robot than what is known."""
        total, number = state.misfits
        usual = max((total + _USUAL_BEFORE) / (number + _USUAL_BEFORE), 1.0)
        latest = (*state.latest, (misfit / usual, state.mean, state.root))[-_ASKED:]
        state = replace(state, latest=latest)
        if sum(each > _MISFIT for each, _, _ in latest) >= _ASKED - 1:
            return self._changed(problem, state, shot, report)
        if misfit > usual * (_MISFIT if state.misspecified else _ABSURD):
            report = replace(report, events=('window misspecified',))
            return replace(state, misspecified=(*state.misspecified, shot)), report
        # One that stands out tells little of what is usual.
        more = np.array([min(misfit, _MISFIT * usual), 1.0])
        state = replace(state, misfits=(1 - 1 / _USUAL_OF) * state.misfits + more)
        # What was misspecified was no change of the robot.
        if state.misspecified:
            report = replace(report, events=(Status.OUTLIER.value,))
        return self._taken(problem, replace(state, misspecified=()), (shot,), report)

    def _changed(self, problem, state, shot, report):
        """Return (state, report) after a change: evidence decides what it was."""
        # It happened during the first of those that do not fit, of which nothing is right.
        first = next(k for k, (misfit, _, _) in enumerate(state.latest) if misfit > _MISFIT)
        _, mean, root = state.latest[first]
        since = (*state.shots, *state.misspecified, shot)[first + 1 - len(state.latest) :]
        memory, known = _explained(problem, replace(state, mean=mean, root=root), since)
        begun = replace(
            state,
            misspecified=(),
            shots=(),
            folded=FoldedWindows.none(known[0]),
            mean=known[0],
            root=known[1],
            latest=(),
            begun=known,
            last_change=memory,
        )
        state, report = self._taken(problem, begun, since, report)
        events = (*report.events, 'changed', 'explained', f'cause: {memory.name}')
        return state, replace(report, events=events, changed=memory.parameters)

    def _taken(self, problem, state, shots, report):
        """Return (state, report) with windows that belong to the robot known."""
        state = replace(state, shots=(*state.shots, *shots))
        fit = _Fit(problem, state)
        fit.run(_ROUNDS if len(state.shots) < _FEW else _FEW_ROUNDS)
        state = fit.state(self.windows)
        number = len(state.shots) + state.folded.number
        # What a few windows more have told is no news.
        is_news = number <= _BEFORE or number % _BEFORE == 0
        return state, replace(report, events=(*report.events, 'fitted')) if is_news else report

    @staticmethod
    def _led_on(problem, state, frame):
        """Return the state with the latest motion led on over a frame."""
        if state.point is None:
            return state
        t = problem.tangent_size
        found = problem.linearize(state.point[:, None], state.mean[:, None], (frame,))
        if not (np.isfinite(found.ends).all() and np.isfinite(found.transition).all()):
            return replace(state, point=None)
        by_state, by_parameters = found.transition[0, :, :t], found.transition[0, :, t:]
        return replace(
            state,
            point=found.ends[:, 0],
            place=by_state @ state.place,
            by=by_state @ state.by + by_parameters,
        )


class _Fit:
    """Gauss and Newton on the sum of what windows cost; those that moved are simulated again."""

    def __init__(self, problem, state, levels=None):
        self._problem, self._state = problem, state
        self._expected, self._prior_root = state.begun or (problem.prior.mean, problem.prior.root)
        inverse = np.linalg.inv(self._prior_root)
        self._information = inverse.T @ inverse
        nothing = np.zeros(len(self._expected))
        prior = Quadratic(self._expected, 0.0, self._information, nothing)
        # What is asked of parameters beside the windows kept.
        self._others = prior, state.folded
        self._levels = _levels(state) if levels is None else levels
        self._damping = 0.0
        self._are_few = len(state.shots) < _FEW
        self._slack = 0.0 if self._are_few else _INEXACT
        self.mean, self.shots = state.mean, state.shots
        # What windows tell together, by which it is judged how far apart parameters are.
        self._told = self._gram(state.shots)
        self.shots = self._renewed(self.mean) or state.shots
        self._cost = self._cost_of(self.shots, self.mean)

    def run(self, rounds):
        """Take so many steps, or less if that is enough."""
        for _ in range(rounds):
            if not self._go_on():
                break

    def _go_on(self):
        """Take a step; return whether another is worth it."""
        self._told = gram = self._gram(self.shots)
        pull = sum(each.pull_at(self.mean) for each in (*self._others, *self.shots))
        damped = gram + self._damping * np.diag(np.diag(gram))
        step = -np.linalg.solve(damped, pull)
        longest = np.abs(np.linalg.solve(self._prior_root, step)).max()
        step = step * min(1.0, _LONGEST_STEP / max(longest, 1e-12))
        mean = self.mean + step
        away = np.abs(np.linalg.solve(self._prior_root, mean - self._expected)).max()
        shots = self._renewed(mean) if away < _FARTHEST else None
        cost = np.inf if shots is None else self._cost_of(shots, mean)
        if not cost <= (1 + self._slack) * self._cost:
            self._damping = max(10 * self._damping, 1e-3)
            # What windows were thought to cost may be of other parameters than these.
            self.shots = self._renewed(self.mean, are_all=True) or self.shots
            self._cost = self._cost_of(self.shots, self.mean)
            return True
        self.mean, self.shots, self._cost = mean, shots, cost
        self._damping /= 10
        return np.sqrt(max(step @ gram @ step, 0.0)) > _SETTLED

    def state(self, most):
        """Return the state with what was found; so many windows are kept, older ones folded."""
        gram, folded, shots = self._gram(self.shots), self._state.folded, self.shots
        squares = _squared_pulls(shots, self.mean, gram)
        meat = folded.meat + sum(squares)
        # So few windows may agree by chance.
        number = len(shots) + folded.number
        usual = _USUAL_COLOUR * _USUAL_WINDOWS / number * (gram - self._information)
        inverse = np.linalg.inv(gram)
        covariance = _BETWEEN**2 * inverse @ (self._information + meat + usual) @ inverse
        covariance += self._problem.least_covariance(_LEAST_KNOWN)
        root = _at_most(self._prior_root, covariance)
        old = max(len(shots) - most, 0)
        for shot, square in zip(shots[:old], squares):
            folded = folded.with_shot(shot, square)
        known = {'mean': self.mean, 'root': root, 'levels': self._levels}
        return replace(self._state, shots=shots[old:], folded=folded, **known)

    def log_evidence(self):
        """Return how probable the windows are, up to what does not hang on the prior."""
        told = self._gram(self.shots) - self._information
        whole = np.eye(len(told)) + self._prior_root.T @ told @ self._prior_root
        return -0.5 * (self._cost + np.linalg.slogdet(whole)[1])

    def _gram(self, shots):
        """Return the information [p, p] of prior, folded windows and others, as of white noise."""
        gram = sum(each.gram for each in (*self._others, *shots))
        return gram + _RIDGE * np.diag(np.diag(gram))

    def _renewed(self, mean, are_all=False):
        """
        Return windows simulated again where parameters or levels have moved; None: one is astray.

        are_all: simulate all of them again that were not at this mean.
        """
        found, problem = [], self._problem
        for shot in self.shots:
            away = mean - shot.at
            moved = np.abs(np.log(self._levels / shot.levels)).max()
            far = away.any() if are_all else away @ self._told @ away > _MOVED**2
            if far or moved > np.log(_RELEVELLED):
                guess, how = shot.guess_at(problem, mean), (self._levels, problem.pushes)
                steps = 2 if self._are_few else 0
                shot = shoot(problem, shot.frames, guess, mean, *how, steps, is_near=True)
            if shot is None:
                return None
            found.append(shot)
        return tuple(found)

    def _cost_of(self, shots, mean):
        """Return the sum of squares."""
        return sum(each.cost_at(mean) for each in (*self._others, *shots))


def _at_most(prior_root, covariance):
    """Return a root [p, p] of a covariance of which nothing is augmented than the prior's."""
    whitened = np.linalg.solve(prior_root, np.linalg.solve(prior_root, covariance).T)
    sizes, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
    wide = prior_root @ (vectors * np.sqrt(np.clip(sizes, 0.0, 1.0)))
    return lower_root(wide[None])[0]


def _squared_pulls(shots, mean, gram):
    """Return for every window the square [p, p] of its pull on a fit without it."""
    factor, found = np.linalg.cholesky(gram), []
    for shot in shots:
        whitened = solve_triangular(factor, shot.gram, lower=True)
        whitened = solve_triangular(factor, whitened.T, lower=True)
        shares, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
        pull = vectors.T @ solve_triangular(factor, shot.pull_at(mean), lower=True)
        pull = factor @ vectors @ (pull / (1 - np.clip(shares, 0.0, _MOST_LEVERAGE)))
        found.append(np.outer(pull, pull))
    return found


def _levels(state):
    """Return the levels [C] of residuals by the windows kept."""
    left = np.abs(np.concatenate([shot.left for shot in state.shots]))
    told = np.isfinite(left).any(0)
    levels = state.levels.copy()
    levels[told] = np.maximum(_LEVEL * np.nanmedian(left[:, told], 0), _LEAST_LEVEL)
    # Where the first fits are far off yet, they do not become worse for being so.
    return np.minimum(levels, 2 * state.levels)


def _misfit(shot, root):
    """Return (mean square, degrees) of what a window asks of parameters known before it."""
    gram, pull = root.T @ shot.gram @ root, root.T @ shot.pull
    shares, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    shares, asked = np.maximum(shares, 0.0), vectors.T @ pull
    told = shares > 0.05
    if not told.any():
        return 0.0, 0
    variance = _USUAL_COLOUR * shares[told] + shares[told] ** 2
    return float((asked[told] ** 2 / variance).sum()), int(told.sum())


def _explained(problem, state, since):
    """
    Return (`Memory` of what was known, (mean, root) of what is now) by windows since a change.

    One of the possible changes, all of them at once, or back to what was known before the last
    change: evidence decides, of windows fitted anew under each.
    """
    jumps = problem.jumps(state.mean)
    together = np.concatenate([jump.root for jump in jumps], 1)
    several = -_SEVERAL * np.log(len(jumps))
    each = [(jump, state.mean, np.concatenate([state.root, jump.root], 1)) for jump in jumps]
    every = ModelChange('several things', (), together, log_odds=several)
    each.append((every, state.mean, np.concatenate([state.root, together], 1)))
    if before := state.last_change:
        # The robot that was known then, and may have drifted since.
        back = ModelChange(
            f'as before: {before.name}', before.parameters, np.zeros((len(state.mean), 0))
        )
        each.append((back, before.mean, before.root))
    levels, found = np.sqrt(_USUAL_COLOUR) * state.levels, []
    for jump, mean, wide in each:
        begun = mean, lower_root(wide[None])[0]
        none = FoldedWindows.none(mean)
        trial = replace(state, mean=mean, shots=since, folded=none, begun=begun)
        fit = _Fit(problem, trial, levels)
        fit.run(_ROUNDS)
        found.append((fit.log_evidence() + jump.log_odds, jump, begun))
    _, jump, begun = max(found, key=lambda each: each[0])
    known = jump if jump.root.shape[1] and jump is not every else None
    return Memory(jump.name, jump.parameters, state.mean, state.root, known), begun


def _sticks(problem, velocities):
    """Tell whether a driven joint sticks for much of a window; velocities [H + 1, v]."""
    speeds = np.abs(velocities[:, problem.commanded_velocities])
    return bool(((speeds < _SLOW).mean(0) > _STICKS).any()) if speeds.size else False


def _turns(velocities, frames):
    """Return the mean squares [2, v] of velocities [H + 1, v] and accelerations over frames."""
    steps = np.array([frame.end_ns - frame.start_ns for frame in frames]) * _NANO
    accelerations = np.diff(velocities, axis=0) / steps[:, None]
    return np.stack([(velocities**2).mean(0), (accelerations**2).mean(0)])


def _usual_turn(turns):
    """Return how long windows are [s], by sums of squared velocities and accelerations [2, v]."""
    speeds, changes = turns
    moves = speeds > 0.01 * speeds.max()
    rate = np.sqrt((changes[moves] / speeds[moves]).max())
    return float(np.clip(_TURNS / rate, _SHORTEST, _LONGEST))


def _length(frames):
    """Return how long consecutive frames last [s]."""
    return (frames[-1].end_ns - frames[0].start_ns) * _NANO if frames else 0.0
