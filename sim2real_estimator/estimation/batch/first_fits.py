"""
The first fits of a posterior, until a filter can take over.

Where the motion follows from its beginning, that and the parameters are found from many starts;
else, and with many unknowns, all states are free. Fits are repeated while the batch grows.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from ...records import Status, UpdateReport
from ..changes.wrong_sensors import cleared, far_off, sorted_out, unknown_sensors
from ..disturbances import neighbours, spread_over_bank
from ..filter.fixed_lag import begun
from ..filter.phases import AugmentedState, BatchState, FilterState
from ..filter.update import survivors
from ..gaussian import log_normalized
from ..misfits import ASTRAY
from .doubting import DOUBTS, fit_augmented, misspecified
from .fit import effective_share, Objective, Window
from .laplace import mixture_at_end, modes
from .resuming import refit
from .smoothed_fits import first_trajectories, fit_smoothly, resume_smoothly
from .starts import cover_prior, fit_again, fit_more, is_covered, StartFits

# Components of less weight do not count: they do not delay the hand-over.
_NOTABLE = 0.01
# So often frames are left out that do not fit what was known before the motion was lost.
_TRIES = 3
# By which factor a batch grows from fit to fit beyond the given horizons.
_GROWTH = 1.25


@dataclass(frozen=True)
class FirstFits:
    """See the module; settings: the estimator's."""

    settings: object

    def fit(self, problem, state):
        """Fit the frames so far; hand over where the posterior is narrow and well described."""
        count = len(state.frames)
        due = self._next_horizon(count)
        window = state.window or Window((), *problem.first_state(state.frames))
        window = replace(window, frames=state.frames)
        if not problem.moves(window.point, window.frames):
            # A fit would take noise for motion, and learn from it.
            state = BatchState(state.frames, due=due)
            return self._bounded(state), UpdateReport('batch', events=('at rest',))
        state = replace(state, due=due)
        generator = np.random.default_rng([self.settings.seed, count])
        if state.trajectories is not None or self._needs_smoothing(problem, window.frames):
            return self._fit_smoothly(problem, state, window, generator)
        return self._shoot(problem, state, window, generator)

    def _shoot(self, problem, state, window, generator):
        """Fit frames whose motion is followed from its beginning."""
        rest = replace(window, frames=cleared(window.frames, state.wrong))
        objective = Objective(problem, rest, self.settings.noise)
        draws = cover_prior(problem, self.settings.starts, generator, state.mixture)
        limits = self.settings.merge, self.settings.prune
        is_free = is_covered(problem, state.mixture)
        start_fits, sorting = fit_again(objective, state.fits, draws, limits, is_free), None
        is_explained = objective.is_explained_by(start_fits.kept)
        if not is_explained:
            sorting = self._sorted_out(problem, state, window, draws)
        if sorting is not None and sorting.is_while:
            is_explained = True
        elif not len(start_fits.kept.costs) and sorting is None:
            return self._bounded(state), UpdateReport('batch', events=('update refused',))
        elif problem.disturbance_size and not is_explained:
            # Something is wrong that is held fixed, or something else moves the robot besides:
            # what is found without is wrong, and sure.
            found = None
            if len(start_fits.kept.costs):
                found = self._fit_augmented_problem(
                    problem, state, objective, start_fits.kept, generator
                )
            if found:
                return found
            if sorting is None:
                return self._fit_smoothly(problem, state, window, generator)
        if sorting is not None:
            wrong, objective = tuple(sorted(sorting.wrong)), sorting.objective
            state = replace(state, wrong=wrong)
            fits = fit_more(objective, sorting.fits, draws[:, :0], limits)
            start_fits = StartFits(fits, modes(fits, *limits), draws)
        elif state.wrong and is_explained:
            # What was left out of a few frames may fit in many.
            found = far_off(problem, window, start_fits.kept)
            state = state if found is None else replace(state, wrong=tuple(sorted(found)))
        mixture, share, is_narrow = self._described(objective, start_fits.kept, generator)
        if is_narrow and not state.share:
            # Before a filter begins all starts have looked for other answers.
            start_fits, before = start_fits.all_over(objective, limits), start_fits
            if start_fits.differ(before):
                mixture, share, is_narrow = self._described(objective, start_fits.kept, generator)
        state = replace(state, fits=start_fits.fits, window=window, mixture=mixture)
        if not is_narrow:
            return self._bounded(state), UpdateReport('batch', events=('fitted',))
        # Where motion is chaotic, a longer batch is worse described, not better.
        is_short = len(window.frames) < self.settings.longest
        if state.share < share < self.settings.share and is_short:
            return replace(state, share=share), UpdateReport(
                'batch', events=('fitted', 'not yet Gaussian')
            )
        mixture = spread_over_bank(problem, mixture, self.settings.disturbances)
        begun_ns, end_ns = window.frames[0].start_ns, window.frames[-1].end_ns
        left_out = Counter(name for name, _ in state.wrong)
        left_out = tuple(
            (name, Status.SENSOR_WRONG.value, count) for name, count in left_out.items()
        )
        report = UpdateReport('batch', events=('handed over',), left_out=left_out)
        known = {
            'begun_ns': begun_ns,
            'end_ns': end_ns,
            'wrong': unknown_sensors(problem, mixture),
        }
        return FilterState(mixture, share=share, **known), report

    def _sorted_out(self, problem, state, window, draws):
        """Return the window `SortedOut` of samples of sensors that are wrong; None: of none."""
        begins, size = [], problem.tangent_size
        if state.fits is not None:
            known = state.fits.pick([int(np.argmin(state.fits.costs))])
            begins.append((known.offsets, known.parameters))
        begins.append((np.zeros((size, draws.shape[1])), draws))
        return sorted_out(problem, window, self.settings.noise, begins, self.settings.merge)

    def _fit_augmented_problem(self, problem, state, objective, kept, generator):
        """
        Return (state, report) with what is held fixed among the unknowns.

        None where that explains the frames no better than noise allows, either.
        """
        augmented = problem.augmented
        if augmented is None or len(augmented.labels) > self.settings.shooting:
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
        said = f'{DOUBTS}{", ".join(misspecified(augmented, problem, fits))}'
        return AugmentedState(inner), replace(report, events=(*report.events, said))

    def _fit_smoothly(self, problem, state, window, generator):
        """Fit frames of a robot that is driven by what nobody knows, if only now and then."""
        starts = cover_prior(problem, self.settings.starts, generator, state.mixture)
        before = state.mixture, state.trajectories, state.is_astray
        begins = first_trajectories(problem, window, starts, self.settings.noise, *before)
        first, near = None, self.settings.disturbances
        if problem.disturbance_size and state.trajectories:
            # Evidence of few frames is weak, and with too small a scale trajectories lead nowhere.
            first = state.mixture.pick(state.mixture.weights > _NOTABLE).scales.max()
            near = neighbours(near, state.mixture.scales)
        mixture, trajectories, fits = self._smoothed(problem, window, begins, near, first)
        if mixture is None:
            return self._bounded(state), UpdateReport('batch', events=('update refused',))
        state = replace(state, mixture=mixture, trajectories=trajectories, is_astray=not fits)
        # What so many frames have not told, as an inertia next to much friction, none will soon.
        is_long = len(window.frames) >= self.settings.longest
        if not (fits and (is_long or self.is_narrow(problem, mixture))):
            events = ('fitted',) if fits else ('fitted', ASTRAY)
            return self._bounded(state), UpdateReport('batch', events=events)
        beyond = neighbours(self.settings.disturbances, mixture.scales)
        if set(beyond) - set(near):
            # Of scales farther away than these, none has survived.
            first = mixture.scales[mixture.heaviest()]
            begins = trajectories.pick([mixture.heaviest()])
            augmented = self._smoothed(problem, window, begins, beyond, first)[0]
            mixture = mixture if augmented is None else augmented
        begun_ns = window.frames[0].start_ns
        more = {'wrong': unknown_sensors(problem, mixture)}
        return self._filter_from(problem, window, mixture, begun_ns, 'handed over', **more)

    @staticmethod
    def _filter_from(problem, window, mixture, begun_ns, event, **more):
        """Return the filter that goes on with a mixture at a window's end, and the report."""
        state = filter_of(problem, mixture, begun_ns, window.frames[-1].end_ns, **more)
        return state, UpdateReport('batch', events=(event,))

    def _drifts(self, window):
        """Return how parameters drift of which nothing is known before a window."""
        return self.settings.drifts.since(window.frames[0].start_ns)

    def _smoothed(self, problem, window, begins, scales, first):
        """Return (mixture or None, its `Trajectories`, whether they fit the window)."""
        mixture, trajectories, fits = fit_smoothly(
            problem,
            window,
            begins,
            self.settings.noise,
            scales,
            first,
            self._drifts(window),
            self.settings.merge,
        )
        if mixture is None:
            return None, None, False
        kept, log_weights = survivors(mixture, self.settings.prune, self.settings.merge)
        return replace(mixture, log_weights=log_weights).pick(kept), trajectories.pick(kept), fits

    def _needs_smoothing(self, problem, frames):
        """Tell whether a motion cannot be followed from its beginning, or leads nowhere so."""
        return (
            problem.is_driven
            or len(problem.labels) > self.settings.shooting
            or not all(problem.knows_inputs(frame) for frame in frames)
        )

    def _described(self, objective, fits, generator):
        """
        Return (mixture, how well it stands for the posterior, whether the filter may take over).

        The effective share costs simulations, and is computed only of a narrow mixture.
        """
        problem, window = objective.problem, objective.window
        fits, noises = objective.settled(fits)
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
        Tell whether the dynamics are known well enough for the filter, or as a limit has it.

        What a filter leaves out is the square of how wrong they are, as a part of all efforts:
        with disturbances that is small beside these.
        """
        spread = problem.spread(mixture.means, mixture.parameter_roots())
        enough = np.sqrt((limit or self.settings.handover) ** 2 + mixture.scales)
        return bool((spread <= enough)[mixture.weights > _NOTABLE].all())

    def resume(self, problem, state):
        """Go on filtering with the parameters known before the motion was lost sight of."""
        window = Window(state.frames, *problem.first_state(state.frames))
        drifts = self.settings.drifts.since(state.begun_ns)
        if self._needs_smoothing(problem, window.frames):
            mixture = resume_smoothly(
                problem, window, state.knowledge, self.settings.noise, drifts
            )
            return self._resumed(problem, window, mixture, state.begun_ns)
        known = state.knowledge
        fits, log_weights, noises, fitting = refit(problem, window, known, self.settings.noise)
        fitting &= bool(np.isfinite(log_weights).all())
        if not (fitting or known.scales.any()) and state.tries < _TRIES:
            # Sensors may be wrong still: what is known of the robot waits for better ones.
            state = replace(state, tries=state.tries + 1).emptied()
            return state, UpdateReport('batch', events=('update refused',))
        if not np.isfinite(log_weights).all():
            return self._resumed(problem, window, None, None)
        scales = state.knowledge.scales
        mixture = mixture_at_end(problem, window, fits, log_weights, drifts, scales, noises)
        return self._resumed(problem, window, mixture, state.begun_ns)

    def _resumed(self, problem, window, mixture, begun_ns):
        """Return the filter that goes on with a mixture, or a new begin where there is none."""
        if mixture is None:
            return self.settings.init(problem), UpdateReport(
                'batch', events=('changed', 'forgotten')
            )
        return self._filter_from(problem, window, mixture, begun_ns, 'resumed')

    def _next_horizon(self, count):
        """Return the frame count of the next fit."""
        later = [h for h in (*self.settings.horizons, self.settings.longest) if h > count]
        grown = int(np.ceil(_GROWTH * count)) if count >= self.settings.horizons[-1] else later[0]
        return min(grown, *later) if later else grown

    def _bounded(self, state):
        """
        Return a batch that does not grow for ever, as it would for a robot at rest.

        The older half of the frames goes, and with it what little they told.
        """
        if len(state.frames) < self.settings.longest:
            return state
        kept = state.frames[len(state.frames) // 2 :]
        due = self._next_horizon(len(kept))
        return BatchState(kept, due=due, mixture=state.mixture)


def filter_of(problem, mixture, begun_ns, end_ns, **more):
    """Return the filter that goes on with a mixture at an instant; the rest: of `FilterState`."""
    is_pushed = mixture.weights[mixture.scales == 0].sum() < _NOTABLE
    lag = begun(mixture) if problem.is_driven or is_pushed else None
    return FilterState(mixture, begun_ns=begun_ns, end_ns=end_ns, lag=lag, **more)
