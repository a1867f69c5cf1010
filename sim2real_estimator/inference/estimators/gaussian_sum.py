"""
The calibrated estimator: a batch from many starts, then a bank of square-root filters.

A recursive filter that begins with a broad prior linearises in the wrong places and never
recovers from it. So the first seconds are fitted as a whole, again and again while they grow,
until the posterior is narrow. Each mode found then becomes a component of a Gaussian mixture
that an extended Kalman filter in square-root form carries on, weighted by evidence.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ...records import Status, UpdateReport
from ..changes import ChangeDetector
from ..drift import Drift, drifted
from ..filtering import take_frame
from ..first_fits import filter_of, FirstFits
from ..lagging import take_frame_lagging
from ..mixture import Mixture
from ..phases import BatchState, DoubtingState, FilterState
from ..robust import NormalNoise
from ..suspicion import look_into, remembered, suspect, SuspectState
from .base import AbstractEstimator

# Part of a batch that may lack efforts.
_MISSING = 0.2
# A push leaves velocities less known than those at which friction turns round: a filter of a
# disturbed robot knows only so many frames later how that went.
_LAG_OF_DISTURBED = 2
# Evidence tells disturbances of a third more or less apart within seconds, and beside one of half
# the size that pushes the robot intervals are too narrow. Those of friction need not be as close.
_BANK = (0.0, 0.001, 0.003, 0.01, 0.014, 0.02, 0.028, 0.04, 0.056, 0.08, 0.11, 0.3)
# Spread of the mass matrix at which a filter goes on where little but one jump is not known.
_CHANGED = 0.1


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
    below what that implies no posterior narrows; drift_of_losses: the same
    of damping and friction, drift_of_efforts: of all efforts at once; refinement: iterations of
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
    drift_of_losses: float = 5e-3
    drift_of_efforts: float = 1e-2
    refinement: int = 0
    lag: int = 10
    shooting: int = 16
    seed: int = 0

    name = 'gaussian_sum'
    learns_noise = True

    @property
    def drifts(self):
        """How parameters drift."""
        return Drift(self.drift, self.drift_of_losses, self.drift_of_efforts)

    def init(self, problem):
        """Return the state before any data."""
        return BatchState(due=self.horizons[0])

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        if isinstance(state, DoubtingState):
            inner, report = self.update(problem.wider, state.state, frame)
            return DoubtingState(inner), report
        if not isinstance(state, BatchState):
            if not problem.loses_sight(frame):
                go_on = self._filter if isinstance(state, FilterState) else self._look_into
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

    def kept_frames(self, state):
        """Return the frames of the batch; the filter keeps none."""
        if isinstance(state, DoubtingState):
            return self.kept_frames(state.state)
        return state.frames if isinstance(state, BatchState) else ()

    def with_frames(self, state, frames):
        """Return a batch of these frames; what was fitted to them is where the next fit begins."""
        if isinstance(state, DoubtingState):
            return DoubtingState(self.with_frames(state.state, frames))
        # Courses are of the frames as they were.
        return (
            replace(state, frames=frames, courses=None) if isinstance(state, BatchState) else state
        )

    def mixture(self, problem, state):
        """
        Return the posterior; before the first fit, the prior at the neutral state.

        It is wider than what a filter goes on with by what disturbances leave for good.
        """
        if isinstance(state, DoubtingState):
            return problem.narrowed(self.mixture(problem.wider, state.state))
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
        if isinstance(state, SuspectState) or state.end_ns is None:
            return state.mixture
        drifts = self.drifts.since(state.begun_ns)
        return drifted(problem, state.mixture, drifts, state.end_ns, frame.end_ns)

    def _filter(self, problem, state, frame):
        """Take one frame into every component; begin again where the robot has changed."""
        step, past, memory, events = self._taken(problem, state, frame)
        if step is None:
            return state, UpdateReport('filter', events=events)
        report = UpdateReport('filter', step.misfit, step.rows, events=events)
        may_ask = not problem.is_driven
        if not may_ask:
            past = ()
        if self.detector.has_changed(memory, self.noise.expects_outliers):
            events += ('changed',)
            if not may_ask:
                return self.init(problem), replace(report, events=(*events, 'forgotten'))
            suspected = suspect(past, state.memories, state.begun_ns, memory)
            return suspected, replace(report, events=events)
        step, known = step.tidied(self.prune, self.merge), (past, state.memories)
        stamps = state.begun_ns, frame.end_ns
        return FilterState(step.mixture, memory, state.share, *stamps, step.lag, *known), report

    def _taken(self, problem, state, frame):
        """
        Return (`Step` of a frame or None, `Past`s, memory of the detector, events).

        Where its samples make no sense, or one of them seems to be an outlier, the motion goes on
        without them. In case it was the beginning of a change, the past has them all the same.
        """
        told, memory = self._step(problem, state, frame), state.memory
        step, without, events = told, replace(frame, samples=()), ()
        is_outlier = told is not None and self._is_outlier(problem, memory, told, frame)
        if told is None:
            frame, events = without, (Status.UPDATE_REFUSED.value,)
            step = told = self._step(problem, state, without)
        elif is_outlier:
            events, step = (Status.OUTLIER.value,), self._step(problem, state, without)
        if step is None:
            return None, (), memory, events
        if is_outlier:
            memory = self.detector.pass_over(memory)
        else:
            fit = step.misfit, step.rows, step.surprises, step.pull
            memory = self.detector.remember(memory, *fit)
        past = remembered(state.past, frame, state.mixture, told.log_evidence)
        return step, past, memory, events

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
            return take_frame(problem, state.mixture, frame, self.noise, drifts)
        depth = self.lag if problem.is_driven else min(self.lag, _LAG_OF_DISTURBED)
        return take_frame_lagging(problem, state.lag, frame, self.noise, depth, drifts)

    def _look_into(self, problem, state, frame):
        """Ask what has changed; go on with what is still known, or begin again."""
        begun, noticed = state.begun_ns, state.noticed
        state, mixture, memories, report = look_into(
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
        memory = noticed.begun_anew(was_nothing=not report.changed)
        more = {'memory': memory, 'memories': memories}
        return filter_of(problem, mixture, begun, frame.end_ns, **more), report
