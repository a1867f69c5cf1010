"""
The batch phase: fits of a growing number of frames, until a filter can take over.

Where the motion follows from its first state, that and the parameters are fitted from many starts
(single shooting); else, and with many unknowns, a smoother fits all states. The batch grows until
the posterior is narrow and well described by a Gaussian mixture.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from ...records import Status, UpdateReport
from ...reported_events import FixedValuesWrong, Happened
from ..changes.moved_sensors import unknown_sensors
from ..disturbances import neighbours, spread_over_bank
from ..filter.phases import AbstractPhase, BatchState, FilterState
from ..filter.update import FixedLagWindow, prune_and_merge
from ..gaussian import log_normalized
from .faulty_samples import faulty_samples, fit_without_faulty, without_samples
from .fit import Objective, Window
from .multi_start import (
    cover_prior,
    effective_share,
    fit_again,
    fit_augmented,
    fit_more,
    is_covered,
    misspecified,
    mixture_at_end,
    modes,
    MultiStartFits,
    refit,
)
from .smoothed_fits import first_trajectories, fit_by_smoothing, resume_by_smoothing

# Components of less weight do not count: they do not delay the switch to the filter.
_NOTABLE = 0.01
# Number of times that frames are discarded that do not fit what was known before an interruption.
_TRIES = 3
# Factor by which a batch grows from fit to fit beyond the given horizons.
_GROWTH = 1.25
# Share of a batch's frames that may lack efforts.
_MISSING = 0.2


@dataclass(frozen=True)
class FirstFits(AbstractPhase):
    """The handler of the batch phase."""

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        if frame.after_gap:
            # A fit needs a motion without a break.
            state = state.emptied()
        state = replace(state, frames=(*state.frames, frame))
        is_known = problem.knows_inputs(frame)
        events = () if is_known else (Happened.EFFORTS_UNKNOWN,)
        if not is_known and self._lacks_inputs(problem, state.frames):
            return state.emptied(), UpdateReport('batch', events=events)
        if len(state.frames) < max(state.due, self.settings.horizons[0]):
            return state, UpdateReport('batch', events=events)
        go_on = self.fit if state.knowledge is None else self.resume
        state, report = go_on(problem, state)
        return state, replace(report, events=(*events, *report.events))

    def interrupted(self, state):
        """Return a batch without frames."""
        return replace(state.emptied(), due=self.settings.horizons[0])

    def kept_frames(self, state):
        """Return the frames of the batch."""
        return state.frames

    def with_frames(self, state, frames):
        """Return a batch of these frames; the next fit begins at the parameters of the last."""
        # Trajectories are of the frames as they were.
        return replace(state, frames=frames, trajectories=None)

    def _lacks_inputs(self, problem, frames):
        """Tell whether the last of these frames lacks efforts for too long, or too many do."""
        missing = sum(not problem.knows_inputs(frame) for frame in frames)
        return missing > _MISSING * len(frames) or problem.loses_sight(frames[-1])

    def fit(self, problem, state):
        """Fit the frames so far; switch to a filter if the posterior is narrow and Gaussian."""
        count = len(state.frames)
        due = self._next_horizon(count)
        window = state.window or Window((), *problem.first_state(state.frames))
        window = replace(window, frames=state.frames)
        if not problem.moves(window.point, window.frames):
            # A fit would take noise for motion.
            state = BatchState(state.frames, due=due)
            return self._bounded(state), UpdateReport('batch', events=(Happened.AT_REST,))
        state = replace(state, due=due)
        generator = np.random.default_rng([self.settings.seed, count])
        if state.trajectories is not None or self._needs_smoothing(problem, window.frames):
            return self._fit_by_smoothing(problem, state, window, generator)
        return self._fit_by_shooting(problem, state, window, generator)

    def _fit_by_shooting(self, problem, state, window, generator):
        """Fit frames whose motion follows from its first state (single shooting)."""
        # 1. From many starts, without the samples known to be faulty.
        rest = replace(window, frames=without_samples(window.frames, state.wrong))
        objective = Objective(problem, rest, self.settings.noise)
        draws = cover_prior(problem, self.settings.starts, generator, state.mixture)
        limits = self.settings.merge, self.settings.prune
        is_free = is_covered(problem, state.mixture)
        found, cleaned = fit_again(objective, state.fits, draws, limits, is_free), None
        is_explained = objective.is_explained_by(found.kept)
        # 2. If noise does not explain the misfit, hypotheses that may: samples are faulty, values
        # held fixed are wrong, unknown forces act.
        if not is_explained:
            cleaned = self._without_faulty(problem, state, window, draws)
        if cleaned is not None and cleaned.is_while:
            is_explained = True
        elif not len(found.kept.costs) and cleaned is None:
            return self._bounded(state), UpdateReport('batch', events=(Happened.UPDATE_REFUSED,))
        elif problem.disturbance_size and not is_explained:
            augmented = self._with_fixed_values_wrong(
                problem, state, objective, found.kept, generator
            )
            if augmented is not None:
                return augmented
            if cleaned is None:
                return self._fit_by_smoothing(problem, state, window, generator)
        if cleaned is not None:
            wrong, objective = tuple(sorted(cleaned.wrong)), cleaned.objective
            state = replace(state, wrong=wrong)
            fits = fit_more(objective, cleaned.fits, draws[:, :0], limits)
            found = MultiStartFits(fits, modes(fits, *limits), draws)
        elif state.wrong and is_explained:
            # A sample that was left out of a few frames may fit in many.
            wrong = faulty_samples(problem, window, found.kept)
            state = state if wrong is None else replace(state, wrong=tuple(sorted(wrong)))
        # 3. The Laplace mixture, and whether it is narrow and stands for the posterior.
        mixture, share, is_narrow = self._described(objective, found.kept, generator)
        if is_narrow and not state.share:
            # Before a filter begins, all starts have searched for other modes.
            found, before = found.with_all_starts(objective, limits), found
            if found.differ(before):
                mixture, share, is_narrow = self._described(objective, found.kept, generator)
        state = replace(state, fits=found.fits, window=window, mixture=mixture)
        if not is_narrow:
            return self._bounded(state), UpdateReport('batch', events=(Happened.FITTED,))
        # If the share falls, the motion is chaotic, and a longer batch would be worse described.
        is_short = len(window.frames) < self.settings.longest
        if state.share < share < self.settings.share and is_short:
            events = Happened.FITTED, Happened.NOT_YET_GAUSSIAN
            return replace(state, share=share), UpdateReport('batch', events=events)
        # 4. The switch to the filter.
        mixture = spread_over_bank(problem, mixture, self.settings.bank)
        begun_ns, end_ns = window.frames[0].start_ns, window.frames[-1].end_ns
        left_out = Counter(name for name, _ in state.wrong)
        left_out = tuple(
            (name, Status.SENSOR_WRONG.value, count) for name, count in left_out.items()
        )
        report = UpdateReport('batch', events=(Happened.HANDED_OVER,), left_out=left_out)
        known = {
            'begun_ns': begun_ns,
            'end_ns': end_ns,
            'wrong': unknown_sensors(problem, mixture),
        }
        return FilterState(mixture, share=share, **known), report

    def _without_faulty(self, problem, state, window, draws):
        """Return the `CleanedFit` of a window without faulty samples, or None."""
        guesses, size = [], problem.tangent_size
        if state.fits is not None:
            known = state.fits.pick([int(np.argmin(state.fits.costs))])
            guesses.append((known.offsets, known.parameters))
        guesses.append((np.zeros((size, draws.shape[1])), draws))
        noise, merge = self.settings.noise, self.settings.merge
        return fit_without_faulty(problem, window, noise, guesses, merge)

    def _with_fixed_values_wrong(self, problem, state, objective, kept, generator):
        """
        Return (state, report) of the augmented problem, with fixed values among the unknowns.

        None where noise does not explain the misfit of that, either.
        """
        augmented = problem.augmented
        if augmented is None or len(augmented.labels) > self.settings.shooting:
            return None
        if not len(kept.costs):
            return None
        window = objective.window
        fits = fit_augmented(
            Objective(augmented, window, self.settings.noise),
            problem,
            kept,
            self.settings,
            generator,
        )
        if fits is None:
            return None
        inner, report = self.fit(augmented, BatchState(state.frames, fits, window))
        event = FixedValuesWrong(tuple(misspecified(augmented, problem, fits)))
        state = replace(inner, is_augmented=True)
        return state, replace(report, events=(*report.events, event))

    def _fit_by_smoothing(self, problem, state, window, generator):
        """Fit frames of a robot on which unknown forces act, all states being unknowns."""
        starts = cover_prior(problem, self.settings.starts, generator, state.mixture)
        before = state.mixture, state.trajectories, state.is_astray
        begins = first_trajectories(problem, window, starts, self.settings.noise, *before)
        first, near = None, self.settings.bank
        if problem.disturbance_size and state.trajectories:
            # Evidence of few frames is weak, and with too small a disturbance a fit does not
            # converge.
            notable = state.mixture.pick(state.mixture.weights > _NOTABLE)
            first = max(notable.disturbances.each)
            near = neighbours(near, state.mixture.disturbances.each)
        mixture, trajectories, fits = self._smoothed(problem, window, begins, near, first)
        if mixture is None:
            return self._bounded(state), UpdateReport('batch', events=(Happened.UPDATE_REFUSED,))
        state = replace(state, mixture=mixture, trajectories=trajectories, is_astray=not fits)
        # What so many frames leave unknown, as an inertia next to much friction, will stay so.
        is_long = len(window.frames) >= self.settings.longest
        if not (fits and (is_long or self.is_narrow(problem, mixture))):
            events = (Happened.FITTED,) if fits else (Happened.FITTED, Happened.POOR_FIT)
            return self._bounded(state), UpdateReport('batch', events=events)
        beyond = neighbours(self.settings.bank, mixture.disturbances.each)
        if set(beyond) - set(near):
            # Components of hypotheses farther from these have been pruned.
            first = mixture.disturbances.each[mixture.heaviest()]
            begins = trajectories.pick([mixture.heaviest()])
            augmented = self._smoothed(problem, window, begins, beyond, first)[0]
            mixture = mixture if augmented is None else augmented
        begun_ns = window.frames[0].start_ns
        more = {'wrong': unknown_sensors(problem, mixture)}
        event = Happened.HANDED_OVER
        return self._filter_from(problem, window, mixture, begun_ns, event, **more)

    @staticmethod
    def _filter_from(problem, window, mixture, begun_ns, event, **more):
        """Return (filter that begins with a mixture at a window's end, report)."""
        state = filter_of(problem, mixture, begun_ns, window.frames[-1].end_ns, **more)
        return state, UpdateReport('batch', events=(event,))

    def _drifts(self, window):
        """Return the `Drift` of parameters that are observed since a window's beginning."""
        return self.settings.drifts.since(window.frames[0].start_ns)

    def _smoothed(self, problem, window, begins, hypotheses, first):
        """Return (mixture or None, its `Trajectories`, whether they fit the window)."""
        mixture, trajectories, fits = fit_by_smoothing(
            problem,
            window,
            begins,
            self.settings.noise,
            hypotheses,
            first,
            self._drifts(window),
            self.settings.merge,
        )
        if mixture is None:
            return None, None, False
        kept, log_weights = prune_and_merge(mixture, self.settings.prune, self.settings.merge)
        return replace(mixture, log_weights=log_weights).pick(kept), trajectories.pick(kept), fits

    def _needs_smoothing(self, problem, frames):
        """Tell whether the motion does not follow from its first state, or unknowns are many."""
        return (
            problem.has_unknown_inputs
            or len(problem.labels) > self.settings.shooting
            or not all(problem.knows_inputs(frame) for frame in frames)
        )

    def _described(self, objective, fits, generator):
        """
        Return (mixture, effective share, whether it is narrow enough for a filter).

        The effective share costs simulations, and is computed only of a narrow mixture.
        """
        problem, window = objective.problem, objective.window
        fits, noises = objective.with_noise_scales(fits)
        log_weights = log_normalized(fits.log_evidence())
        mixture = mixture_at_end(
            problem, window, fits, log_weights, self._drifts(window), noises=noises
        )
        is_narrow = self.is_narrow(problem, mixture)
        if not is_narrow:
            return mixture, 0.0, False
        wanted = self.settings.share
        share = effective_share(objective, fits, log_weights, generator, wanted=wanted)
        return mixture, share, True

    def is_narrow(self, problem, mixture, limit=None):
        """
        Tell whether the dynamics are known well enough for a filter.

        limit: relative standard deviation of the mass matrix, by default the setting. The error of
        a filter's linearization is the square of that, relative to all efforts; where disturbances
        are larger it may be as large.
        """
        spread = problem.spread(mixture.means, mixture.parameter_roots())
        enough = np.sqrt((limit or self.settings.handover) ** 2 + mixture.disturbances.sizes)
        return bool((spread <= enough)[mixture.weights > _NOTABLE].all())

    def resume(self, problem, state):
        """Return (state, report) with the parameters known before an interruption."""
        window = Window(state.frames, *problem.first_state(state.frames))
        drifts = self.settings.drifts.since(state.begun_ns)
        if self._needs_smoothing(problem, window.frames):
            mixture = resume_by_smoothing(
                problem, window, state.knowledge, self.settings.noise, drifts
            )
            return self._resumed(problem, window, mixture, state.begun_ns)
        known = state.knowledge
        fits, log_weights, noises, fitting = refit(problem, window, known, self.settings.noise)
        fitting &= bool(np.isfinite(log_weights).all())
        if not (fitting or known.disturbances.sizes.any()) and state.tries < _TRIES:
            # Sensors may be faulty still: later frames are tried with what is known.
            state = replace(state, tries=state.tries + 1).emptied()
            return state, UpdateReport('batch', events=(Happened.UPDATE_REFUSED,))
        if not np.isfinite(log_weights).all():
            return self._resumed(problem, window, None, None)
        disturbances = state.knowledge.disturbances
        known = drifts, disturbances, noises
        mixture = mixture_at_end(problem, window, fits, log_weights, *known)
        return self._resumed(problem, window, mixture, state.begun_ns)

    def _resumed(self, problem, window, mixture, begun_ns):
        """Return (filter with a mixture, report), or an empty batch where there is none."""
        if mixture is None:
            return self.settings.init(problem), UpdateReport(
                'batch', events=(Happened.CHANGED, Happened.FORGOTTEN)
            )
        return self._filter_from(problem, window, mixture, begun_ns, Happened.RESUMED)

    def _next_horizon(self, count):
        """Return the frame count of the next fit."""
        later = [h for h in (*self.settings.horizons, self.settings.longest) if h > count]
        grown = int(np.ceil(_GROWTH * count)) if count >= self.settings.horizons[-1] else later[0]
        return min(grown, *later) if later else grown

    def _bounded(self, state):
        """
        Return a batch without its older half if it is as long as it may get.

        It would grow without bound for a robot at rest.
        """
        if len(state.frames) < self.settings.longest:
            return state
        kept = state.frames[len(state.frames) // 2 :]
        due = self._next_horizon(len(kept))
        return BatchState(kept, due=due, mixture=state.mixture)


def filter_of(problem, mixture, begun_ns, end_ns, **more):
    """Return the filter that begins with a mixture at a stamp; more: fields of `FilterState`."""
    is_disturbed = mixture.weights[mixture.disturbances.sizes == 0].sum() < _NOTABLE
    lag = FixedLagWindow.begun(mixture) if problem.has_unknown_inputs or is_disturbed else None
    return FilterState(mixture, begun_ns=begun_ns, end_ns=end_ns, lag=lag, **more)
