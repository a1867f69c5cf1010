"""
The calibrated estimator: a batch from many starts, then a bank of square-root filters.

A recursive filter that begins with a broad prior linearizes in the wrong places and never
recovers. So the first seconds are fitted as a whole, again and again while they grow, until the
posterior is narrow. Each mode then becomes a component of a Gaussian mixture, which an extended
Kalman filter in square-root form carries on, weighted by evidence (a Gaussian sum filter, Alspach
and Sorenson 1972). Every phase has one handler: `PHASES`.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial

from ...records import UpdateReport
from ...reported_events import Happened, SensorMoved, SensorRight
from ..batch.first_fits import filter_of, FirstFits
from ..changes.detection import ChangeDetector, has_passed, since
from ..changes.moved_sensors import relocate_sensor
from ..changes.pending import pending_change, PendingChange, resolve
from ..disturbances import bank
from ..drift import Drift, drifted
from ..filter.gating import with_samples
from ..filter.phases import AbstractPhase, BatchState, FilterState
from ..filter.update import filter_frame, filter_without_faulty
from ..misfits import LARGEST_DISTURBANCE
from ..noise import NormalNoise
from .base import AbstractEstimator

# Sizes of forces of unknown origin. Evidence tells factors of a third apart within seconds, and
# with half the true size intervals are too narrow.
_FORCES = (0.0, 0.01, 0.014, 0.02, 0.028, 0.04, 0.056, 0.08, 0.11, LARGEST_DISTURBANCE)
# Sizes of errors of the friction model, away from reversal. They may be coarser.
_FRICTION_ERRORS = (0.001, 0.003)
# Relative standard deviation of the mass matrix below which a filter goes on after a change.
_CHANGED = 0.1
# Where there are several sensors, a change is reported so long after its detection [s], unless it
# was a sensor that was faulty from at most so long before (a frozen sensor is off by little at
# first; mixtures from which to filter again are kept densely for no longer). Longer at low rates.
_WAITS, _SEEN = 0.06, 0.08
# The time before now in which it is asked whether a sensor was moved [s].
_ASKED_ABOUT = 0.33


class _RunningPhase(AbstractPhase):
    """A phase that follows the motion from frame to frame, until it is interrupted."""

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        if not problem.loses_sight(frame):
            return self.advance(problem, state, frame)
        known = BatchState.resuming(self.mixture_at(problem, state, frame), state.begun_ns)
        return FirstFits(self.settings).update(problem, known, frame)

    @abstractmethod
    def advance(self, problem, state, frame):
        """Return (state, `UpdateReport`) after a frame through which the motion is followed."""

    def mixture_at(self, problem, state, frame):
        """Return the mixture at the end of a frame in which the motion was interrupted."""
        return state.mixture


class FilterPhase(_RunningPhase):
    """The filter: every frame updates every component."""

    def advance(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        outcome = filter_frame(problem, state, frame, self.settings)
        report = outcome.report
        if outcome.step is None:
            # Not even the motion without samples can be computed: the state is unknown.
            return self.interrupted(state), report
        if outcome.is_changed:
            return self._changed(problem, state, outcome, report)
        after = state.after(outcome, frame.end_ns)
        due = next((each for each in outcome.faulty if each.is_due), None)
        if due is None:
            return after, report
        return self._relocated(problem, after, due, frame, report)

    def mixture_at(self, problem, state, frame):
        """Return the mixture with the drift of the parameters until the end of a frame."""
        if state.end_ns is None:
            return state.mixture
        drift = self.settings.drifts.since(state.begun_ns)
        return drifted(problem, state.mixture, drift, state.end_ns, frame.end_ns)

    def _changed(self, problem, state, outcome, report):
        """Return (state, `UpdateReport`) at the detection of a change."""
        if problem.has_unknown_inputs:
            events = (*report.events, Happened.CHANGED, Happened.FORGOTTEN)
            return self.settings.init(problem), replace(report, events=events)
        # Samples that were rejected just now may belong to the change.
        frames = with_samples([each.frame for each in outcome.recent], outcome.newly_rejected)
        recent = tuple(replace(each, frame=f) for each, f in zip(outcome.recent, frames))
        pending = pending_change(recent, state.earlier_models, state.begun_ns, outcome.detection)
        last = recent[since(recent, _SEEN) :]
        sensors = {s.sensor for each in last for s in each.frame.samples}
        if len(sensors) > 1 and not outcome.is_blind:
            # Some frames later it shows whether one of them is faulty.
            return replace(pending, is_reported=False, wrong=state.wrong), report
        return pending, replace(report, events=(*report.events, Happened.CHANGED))

    def _relocated(self, problem, state, faulty, frame, report):
        """Return (state, `UpdateReport`) after it was asked whether a sensor was moved."""
        others = tuple(each for each in state.wrong if each is not faulty)
        asked = replace(state, wrong=(*others, replace(faulty, asked=faulty.number)))
        if not state.recent:
            return asked, report
        recent = state.recent[since(state.recent, _ASKED_ABOUT) :]
        drift = self.settings.drifts.since(state.begun_ns)
        mixture = relocate_sensor(problem, recent, faulty, self.settings.noise, drift)
        if mixture is None:
            return asked, report
        more = {'detection': state.detection.begun_anew(was_nothing=False), 'share': state.share}
        more |= {'earlier_models': state.earlier_models, 'wrong': others}
        after = filter_of(problem, mixture, state.begun_ns, frame.end_ns, **more)
        event = (SensorRight if faulty.is_new else SensorMoved)(faulty.sensor)
        return after, replace(report, events=(*report.events, event))


class PendingPhase(_RunningPhase):
    """A pending change: frames are collected until it is known what has changed."""

    def advance(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        if state.is_reported:
            return self._isolated(problem, state, frame)
        state = replace(state, frames=(*state.frames, frame))
        detected_ns = state.recent[-1].frame.end_ns
        if not has_passed(_WAITS, detected_ns, frame.end_ns, len(state.frames)):
            return state, UpdateReport('batch')
        after = self._without_faulty(problem, state, frame)
        if after is not None:
            return after
        return replace(state, is_reported=True), UpdateReport('batch', events=(Happened.CHANGED,))

    def _without_faulty(self, problem, state, frame):
        """Return (state, report) of a filter where only a sensor was faulty, else None."""
        begin = since(state.recent, _SEEN)
        before, last = state.recent[:begin], state.recent[begin:]
        begun, begin_ns = state.begun_ns, last[0].frame.start_ns
        more = {
            'detection': state.noticed,
            'earlier_models': state.earlier_models,
            'recent': before,
        }
        known = filter_of(problem, last[0].mixture, begun, begin_ns, wrong=state.wrong, **more)
        frames = (*(each.frame for each in last), *state.frames)
        outcome = filter_without_faulty(problem, known, frames, self.settings)
        if outcome is None:
            return None
        step = outcome.step.pruned(self.settings.prune, self.settings.merge)
        outcome = replace(outcome, step=step)
        return known.after(outcome, frame.end_ns), outcome.report

    def _isolated(self, problem, state, frame):
        """Isolate the change; go on with what is still known, or begin again."""
        settings, begun, noticed = self.settings, state.begun_ns, state.noticed
        state, mixture, earlier_models, report = resolve(
            problem,
            state,
            frame,
            settings.noise,
            settings.drifts.since(begun),
            settings.bank,
            partial(FirstFits(settings).is_narrow, problem, limit=_CHANGED),
        )
        if state is not None:
            return state, report
        if mixture is None:
            return settings.init(problem), report
        if Happened.MOTION_LOST in report.events:
            return BatchState.resuming(mixture, begun), report
        detection = noticed.begun_anew(was_nothing=not report.changed)
        more = {'detection': detection, 'earlier_models': earlier_models}
        return filter_of(problem, mixture, begun, frame.end_ns, **more), report


# The handler of each state.
PHASES = {BatchState: FirstFits, FilterState: FilterPhase, PendingChange: PendingPhase}


@dataclass(frozen=True)
class GaussianSum(AbstractEstimator):
    """
    See the module.

    starts: of the batch; horizons: frame counts at which the growing batch is fitted, then growing
    by a quarter (counts, since what a fit costs and can tell goes by them); handover: relative
    standard deviation of the mass matrix below which the filter takes over (a larger one with
    disturbances), if the effective share of the batch's mixture is at least `share`, or has not
    grown since the last fit, or the batch has `longest` frames; noise: of the residuals; prune,
    merge: weight and squared distance below which components are pruned and merged; detector: of
    changes; disturbances: sizes of forces of unknown origin, 0: none, in the problem's units;
    friction_errors: of errors of the friction model; drift: relative standard deviation by which
    parameters change in an hour, see `Drift`, which bounds how narrow a posterior gets;
    drift_of_dissipation: of damping and friction; drift_of_efforts: of all efforts at once;
    drift_of_clocks: of the sensors' clocks [s in 1 s]; lag: frames of the fixed-lag smoother where
    joints are prescribed, two at most where disturbances act; shooting: number of parameters up to
    which the first fits are single shooting, else smoother fits; seed: of all draws.
    """

    starts: int = 8
    horizons: tuple = (12, 25, 50, 75, 100)
    handover: float = 0.02
    share: float = 0.9
    longest: int = 1000
    noise: object = field(default_factory=NormalNoise)
    prune: float = 1e-6
    merge: float = 0.5
    detector: ChangeDetector = field(default_factory=ChangeDetector)
    disturbances: tuple = _FORCES
    friction_errors: tuple = _FRICTION_ERRORS
    drift: float = 1e-3
    drift_of_dissipation: float = 5e-3
    drift_of_efforts: float = 1e-2
    drift_of_clocks: float = 5e-5
    lag: int = 10
    shooting: int = 16
    seed: int = 0

    name = 'gaussian_sum'
    learns_noise = True

    @property
    def bank(self):
        """The `Disturbance`s that are weighed by evidence."""
        return bank(self.disturbances, self.friction_errors)

    @property
    def drifts(self):
        """The `Drift` of the parameters."""
        others = self.drift_of_dissipation, self.drift_of_efforts, self.drift_of_clocks
        return Drift(self.drift, *others)

    def init(self, problem):
        """Return the state before any data."""
        return BatchState(due=self.horizons[0])

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        of = problem.augmented if state.is_augmented else problem
        after, report = self._phase(state).update(of, state, frame)
        return _of_the_same(state, after), report

    def interrupted(self, state):
        """Return a state without the latest samples, which knows the parameters."""
        return _of_the_same(state, self._phase(state).interrupted(state))

    def kept_frames(self, state):
        """Return the frames of the batch; a filter keeps none."""
        return self._phase(state).kept_frames(state)

    def with_frames(self, state, frames):
        """Return the state with other frames in its batch."""
        return self._phase(state).with_frames(state, frames)

    def mixture(self, problem, state):
        """Return the posterior; before the first fit, the prior at the neutral state."""
        if not state.is_augmented:
            return self._phase(state).mixture(problem, state)
        return problem.marginal(self._phase(state).mixture(problem.augmented, state))

    def model_before_change(self, state):
        """Return the `EarlierModel` before the last change of the problem itself, or None."""
        return None if state.is_augmented else super().model_before_change(state)

    def _phase(self, state):
        """Return the handler of a state."""
        return PHASES[type(state)](self)


def _of_the_same(before, after):
    """Return the state after another, of the augmented problem if that one is."""
    return replace(after, is_augmented=True) if before.is_augmented else after
