"""Where fits begin: at draws of the prior, and where those before ended."""

from dataclasses import dataclass

import numpy as np

from ..merging import matched
from .fit import fit, Fits
from .laplace import modes

# The middle 95 % of a normal distribution, in standard deviations to either side.
_CENTRAL = 1.96
# What is known to this part of the spacing of starts needs no more of them.
_SETTLED = 0.1
# So many new starts are enough where those before have all come to one answer.
_FEW = 2
# Modes whose costs differ by no more have been found twice.
_ALIKE = 0.5


def cover_prior(problem, count, generator, mixture=None):
    """Return draws [p, count] from the prior that cover it; mixture: as found so far."""
    prior = problem.prior
    draws = prior.mean[:, None] + prior.root @ generator.standard_normal((len(prior.mean), count))
    known = None if mixture is None else matched(mixture)
    return spread_evenly(draws, prior, problem.spacing, generator, known)


def with_known(problem, draws, mixture):
    """Return draws [p, K], up to half of them moved to a mixture, or one to the prior's mean."""
    known = problem.prior.mean[:, None]
    if mixture is not None:
        order = np.argsort(-mixture.log_weights, kind='stable')
        known = mixture.means[:, order[: draws.shape[1] // 2]]
    return np.concatenate([known, draws[:, known.shape[1] :]], 1)


@dataclass(frozen=True)
class StartFits:
    """
    Motions that were followed from their beginning.

    fits: of all starts; kept: the modes among them; left [p, K]: draws that nothing began at.
    """

    fits: Fits
    kept: Fits
    left: np.ndarray

    def all_over(self, objective, limits):
        """Return these with start_fits from the draws that are left as well."""
        if not self.left.size:
            return self
        fits = fit_more(objective, self.fits, self.left, limits)
        return StartFits(fits, modes(fits, *limits), self.left[:, :0])

    def differ(self, others):
        """Tell whether others have found other modes, or better ones."""
        ours, theirs = np.sort(self.kept.costs), np.sort(others.kept.costs)
        return len(ours) != len(theirs) or bool(np.abs(ours - theirs).max(initial=0.0) > _ALIKE)


def fit_again(objective, before, draws, limits, is_covered):
    """
    Return `StartFits` that go on from the fits before and from draws [p, K].

    before: None where there are none yet; up to half of them go on. limits: (merge, prune) as of
    `laplace.modes`; is_covered: whether few draws may do. They do where most starts came to one
    and the same answer before, to notice that there is another by now, as long as it explains the
    frames.
    """
    count = draws.shape[1]
    if before is None:
        starts = with_known(objective.problem, draws, None)
        fits = fit(objective, np.zeros((objective.size, count)), starts, merge=limits[0])
        return StartFits(fits, modes(fits, *limits), draws[:, :0])
    kept = _sound(before, limits)
    kept = kept.pick(range(min(len(kept.costs), max(1, count // 2))))
    most = new = count - len(kept.costs)
    if is_covered and len(kept.costs) == 1 and _agree(before, kept, limits[0]):
        new = min(most, _FEW)
    fits = fit_more(objective, kept, draws[:, :new], limits)
    start_fits = StartFits(fits, modes(fits, *limits), draws[:, new:most])
    return (
        start_fits
        if objective.is_explained_by(start_fits.kept)
        else start_fits.all_over(objective, limits)
    )


def fit_more(objective, before, draws, limits):
    """Return `Fits` that go on from the modes of some before, and others from draws [p, K]."""
    known = _sound(before, limits)
    offsets = np.repeat(known.offsets[:, :1], draws.shape[1], 1)
    offsets = np.concatenate([known.offsets, offsets], 1)
    parameters = np.concatenate([known.parameters, draws], 1)
    return fit(objective, offsets, parameters, merge=limits[0])


def _sound(fits, limits):
    """Return the modes of fits, or one of them where there are none."""
    kept = modes(fits, *limits)
    return kept if len(kept.costs) else fits.pick([int(np.argmin(fits.costs))])


def _agree(fits, best, merge):
    """Tell whether at least half of the fits are where the best one is."""
    size = len(fits.offsets)
    information = np.linalg.inv(np.linalg.inv(best.information[0])[size:, size:])
    away = fits.parameters - best.parameters
    near = (away * (information @ away)).sum(0) < merge
    return 2 * (near & np.isfinite(fits.costs)).sum() >= len(near)


def spread_evenly(draws, prior, spacing, generator, known=None):
    """
    Return starts [p, K] that cover the prior evenly where chance alone would leave holes.

    draws [p, K]: from the `Gaussian` prior; spacing [p]: how far apart starts may be so that one
    of them leads to the optimum, infinite where any does; known: `Gaussian` of the parameters as
    found so far. A coordinate whose prior is augmented than the spacing gets starts in even steps
    over the middle 95 % of it, in a random order, until it is known to a part of the spacing.
    """
    draws, count = draws.copy(), draws.shape[1]
    for row in _wide(prior, spacing):
        if known is not None and _deviations(known)[row] < _SETTLED * spacing[row]:
            draws[row] = known.mean[row]
        else:
            steps = (2 * generator.permutation(count) + 1) / count - 1
            draws[row] = prior.mean[row] + _CENTRAL * _deviations(prior)[row] * steps
    return draws


def is_covered(problem, mixture):
    """Tell whether few starts may do: no coordinate's prior needs them all over any more."""
    rows = _wide(problem.prior, problem.spacing)
    if mixture is None or not len(rows):
        return not len(rows)
    return bool((_deviations(matched(mixture))[rows] < _SETTLED * problem.spacing[rows]).all())


def _wide(prior, spacing):
    """Return the coordinates whose prior is augmented than the spacing of starts."""
    return np.flatnonzero(2 * _CENTRAL * _deviations(prior) > spacing)


def _deviations(gaussian):
    return np.linalg.norm(gaussian.root, axis=1)
