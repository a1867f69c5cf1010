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
from ..batch import Objective, Window
from ..changes import ChangeDetector
from ..disturbances import neighbours, spread_over_bank
from ..doubting import doubted, DOUBTS, fit_doubting
from ..drift import Drift, drifted
from ..filtering import survivors, take_frame
from ..gaussian import log_normalized
from ..lagging import begun, take_frame_lagging
from ..laplace import mixture_at_end
from ..mixture import Mixture
from ..phases import BatchState, DoubtingState, FilterState
from ..refinement import refine
from ..resuming import refit
from ..robust import NormalNoise
from ..smoothed_fits import courses_to_begin, fit_smoothly, resume_smoothly
from ..starts import cover_prior, is_covered, shoot_again
from ..suspicion import look_into, remembered, suspect, SuspectState
from .base import AbstractEstimator

# Components of less weight do not count: they do not delay the hand-over.
_NOTABLE = 0.01
# Part of a batch that may lack efforts.
_MISSING = 0.2
# A push leaves velocities less known than those at which friction turns round: a filter of a
# disturbed robot knows only so many frames later how that went.
_LAG_OF_DISTURBED = 2
# Spread of the mass matrix at which a filter goes on where little but one jump is not known.
_CHANGED = 0.1
# By which factor a batch grows from fit to fit beyond the given horizons.
_GROWTH = 1.25


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
    drift: relative standard deviation by which parameters wander off in an hour, growing with
    the root of the time: below what that implies no posterior narrows; drift_of_losses: the same
    of damping and friction; refinement: iterations of
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
    disturbances: tuple = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
    drift: float = 1e-3
    drift_of_losses: float = 5e-3
    refinement: int = 0
    lag: int = 10
    shooting: int = 16
    seed: int = 0

    name = 'gaussian_sum'
    learns_noise = True

    @property
    def _drift(self):
        return Drift(self.drift, self.drift_of_losses)

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
            state = BatchState(mixture=known, knowledge=known)
        if frame.after_gap:
            # A fit follows the motion without a break.
            state = BatchState((), mixture=state.mixture, knowledge=state.knowledge)
        state = replace(state, frames=(*state.frames, frame))
        is_known = problem.knows_inputs(frame)
        events = () if is_known else ('efforts unknown',)
        if not is_known and self._is_blind(problem, state.frames):
            state = BatchState((), mixture=state.mixture, knowledge=state.knowledge)
            return state, UpdateReport('batch', events=events)
        if len(state.frames) < max(state.due, self.horizons[0]):
            return state, UpdateReport('batch', events=events)
        go_on = self._fit if state.knowledge is None else self._resume
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

    def _fit(self, problem, state):
        """Fit the frames so far; hand over where the posterior is narrow and well described."""
        count = len(state.frames)
        due = self._next_horizon(count)
        window = state.window or Window((), *problem.first_state(state.frames))
        window = replace(window, frames=state.frames)
        if not problem.moves(window.point, window.frames):
            # A fit would take noise for motion, and learn from it.
            state = BatchState(state.frames, due=due)
            return self._bounded(state), UpdateReport('batch', events=('at rest',))
        state, generator = replace(state, due=due), np.random.default_rng([self.seed, count])
        if state.courses is not None or self._needs_smoothing(problem, window.frames):
            return self._fit_smoothly(problem, state, window, generator)
        return self._shoot(problem, state, window, generator)

    def _shoot(self, problem, state, window, generator):
        """Fit frames whose motion is followed from its beginning."""
        objective = Objective(problem, window, self.noise)
        draws = cover_prior(problem, self.starts, generator, state.mixture)
        limits, is_free = (self.merge, self.prune), is_covered(problem, state.mixture)
        shots = shoot_again(objective, state.fits, draws, limits, is_free)
        if not len(shots.kept.costs):
            return self._bounded(state), UpdateReport('batch', events=('update refused',))
        if problem.disturbance_size and not objective.is_explained_by(shots.kept):
            # Something is wrong that is held fixed, or something else moves the robot besides:
            # what is found without is wrong, and sure.
            found = self._doubted(problem, state, objective, shots.kept, generator)
            return found or self._fit_smoothly(problem, state, window, generator)
        mixture, share, is_narrow = self._described(objective, shots.kept, generator)
        if is_narrow and not state.share:
            # Before a filter begins all starts have looked for other answers.
            shots, before = shots.all_over(objective, limits), shots
            if shots.differ(before):
                mixture, share, is_narrow = self._described(objective, shots.kept, generator)
        state = replace(state, fits=shots.fits, window=window, mixture=mixture)
        if not is_narrow:
            return self._bounded(state), UpdateReport('batch', events=('fitted',))
        # Where motion is chaotic, a longer batch is worse described, not better.
        if state.share < share < self.share and len(window.frames) < self.longest:
            return replace(state, share=share), UpdateReport(
                'batch', events=('fitted', 'not yet Gaussian')
            )
        mixture = spread_over_bank(problem, mixture, self.disturbances)
        state = FilterState(mixture, share=share, end_ns=window.frames[-1].end_ns)
        return state, UpdateReport('batch', events=('handed over',))

    def _doubted(self, problem, state, objective, kept, generator):
        """
        Return (state, report) with what is held fixed among the unknowns.

        None where that explains the frames no better than noise allows, either.
        """
        wider = problem.wider
        if wider is None or len(wider.labels) > self.shooting:
            return None
        window = objective.window
        fits = fit_doubting(Objective(wider, window, self.noise), problem, kept, self, generator)
        if fits is None:
            return None
        inner, report = self._fit(wider, BatchState(state.frames, fits, window))
        said = f'{DOUBTS}{", ".join(doubted(wider, problem, fits))}'
        return DoubtingState(inner), replace(report, events=(*report.events, said))

    def _fit_smoothly(self, problem, state, window, generator):
        """Fit frames of a robot that is driven by what nobody knows, if only now and then."""
        starts = cover_prior(problem, self.starts, generator, state.mixture)
        begins = courses_to_begin(
            problem, window, starts, self.noise, state.mixture, state.courses
        )
        first, near = None, self.disturbances
        if problem.disturbance_size and state.courses:
            first = state.mixture.scales[state.mixture.heaviest()]
            near = neighbours(near, state.mixture)
        mixture, courses, fits = self._smoothed(problem, window, begins, near, first)
        if mixture is None:
            return self._bounded(state), UpdateReport('batch', events=('update refused',))
        state = replace(state, mixture=mixture, courses=courses)
        # What so many frames have not told, as an inertia next to much friction, none will soon.
        is_long = len(window.frames) >= self.longest
        if not (fits and (is_long or self._is_narrow(problem, mixture))):
            return self._bounded(state), UpdateReport('batch', events=('fitted',))
        if len(near) < len(self.disturbances):
            # What may disturb the robot later is reckoned with as well.
            first = mixture.scales[mixture.heaviest()]
            begins = courses.pick([mixture.heaviest()])
            wider = self._smoothed(problem, window, begins, self.disturbances, first)[0]
            mixture = mixture if wider is None else wider
        return self._filter_from(problem, window, mixture, 'handed over')

    @staticmethod
    def _filter_from(problem, window, mixture, event):
        """Return the filter that goes on with a mixture at a window's end, and the report."""
        state = _filter_of(problem, mixture, window.frames[-1].end_ns)
        return state, UpdateReport('batch', events=(event,))

    def _smoothed(self, problem, window, begins, scales, first):
        """Return (mixture of a window or None, its `Courses`, whether they fit the window)."""
        mixture, courses, fits = fit_smoothly(
            problem, window, begins, self.noise, scales, first, self._drift, self.merge
        )
        if mixture is None:
            return None, None, False
        kept, log_weights = survivors(mixture, self.prune, self.merge)
        return replace(mixture, log_weights=log_weights).pick(kept), courses.pick(kept), fits

    def _needs_smoothing(self, problem, frames):
        """Tell whether a motion cannot be followed from its beginning, or leads nowhere so."""
        return (
            problem.is_driven
            or len(problem.labels) > self.shooting
            or not all(problem.knows_inputs(frame) for frame in frames)
        )

    def _described(self, objective, fits, generator):
        """
        Return (mixture, how well it stands for the posterior, whether the filter may take over).

        Nobody asks how well of a wide one, unless it may be refined and is no longer an early one,
        which is no Gaussian and soon another.
        """
        problem, window = objective.problem, objective.window
        fits, noises = objective.settled(fits)
        log_weights = log_normalized(fits.log_evidence())
        mixture = mixture_at_end(problem, window, fits, log_weights, self._drift, noises=noises)
        is_narrow = self._is_narrow(problem, mixture)
        is_early = len(window.frames) < self.horizons[-1]
        if not is_narrow and (is_early or not self.refinement):
            return mixture, 0.0, False
        found, log_weights, share = refine(
            objective, fits, log_weights, generator, self.share, self.refinement
        )
        if found is fits:
            return mixture, share, is_narrow
        _, noises = objective.settled(found)
        mixture = mixture_at_end(problem, window, found, log_weights, self._drift, noises=noises)
        return mixture, share, self._is_narrow(problem, mixture)

    def _is_narrow(self, problem, mixture, limit=None):
        """
        Tell whether the dynamics are known well enough for the filter, or as a limit has it.

        What a filter leaves out is the square of how wrong they are, as a part of all efforts:
        with disturbances that is small beside these.
        """
        spread = problem.spread(mixture.means, mixture.parameter_roots())
        enough = np.sqrt((limit or self.handover) ** 2 + mixture.scales)
        return bool((spread <= enough)[mixture.weights > _NOTABLE].all())

    def _drifted_until(self, problem, state, frame):
        """Return the mixture of a filter at the end of a gap."""
        if isinstance(state, SuspectState) or state.end_ns is None:
            return state.mixture
        return drifted(problem, state.mixture, self._drift, state.end_ns, frame.end_ns)

    def _resume(self, problem, state):
        """Go on filtering with the parameters known before the motion was lost sight of."""
        window = Window(state.frames, *problem.first_state(state.frames))
        if self._needs_smoothing(problem, window.frames):
            mixture = resume_smoothly(problem, window, state.knowledge, self.noise, self._drift)
            return self._resumed(problem, window, mixture)
        fits, log_weights, noises = refit(problem, window, state.knowledge, self.noise)
        if not np.isfinite(log_weights).all():
            return self._resumed(problem, window, None)
        scales = state.knowledge.scales
        mixture = mixture_at_end(problem, window, fits, log_weights, self._drift, scales, noises)
        return self._resumed(problem, window, mixture)

    def _resumed(self, problem, window, mixture):
        """Return the filter that goes on with a mixture, or a new begin where there is none."""
        if mixture is None:
            return self.init(problem), UpdateReport('batch', events=('changed', 'forgotten'))
        return self._filter_from(problem, window, mixture, 'resumed')

    def _next_horizon(self, count):
        """Return the frame count of the next fit."""
        later = [h for h in (*self.horizons, self.longest) if h > count]
        grown = int(np.ceil(_GROWTH * count)) if count >= self.horizons[-1] else later[0]
        return min(grown, *later) if later else grown

    def _bounded(self, state):
        """
        Return a batch that does not grow for ever, as it would for a robot at rest.

        The older half of the frames goes, and with it what little they told.
        """
        if len(state.frames) < self.longest:
            return state
        kept = state.frames[len(state.frames) // 2 :]
        due = self._next_horizon(len(kept))
        return BatchState(kept, due=due, mixture=state.mixture)

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
            return suspect(past, state.memories), replace(report, events=events)
        step, known = step.tidied(self.prune, self.merge), (past, state.memories)
        return FilterState(
            step.mixture, memory, state.share, frame.end_ns, step.lag, *known
        ), report

    def _taken(self, problem, state, frame):
        """
        Return (`Step` of a frame or None, `Past`s, memory of the detector, events).

        Where its samples make no sense, or one of them seems to be an outlier, the motion goes on
        without them. In case it was the beginning of a change, the past has them all the same.
        """
        step, events = self._step(problem, state, frame), ()
        seen, told, memory = frame, step, state.memory
        if step is None:
            seen, events = replace(frame, samples=()), (Status.UPDATE_REFUSED.value,)
            step = told = self._step(problem, state, seen)
        elif self._is_outlier(memory, step, frame):
            events = (Status.OUTLIER.value,)
            step = self._step(problem, state, replace(frame, samples=()))
        if step is None:
            return None, (), memory, events
        if Status.OUTLIER.value in events:
            memory = self.detector.pass_over(memory)
        else:
            memory = self.detector.remember(memory, step.misfit, step.rows, step.surprises)
        return step, remembered(state.past, seen, state.mixture, told.log_evidence), memory, events

    def _is_outlier(self, memory, step, frame):
        """Tell whether a frame fits as badly as only a bad sample does, where none is expected."""
        told = step.misfit, step.rows, step.surprises, len(frame.samples)
        return not self.noise.expects_outliers and self.detector.is_outlier(memory, *told)

    def _step(self, problem, state, frame):
        """Return what a frame did to a filter, None where its numbers are not finite."""
        if state.lag is None:
            return take_frame(problem, state.mixture, frame, self.noise, self._drift)
        depth = self.lag if problem.is_driven else min(self.lag, _LAG_OF_DISTURBED)
        return take_frame_lagging(problem, state.lag, frame, self.noise, depth, self._drift)

    def _look_into(self, problem, state, frame):
        """Ask what has changed; go on with what is still known, or begin again."""
        state, mixture, memories, report = look_into(
            problem,
            state,
            frame,
            self.noise,
            self._drift,
            self.disturbances,
            partial(self._is_narrow, problem, limit=_CHANGED),
        )
        if state is not None:
            return state, report
        if mixture is None:
            return self.init(problem), report
        return _filter_of(problem, mixture, frame.end_ns, memories), report


def _filter_of(problem, mixture, end_ns, memories=()):
    """Return the filter that goes on with a mixture at an instant."""
    is_pushed = mixture.weights[mixture.scales == 0].sum() < _NOTABLE
    lag = begun(mixture) if problem.is_driven or is_pushed else None
    return FilterState(mixture, end_ns=end_ns, lag=lag, memories=memories)
