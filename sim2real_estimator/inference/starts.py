"""Where fits begin whose way to the optimum leads over hills."""

import numpy as np

# The middle 95 % of a normal distribution, in standard deviations to either side.
_CENTRAL = 1.96
# What is known to this part of the spacing of starts needs no more of them.
_SETTLED = 0.1


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
