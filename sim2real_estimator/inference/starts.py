"""Where fits begin: at draws of the prior, and where those before ended."""

import numpy as np

from .batch import fit
from .laplace import distinct_fits
from .merging import matched

# The middle 95 % of a normal distribution, in standard deviations to either side.
_CENTRAL = 1.96
# What is known to this part of the spacing of starts needs no more of them.
_SETTLED = 0.1


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


def refit_warmly(objective, before, draws, merge):
    """
    Return `Fits` that go on from those before, of which half are replaced by draws [p, K].

    before: None where there are none yet; merge: squared distance below which two are the same.
    """
    count = draws.shape[1]
    if before is None:
        starts = with_known(objective.problem, draws, None)
        return fit(objective, np.zeros((objective.size, count)), starts)
    order = np.argsort(before.costs, kind='stable')
    # The distinct ones go on: at least one, at most half.
    distinct = len(distinct_fits(before, order, merge))
    kept = before.pick(order[: max(1, min(distinct, count // 2))])
    new = count - len(kept.costs)
    offsets = np.concatenate([kept.offsets, np.repeat(kept.offsets[:, :1], new, 1)], 1)
    return fit(objective, offsets, np.concatenate([kept.parameters, draws[:, :new]], 1))


def spread_evenly(draws, prior, spacing, generator, known=None):
    """
    Return starts [p, K] that cover the prior evenly where chance alone would leave holes.

    draws [p, K]: from the `Gaussian` prior; spacing [p]: how far apart starts may be so that one
    of them leads to the optimum, infinite where any does; known: `Gaussian` of the parameters as
    found so far. A coordinate whose prior is wider than the spacing gets starts in even steps
    over the middle 95 % of it, in a random order, until it is known to a part of the spacing.
    """
    draws, count = draws.copy(), draws.shape[1]
    for row in np.flatnonzero(2 * _CENTRAL * _deviations(prior) > spacing):
        if known is not None and _deviations(known)[row] < _SETTLED * spacing[row]:
            draws[row] = known.mean[row]
        else:
            steps = (2 * generator.permutation(count) + 1) / count - 1
            draws[row] = prior.mean[row] + _CENTRAL * _deviations(prior)[row] * steps
    return draws


def _deviations(gaussian):
    return np.linalg.norm(gaussian.root, axis=1)
