"""
The calibrated estimator: a batch from many starts, then a bank of square-root filters.

A recursive filter that begins with a broad prior linearises in the wrong places and never
recovers from it. So the first seconds are fitted as a whole, again and again while they grow,
until the posterior is narrow. Each mode found then becomes a component of a Gaussian mixture
that an extended Kalman filter in square-root form carries on, weighted by evidence.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ...records import Status, UpdateReport
from ..batch.first_fits import filter_of, FirstFits
from ..changes.detection import ChangeDetector
from ..changes.pending import MOTION_LOST, pending_change, PendingChange, remembered, resolve
from ..changes.wrong_sensors import (
    believed,
    found_anew,
    off_sensors,
    with_samples,
    without,
    wrong_of,
)
from ..drift import Drift, drifted
from ..filter.fixed_lag import begun as lag_begun
from ..filter.fixed_lag import fixed_lag_update
from ..filter.phases import AugmentedState, BatchState, FilterState
from ..filter.update import measurement_update
from ..misfits import LARGEST_DISTURBANCE
from ..mixture import Mixture
from ..robust import NormalNoise
from .base import AbstractEstimator

# Part of a batch that may lack efforts.
_MISSING = 0.2
# A push leaves velocities less known than those at which friction turns round: a filter of a
# disturbed robot knows only so many frames later how that went.
_LAG_OF_DISTURBED = 2
# Evidence tells disturbances of a third more or less apart within seconds, and beside one of half
# the size that pushes the robot intervals are too narrow. Those of friction need not be as close.
_BANK = (0.0, 0.001, 0.003, 0.01, 0.014, 0.02, 0.028, 0.04, 0.056, 0.08, 0.11, LARGEST_DISTURBANCE)
# Spread of the mass matrix at which a filter goes on where little but one jump is not known.
_CHANGED = 0.1
# A sensor of which so many samples were left out may be off because the robot has changed.
_NEW = 2
# Where there are several sensors a change is told so many frames after it was noticed, if it was
# none of a sensor that was wrong from up to so many frames before. What is frozen is off by little
# at first; of no frame farther back is every state known.
_WAITS, _SEEN = 6, 8
# So many frames tell whether a sensor was moved.
_ASKED_ABOUT = 32


@dataclass(frozen=True)
class _Outcome:
    """
    What a frame has told a filter.

    step: `Step`, None where it cannot be computed; past: `Past`s; memory: of the detector; events;
    wrong: `Wrong` sensors; left_out: as of an `UpdateReport`.
    """

    step: object
    past: tuple
    memory: object
    events: tuple
    wrong: tuple
    left_out: tuple


@dataclass(frozen=True)
class GaussianSum(AbstractEstimator):
    """
    See the module.

    starts: of the batch; horizons: frame counts at which the growing batch is fitted, then
    growing by a quarter; handover: relative standard deviation of the mass matrix below which the
    filter takes over, a larger one where there are disturbances, if besides the batch's mixture
    stands for the posterior by a `share`, or no better than after the fit before, or the batch has
    grown to `longest` frames; noise: of the residuals; prune, merge: weight and squared distance
    below which components go; detector: of changes; disturbances: standard deviations the filter
    reckons with, in the problem's units;
    drift: relative standard deviation by which parameters wander off in an hour, see `Drift`:
    below what that implies no posterior narrows; drift_of_dissipation: the same
    of damping and friction, drift_of_efforts: of all efforts at once; drift_of_clocks: by how many
    seconds the clocks of sensors go wrong in one; refinement: iterations of
    the variational fit where Laplace's mixture falls short of the `share`; lag: so many frames a
    filter looks back where joints are driven, two at most where disturbances push; shooting: of
    so many parameters at most the first fits follow the motion from its beginning, of more they
    leave every state free; seed: of all draws.
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
    disturbances: tuple = _BANK
    drift: float = 1e-3
    drift_of_dissipation: float = 5e-3
    drift_of_efforts: float = 1e-2
    drift_of_clocks: float = 5e-5
    refinement: int = 0
    lag: int = 10
    shooting: int = 16
    seed: int = 0

    name = 'gaussian_sum'
    learns_noise = True

    @property
    def drifts(self):
        """How parameters drift."""
        others = self.drift_of_dissipation, self.drift_of_efforts, self.drift_of_clocks
        return Drift(self.drift, *others)

    def init(self, problem):
        """Return the state before any data."""
        return BatchState(due=self.horizons[0])

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        if isinstance(state, AugmentedState):
            inner, report = self.update(problem.augmented, state.state, frame)
            return AugmentedState(inner), report
        if not isinstance(state, BatchState):
            if not problem.loses_sight(frame):
                go_on = self._filter if isinstance(state, FilterState) else self._resolve_change
                return go_on(problem, state, frame)
            known = self._drifted_until(problem, state, frame)
            state = BatchState(mixture=known, knowledge=known, begun_ns=state.begun_ns)
        if frame.after_gap:
            # A fit follows the motion without a break.
            state = state.emptied()
        state = replace(state, frames=(*state.frames, frame))
        is_known = problem.knows_inputs(frame)
        events = () if is_known else ('efforts unknown',)
        if not is_known and self._is_blind(problem, state.frames):
            return state.emptied(), UpdateReport('batch', events=events)
        if len(state.frames) < max(state.due, self.horizons[0]):
            return state, UpdateReport('batch', events=events)
        fits = FirstFits(self)
        go_on = fits.fit if state.knowledge is None else fits.resume
        state, report = go_on(problem, state)
        return state, replace(report, events=(*events, *report.events))

    def _is_blind(self, problem, frames):
        """Tell whether the last of these frames lacks efforts for too long, or one of too many."""
        missing = sum(not problem.knows_inputs(frame) for frame in frames)
        return missing > _MISSING * len(frames) or problem.loses_sight(frames[-1])

    def interrupted(self, state):
        """Return a batch without frames: as after a gap, the state is found anew."""
        if isinstance(state, AugmentedState):
            return AugmentedState(self.interrupted(state.state))
        if isinstance(state, BatchState):
            return replace(state.emptied(), due=self.horizons[0])
        known = state.mixture
        return BatchState(mixture=known, knowledge=known, begun_ns=state.begun_ns)

    def kept_frames(self, state):
        """Return the frames of the batch; the filter keeps none."""
        if isinstance(state, AugmentedState):
            return self.kept_frames(state.state)
        return state.frames if isinstance(state, BatchState) else ()

    def with_frames(self, state, frames):
        """Return a batch of these frames; what was fitted to them is where the next fit begins."""
        if isinstance(state, AugmentedState):
            return AugmentedState(self.with_frames(state.state, frames))
        # Trajectories are of the frames as they were.
        return (
            replace(state, frames=frames, trajectories=None)
            if isinstance(state, BatchState)
            else state
        )

    def mixture(self, problem, state):
        """
        Return the posterior; before the first fit, the prior at the neutral state.

        It is augmented than what a filter goes on with by what disturbances leave for good.
        """
        if isinstance(state, AugmentedState):
            return problem.marginal(self.mixture(problem.augmented, state.state))
        if state.mixture is not None:
            if not state.mixture.scales.any():
                return state.mixture
            return replace(state.mixture, lasting=problem.lasting_root)
        size, prior = problem.tangent_size, problem.prior
        root = np.zeros((1, size + len(prior.mean), size + len(prior.mean)))
        root[0, size:, size:] = prior.root
        neutral, mean = problem.neutral[:, None], prior.mean[:, None]
        return Mixture(np.zeros(1), neutral, mean, root, noises=problem.noise_prior)

    def _drifted_until(self, problem, state, frame):
        """Return the mixture of a filter at the end of a gap."""
        if isinstance(state, PendingChange) or state.end_ns is None:
            return state.mixture
        drifts = self.drifts.since(state.begun_ns)
        return drifted(problem, state.mixture, drifts, state.end_ns, frame.end_ns)

    def _filter(self, problem, state, frame):
        """Take one frame into every component; begin again where the robot has changed."""
        told = self._taken(problem, state, frame)
        if told.step is None:
            state = replace(state, wrong=told.wrong)
            return state, UpdateReport('filter', events=told.events, left_out=told.left_out)
        if self.detector.has_changed(told.memory, self.noise.expects_outliers):
            told = self._in_hindsight(problem, state, told) or told
        step, past, memory, events = told.step, told.past, told.memory, told.events
        report = UpdateReport('filter', step.misfit, step.rows, events, left_out=told.left_out)
        # What was left out just now may be the beginning of a change.
        new = [each for each in told.wrong if each.number <= _NEW or each.is_blind]
        new = [each for each in new if not each.is_new]
        is_lost = any(each.is_blind for each in told.wrong)
        if is_lost or self.detector.has_changed(memory, self.noise.expects_outliers):
            if problem.is_driven:
                return self.init(problem), replace(
                    report, events=(*events, 'changed', 'forgotten')
                )
            frames = with_samples([each.frame for each in past], new)
            past = tuple(replace(each, frame=f) for each, f in zip(past, frames))
            pending = pending_change(past, state.memories, state.begun_ns, memory)
            sensors = {s.sensor for each in past[-_SEEN:] for s in each.frame.samples}
            if len(sensors) > 1 and not is_lost:
                # Some frames later it shows whether one of them is wrong.
                return replace(pending, is_told=False, wrong=state.wrong), report
            return pending, replace(report, events=(*events, 'changed'))
        step, known = step.tidied(self.prune, self.merge), (past, state.memories, told.wrong)
        stamps = state.begun_ns, frame.end_ns
        after = FilterState(step.mixture, memory, state.share, *stamps, step.lag, *known)
        due = next((each for each in told.wrong if each.is_due), None)
        if due is None:
            return after, report
        return self._asked_about(problem, after, due, frame, report)

    def _taken(self, problem, state, frame):
        """
        Return what a frame has `_Outcome`, without the samples of sensors that are wrong.

        Where its samples make no sense, or one of them seems to be an outlier, the motion goes on
        without them. In case it was the beginning of a change, the past has them all the same.
        """
        whole, memory, events = frame, state.memory, ()
        frame, wrong = believed(problem, state.mixture, state.wrong, frame)
        events += tuple(
            f'sensor right: {each.sensor}'
            for each in state.wrong
            if each.number > 1 and each.sensor not in {other.sensor for other in wrong}
        )
        told, word = self._step(problem, state, frame), Status.OUTLIER
        if told is None:
            word = Status.UPDATE_REFUSED
        if told is None or self.detector.is_far_off(told.misfit, told.rows):
            off = off_sensors(problem, state.mixture, (frame,))
            if off:
                wrong = (*wrong, *wrong_of(frame, off))
                frame, events = without(frame, off), (*events, word.value)
                told = self._step(problem, state, frame)
        before = {each.sensor: each.number for each in state.wrong}
        events += tuple(
            f'sensor wrong: {each.sensor}'
            for each in wrong
            if each.number >= 2 > before.get(each.sensor, 0) and not each.is_new
        )
        # Of the first sample nobody knows yet what it belongs to.
        first = {each.sensor: word for each in wrong if each.number == 1}
        left_out = _left_out(whole, frame, first)
        step, bare = told, replace(frame, samples=())
        is_outlier = told is not None and self._is_outlier(problem, memory, told, frame)
        if told is None:
            frame, events, left_out = bare, (*events, Status.UPDATE_REFUSED.value), ()
            step = told = self._step(problem, state, bare)
        elif is_outlier:
            events, left_out = (*events, Status.OUTLIER.value), ()
            step = self._step(problem, state, bare)
        if step is None:
            return _Outcome(None, (), memory, events, wrong, left_out)
        if is_outlier:
            memory = self.detector.pass_over(memory)
        else:
            fit = step.misfit, step.rows, step.surprises, step.pull
            memory = self.detector.remember(memory, *fit)
        past = remembered(state.past, frame, state.mixture, told.log_evidence)
        return _Outcome(step, past, memory, events, wrong, left_out)

    def _in_hindsight(self, problem, state, told):
        """
        Return what the last frames have `_Outcome` if a sensor is wrong that was believed in them.

        None where none is, or what the others tell is no better.
        """
        past, recent = told.past[: -self.detector.frames], told.past[-self.detector.frames :]
        if not recent or recent[0].mixture is None:
            return None
        frames = tuple(each.frame for each in recent)
        known = FilterState(recent[0].mixture, state.memory, begun_ns=state.begun_ns, past=past)
        if state.lag is not None:
            known = replace(known, lag=lag_begun(known.mixture))
        found = self._without_wrong(problem, replace(known, wrong=told.wrong), frames)
        if found is None:
            return None
        left_out = (*told.left_out, *found.left_out)
        return replace(found, events=(*told.events, *found.events), left_out=left_out)

    def _without_wrong(self, problem, state, frames):
        """
        Return what frames have `_Outcome` a filter without sensors that are wrong, not what it
        knew.

        None where no sensor is, none is left, or what the others tell is a change as well.
        """
        off = off_sensors(problem, state.mixture, frames)
        if not off or not any(without(frame, off).samples for frame in frames):
            return None
        memory, past, wrong, step = replace(state.memory, recent=()), state.past, state.wrong, None
        for whole in frames:
            wrong, frame = wrong_of(whole, off, wrong), without(whole, off)
            step = self._step(problem, state, frame)
            if step is None:
                return None
            fit = step.misfit, step.rows, step.surprises, step.pull
            memory = self.detector.remember(memory, *fit)
            if self.detector.has_changed(memory, self.noise.expects_outliers):
                return None
            past = remembered(past, frame, state.mixture, step.log_evidence)
            state = replace(state, mixture=step.mixture, lag=step.lag)
        more = Counter(s.sensor for frame in frames for s in frame.samples if s.sensor in off)
        left_out = tuple(
            (name, Status.SENSOR_WRONG.value, number) for name, number in more.items()
        )
        events = tuple(f'sensor wrong: {name}' for name in off)
        return _Outcome(step, past, memory, events, wrong, left_out)

    def _believed_again(self, problem, state, frame):
        """Return (state, report) of a robot of which only a sensor is wrong, else None."""
        past, recent = state.past[:-_SEEN], state.past[-_SEEN:]
        if not recent or recent[0].mixture is None:
            return None
        begun, begin_ns = state.begun_ns, recent[0].frame.start_ns
        more = {'memory': state.noticed, 'memories': state.memories, 'past': past}
        known = filter_of(problem, recent[0].mixture, begun, begin_ns, wrong=state.wrong, **more)
        frames = (*(each.frame for each in recent), *state.frames)
        told = self._without_wrong(problem, known, frames)
        if told is None:
            return None
        step = told.step.tidied(self.prune, self.merge)
        parts = {'mixture': step.mixture, 'lag': step.lag, 'memory': told.memory}
        after = replace(known, end_ns=frame.end_ns, past=told.past, wrong=told.wrong, **parts)
        report = UpdateReport('filter', step.misfit, step.rows, told.events)
        return after, replace(report, left_out=told.left_out)

    def _asked_about(self, problem, state, wrong, frame, report):
        """Return (state, report) after it was asked where a sensor is, and how late."""
        others = tuple(each for each in state.wrong if each is not wrong)
        asked = replace(state, wrong=(*others, replace(wrong, asked=wrong.number)))
        known = [k for k, each in enumerate(state.past[:-_ASKED_ABOUT]) if each.mixture]
        past = state.past[known[-1] if known else 0 :]
        drifts = self.drifts.since(state.begun_ns)
        mixture = found_anew(problem, past, wrong, self.noise, drifts) if past else None
        if mixture is None:
            return asked, report
        more = {'memory': state.memory.begun_anew(was_nothing=False), 'share': state.share}
        more |= {'memories': state.memories, 'wrong': others}
        after = filter_of(problem, mixture, state.begun_ns, frame.end_ns, **more)
        word = 'sensor right' if wrong.is_new else 'sensor moved'
        return after, replace(report, events=(*report.events, f'{word}: {wrong.sensor}'))

    def _is_outlier(self, problem, memory, step, frame):
        """Tell whether a frame fits as badly as only a bad sample does, where none is expected."""
        if self.noise.expects_outliers or not step.surprises:
            return False
        samples = problem.row_samples(frame)
        bad = len(np.unique(samples[step.surprising[: len(samples)]]))
        return self.detector.is_outlier(memory, step.misfit, step.rows, bad)

    def _step(self, problem, state, frame):
        """Return what a frame did to a filter, None where its numbers are not finite."""
        drifts = self.drifts.since(state.begun_ns)
        if state.lag is None:
            return measurement_update(problem, state.mixture, frame, self.noise, drifts)
        depth = self.lag if problem.is_driven else min(self.lag, _LAG_OF_DISTURBED)
        return fixed_lag_update(problem, state.lag, frame, self.noise, depth, drifts)

    def _resolve_change(self, problem, state, frame):
        """Ask what has changed; go on with what is still known, or begin again."""
        if not state.is_told:
            state = replace(state, frames=(*state.frames, frame))
            if len(state.frames) < _WAITS:
                return state, UpdateReport('batch')
            found = self._believed_again(problem, state, frame)
            return found or (
                replace(state, is_told=True),
                UpdateReport('batch', events=('changed',)),
            )
        begun, noticed = state.begun_ns, state.noticed
        state, mixture, memories, report = resolve(
            problem,
            state,
            frame,
            self.noise,
            self.drifts.since(begun),
            self.disturbances,
            partial(FirstFits(self).is_narrow, problem, limit=_CHANGED),
        )
        if state is not None:
            return state, report
        if mixture is None:
            return self.init(problem), report
        if MOTION_LOST in report.events:
            return BatchState(mixture=mixture, knowledge=mixture, begun_ns=begun), report
        memory = noticed.begun_anew(was_nothing=not report.changed)
        more = {'memory': memory, 'memories': memories}
        return filter_of(problem, mixture, begun, frame.end_ns, **more), report


def _left_out(whole, frame, first):
    """
    Return what of a whole frame is not in a frame any more, as of an `UpdateReport`.

    first: sensor -> `Status` of its samples, where nothing else of it was left out.
    """
    found = Counter(sample.sensor for sample in whole.samples)
    found.subtract(sample.sensor for sample in frame.samples)
    return tuple(
        (name, first.get(name, Status.SENSOR_WRONG).value, number)
        for name, number in found.items()
        if number
    )
