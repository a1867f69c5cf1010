"""
Multiple shooting, online: short windows with first states of their own, one set of parameters.

For real mechanisms whose efforts are commanded or absent, and of which no model is exact. What a
model lacks acts on the robot in ways that no noise model describes: over long stretches the
predicted motion drifts off, and from sample to sample any parameters fit. Over a window of a
quarter of a swing neither happens (Bock and Plitt 1984 for the method). An update

1. collects the frames of a window, as long as the robot's motion suggests (`_with_frame`),
2. fits the first state of the window by single shooting (`windows/shooting.py`),
3. compares its misfit with the usual one: an outlier waits, several in a row are a change
   (`_tested`), whose cause evidence isolates (`_changed`),
4. fits the parameters to all windows (`windows/least_squares.py`), and
5. predicts the state through the frames until the next window is complete (`_predicted`).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ...records import UpdateReport
from ...reported_events import Explained, Happened
from ..mixture import Mixture
from ..noise import NormalNoise
from ..windows.least_squares import fit_windows, FoldedWindows, isolate, misfit_of
from ..windows.shooting import fit_window
from .base import AbstractEstimator

_NANO = 1e-9
# Mean squares of velocity and acceleration are of about so many windows.
_SQUARES_OF = 30.0
# Levels, by which residuals are divided, are so many times the noise of sensors in the beginning.
_FIRST_LEVEL = 10.0
# Windows are as long as the robot takes to change its velocity by about so many times its size,
# within these bounds [s]; both are judged by so much motion in the beginning [s].
_CHANGES, _SHORTEST, _LONGEST, _OBSERVED = 2.5, 0.08, 1.0, 1.0
# A joint with a drive sticks below this speed [rad/s or m/s]; windows in which one sticks for more
# than this part of the time are left out.
_SLOW, _STICKS = 0.1, 0.3
# A change is isolated by so many windows, after so many at the least.
_WINDOWS_OF_CHANGE, _BEFORE = 4, 8
# Misfits per degree of freedom from which windows, all of them but one or one by itself, do not
# belong to the known robot: over what is usual for it, whose model may lack something that the
# motion excites more and more. The usual one is a mean over about so many windows, of so many
# times one before any.
_MISFIT, _ABSURD = 4.0, 25.0
_USUAL_OF, _USUAL_BEFORE = 20.0, 4.0


@dataclass(frozen=True)
class ShootingState:
    """
    What is carried on.

    pending: frames of the window to come; squares [2, v]: discounted sums of squared velocities
    and accelerations, None while nothing is known of them; outliers: `FittedWindow`s that do not
    fit what is known, and wait for what the next ones say; windows: the `FittedWindow`s kept;
    folded: `FoldedWindows` before these; mean [p], root [p, p]: posterior of the parameters;
    levels [C]: of residuals; point [nx], point_root [t, t + d], point_slope [t, p]: state at the
    end of the last frame, root of its covariance given the parameters, derivative by them; latest:
    (misfit per degree over the usual one, mean, root) of the last windows, by what was known
    before them; misfits [2]: sum of the misfits per degree, and number, of windows of the known
    robot; prior: (mean, root) since the last change, None: the problem's; model_before_change:
    `EarlierModel` of before that.
    """

    pending: tuple = ()
    squares: np.ndarray | None = None
    outliers: tuple = ()
    windows: tuple = ()
    folded: FoldedWindows | None = None
    mean: np.ndarray | None = None
    root: np.ndarray | None = None
    levels: np.ndarray | None = None
    point: np.ndarray | None = None
    point_root: np.ndarray | None = None
    point_slope: np.ndarray | None = None
    latest: tuple = ()
    misfits: np.ndarray = field(default_factory=lambda: np.zeros(2))
    prior: tuple | None = None
    model_before_change: object = None


@dataclass(frozen=True)
class MultipleShooting(AbstractEstimator):
    """
    See the module.

    windows: how many are kept to be simulated again; older ones are kept as a quadratic; seconds:
    how long they are, None: as the robot moves; noise: distribution of residuals, over levels that
    windows tell; seed: unused, since nothing is drawn.
    """

    windows: int = 40
    seconds: float | None = None
    noise: object = NormalNoise()
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
            state, report = self._ended(problem, state)
            events = () if is_known else (Happened.EFFORTS_UNKNOWN,)
            return replace(state, point=None), replace(report, events=(*report.events, *events))
        if frame.end_ns == frame.start_ns:
            return state, UpdateReport('batch')
        return self._with_frame(problem, state, frame)

    def interrupted(self, state):
        """Return a state without the window to come."""
        return replace(state, pending=(), outliers=(), point=None)

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
            known = np.linalg.qr(state.point_root.T, mode='r').T
            root[:t, : known.shape[1]] = known
            root[:t, t:] = state.point_slope @ state.root
        return Mixture(np.zeros(1), point[:, None], state.mean[:, None], root[None])

    # ------------------------------------------------------------------------ windows

    def _with_frame(self, problem, state, frame):
        """Return (state, report) with one more frame of the window to come."""
        state = replace(state, pending=(*state.pending, frame))
        if state.squares is None:
            return self._with_first_squares(problem, state)
        if _length(state.pending) < self._seconds(state) - 0.5 * _length((frame,)):
            return self._predicted(problem, state, frame), UpdateReport('filter')
        return self._with_window(problem, state)

    def _with_first_squares(self, problem, state, is_end=False):
        """
        Return (state, report) with the size of velocities and accelerations, once it is known.

        By the first second of motion, whose frames are then used; is_end: by less, since the
        motion ends.
        """
        frames = state.pending
        if _length(frames) < _OBSERVED and not is_end:
            return state, UpdateReport('batch')
        point = problem.first_state(frames)[0]
        if not problem.moves(point, frames):
            return replace(state, pending=frames[len(frames) // 2 :]), UpdateReport(
                'batch', events=(Happened.AT_REST,)
            )
        trajectory, nv = problem.first_trajectory(frames), problem.position_count
        state = replace(state, squares=_squares(trajectory[:, -nv:], frames), pending=())
        events = []
        for frame in frames:
            state, report = self.update(problem, state, frame)
            events += report.events
        if is_end:
            state, report = self._ended(problem, state)
            events += report.events
        return state, replace(report, events=tuple(events))

    def _ended(self, problem, state):
        """Return (state, report) at the end of a stretch: pending frames may do as a window."""
        if state.squares is None and _length(state.pending) > 2 * _SHORTEST:
            # A throw, or another short motion: all there is.
            state, report = self._with_first_squares(problem, state, is_end=True)
            return replace(state, pending=()), report
        if state.squares is None or _length(state.pending) < 0.5 * self._seconds(state):
            return replace(state, pending=()), UpdateReport('batch')
        return self._with_window(problem, state)

    def _seconds(self, state):
        """Return how long windows are [s]."""
        return self.seconds or _usual_length(state.squares)

    def _with_window(self, problem, state):
        """Return (state, report) with the window that has become complete."""
        frames, state = state.pending, replace(state, pending=())
        point, root = problem.first_state(frames)
        if not problem.moves(point, frames):
            slope = np.zeros((problem.tangent_size, len(state.mean)))
            state = replace(state, point=point, point_root=root, point_slope=slope)
            return state, UpdateReport('filter', events=(Happened.AT_REST,))
        unknown = problem.constant_efforts
        guess = point, np.zeros(len(unknown.places))
        how = state.mean, state.levels, unknown
        window = fit_window(problem, frames, guess, *how, noise=self.noise)
        if window is None:
            report = UpdateReport('filter', events=(Happened.UPDATE_REFUSED,))
            return replace(state, point=None), report
        velocities = window.trajectory[:, -problem.position_count :]
        squares = (1 - 1 / _SQUARES_OF) * state.squares + _squares(velocities, frames)
        end = {'point_root': window.end_root, 'point_slope': window.end_slope}
        state = replace(state, squares=squares, point=window.trajectory[-1], **end)
        if _sticks(problem, velocities):
            return state, UpdateReport('filter', events=(Happened.STICKS,))
        number = len(state.windows) + state.folded.number
        misfit, degrees = misfit_of(window, state.root) if number else (0.0, 0)
        stage = 'filter' if number >= _BEFORE else 'batch'
        report = UpdateReport(stage, misfit, degrees)
        if number < _BEFORE or not degrees:
            return self._fitted(problem, state, (window,), report)
        return self._tested(problem, state, window, misfit / degrees, report)

    def _tested(self, problem, state, window, misfit, report):
        """
        Return (state, report) with a window that may be an outlier, or of a changed robot.

        misfit: of the window, per degree of freedom.
        """
        total, number = state.misfits
        usual = max((total + _USUAL_BEFORE) / (number + _USUAL_BEFORE), 1.0)
        latest = (*state.latest, (misfit / usual, state.mean, state.root))[-_WINDOWS_OF_CHANGE:]
        state = replace(state, latest=latest)
        if sum(each > _MISFIT for each, _, _ in latest) >= _WINDOWS_OF_CHANGE - 1:
            return self._changed(problem, state, window, report)
        if misfit > usual * (_MISFIT if state.outliers else _ABSURD):
            report = replace(report, events=(Happened.WINDOW_MISFIT,))
            return replace(state, outliers=(*state.outliers, window)), report
        # An outlier says little of what is usual.
        more = np.array([min(misfit, _MISFIT * usual), 1.0])
        state = replace(state, misfits=(1 - 1 / _USUAL_OF) * state.misfits + more)
        # The windows that waited were outliers, since the robot has not changed.
        if state.outliers:
            report = replace(report, events=(Happened.OUTLIER,))
        return self._fitted(problem, replace(state, outliers=()), (window,), report)

    def _changed(self, problem, state, window, report):
        """Return (state, report) of a robot that has changed, with the likeliest cause."""
        # The change came during the first window that does not fit, which is left out.
        first = next(k for k, (misfit, _, _) in enumerate(state.latest) if misfit > _MISFIT)
        _, mean, root = state.latest[first]
        since = (*state.windows, *state.outliers, window)[first + 1 - len(state.latest) :]
        earlier, prior = isolate(problem, replace(state, mean=mean, root=root), since, self.noise)
        state = replace(
            state,
            outliers=(),
            windows=(),
            folded=FoldedWindows.none(prior[0]),
            mean=prior[0],
            root=prior[1],
            latest=(),
            prior=prior,
            model_before_change=earlier,
        )
        state, report = self._fitted(problem, state, since, report)
        events = (*report.events, Happened.CHANGED, Explained(earlier.name))
        return state, replace(report, events=events, changed=earlier.parameters)

    def _fitted(self, problem, state, windows, report):
        """Return (state, report) with more windows of the known robot, and its posterior."""
        state = replace(state, windows=(*state.windows, *windows))
        state = fit_windows(problem, state, self.windows, self.noise)
        number = len(state.windows) + state.folded.number
        # Of many windows only every eighth fit is reported.
        if number <= _BEFORE or number % _BEFORE == 0:
            report = replace(report, events=(*report.events, Happened.FITTED))
        return state, report

    @staticmethod
    def _predicted(problem, state, frame):
        """Return the state with the robot's state predicted through a frame."""
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
            point_root=by_state @ state.point_root,
            point_slope=by_state @ state.point_slope + by_parameters,
        )


def _sticks(problem, velocities):
    """Tell whether an actuated joint sticks for much of a window; velocities [H + 1, v]."""
    speeds = np.abs(velocities[:, problem.commanded_velocities])
    return bool(((speeds < _SLOW).mean(0) > _STICKS).any()) if speeds.size else False


def _squares(velocities, frames):
    """Return the mean squares [2, v] of velocities [H + 1, v] and accelerations over frames."""
    steps = np.array([frame.end_ns - frame.start_ns for frame in frames]) * _NANO
    accelerations = np.diff(velocities, axis=0) / steps[:, None]
    return np.stack([(velocities**2).mean(0), (accelerations**2).mean(0)])


def _usual_length(squares):
    """Return how long windows are [s], by sums of squared velocities and accelerations [2, v]."""
    velocities, accelerations = squares
    moves = velocities > 0.01 * velocities.max()
    rate = np.sqrt((accelerations[moves] / velocities[moves]).max())
    return float(np.clip(_CHANGES / rate, _SHORTEST, _LONGEST))


def _length(frames):
    """Return how long consecutive frames last [s]."""
    return (frames[-1].end_ns - frames[0].start_ns) * _NANO if frames else 0.0
