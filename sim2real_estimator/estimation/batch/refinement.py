"""
Better mixtures for posteriors that are not yet Gaussian, by variational inference.

Where two modes are about to merge, or the data say little, Laplace's mixture is too narrow here
and too wide there. A mixture of more components is fitted to the posterior instead: each follows
the natural gradient of the divergence, with Gauss-Newton's matrix in place of the Hessian, at
draws of its own.
"""

import numpy as np

from ..gaussian import log_normalized
from .fit import effective_share, Fits

# With so many components the mixture bends.
_COMPONENTS = 8
# Draws of each component per iteration, in pairs that mirror each other.
_DRAWS = 8
_RATE = 0.25
# Draws from Laplace's mixture among which the components begin; of their weights the square root
# is taken, since few of them may hold nearly all.
_CANDIDATES, _TEMPER = 400, 0.5
# With more unknowns than this, so few components cannot bend, and cost more than they bring.
_LARGEST = 16


def refine(objective, fits, log_weights, generator, wanted=1.0, iterations=30):
    """
    Return (`Fits`, log weights [K], effective share) of a mixture for a posterior.

    objective: `Objective` whose posterior it is; fits, log_weights: Laplace's mixture of it, which
    stays where its share is the `wanted` one or the better one; generator: of all draws.
    """
    share = effective_share(objective, fits, log_weights, generator, wanted=wanted)
    size = len(fits.offsets) + len(fits.parameters)
    if share >= wanted or size > _LARGEST or not iterations:
        return fits, log_weights, share
    try:
        found = _begun(objective, fits, log_weights, generator)
        for _ in range(iterations):
            found = _stepped(objective, *found, generator)
        z, information, weights = found
        size = len(fits.offsets)
        after = Fits(z[:size], z[size:], objective.costs(z), information)
        refined = effective_share(objective, after, weights, generator)
    except np.linalg.LinAlgError:
        return fits, log_weights, share
    return (after, weights, refined) if refined > share else (fits, log_weights, share)


def _begun(objective, fits, log_weights, generator):
    """
    Return centres [n, K], informations [K, n, n] and log weights [K] to begin with.

    The centres are spread evenly along the widest direction of draws that are weighted by the
    posterior; each component is as wide as the posterior is curved there.
    """
    centres = np.concatenate([fits.offsets, fits.parameters])
    factor = np.linalg.cholesky(fits.information)
    which = np.arange(_CANDIDATES) * len(log_weights) // _CANDIDATES
    noise = generator.standard_normal((_CANDIDATES, len(centres), 1))
    moves = np.linalg.solve(np.swapaxes(factor, 1, 2)[which], noise)[..., 0]
    draws = centres[:, which] + moves.T
    log_density = _expand_density(draws, centres, fits.information, log_weights)[0]
    ratio = _TEMPER * (-objective.costs(draws) - log_density)
    ratio = np.exp(ratio - ratio.max())
    order = np.argsort(_along_widest(objective.whitened(draws), ratio), kind='stable')
    reached = np.cumsum(ratio[order]) / ratio.sum()
    places = (np.arange(_COMPONENTS) + 0.5) / _COMPONENTS
    z = draws[:, order[np.searchsorted(reached, places)]]
    even = np.full(_COMPONENTS, -np.log(_COMPONENTS))
    return z, objective.expand(z).curvature, even


def _along_widest(points, ratio):
    """Return where weighted points [n, N] stand along the direction in which they differ most."""
    away = points - (points @ ratio / ratio.sum())[:, None]
    return np.linalg.eigh((away * ratio) @ away.T)[1][:, -1] @ away


def _stepped(objective, z, information, log_weights, generator):
    """Return centres, informations and log weights after a step of the natural gradient."""
    n, count = z.shape
    factor = np.linalg.cholesky(information)
    noise = generator.standard_normal((count, _DRAWS // 2, n, 1))
    noise = np.concatenate([noise, -noise], 1)
    moves = np.linalg.solve(np.swapaxes(factor, 1, 2)[:, None], noise)[..., 0]
    points = (z.T[:, None] + moves).reshape(-1, n).T
    found = objective.expand(points)
    log_density, slope, bend = _expand_density(points, z, information, log_weights)
    # A draw whose trajectory is lost says nothing.
    gap = (-found.costs - log_density).reshape(count, _DRAWS)
    used = np.isfinite(gap)
    share = used / np.maximum(used.sum(1, keepdims=True), 1)
    gap = (share * np.where(used, gap, 0.0)).sum(1)
    gradient = -(found.gradient + slope).reshape(count, _DRAWS, n)
    hessian = -(found.curvature + bend).reshape(count, _DRAWS, n, n)
    gradient = np.einsum('ks,ksi->ki', share, gradient)
    hessian = np.einsum('ks,ksij->kij', share, hessian)
    # The last term keeps the matrix positive definite however large the step.
    bent = hessian @ np.linalg.solve(information, hessian)
    after = information - _RATE * hessian + 0.5 * _RATE**2 * bent
    after = 0.5 * (after + np.swapaxes(after, 1, 2))
    z = z + _RATE * np.linalg.solve(after, gradient[..., None])[..., 0].T
    return z, after, log_normalized(log_weights + _RATE * gap)


def _expand_density(points, z, information, log_weights):
    """Return a mixture's log density [N] at points [n, N], its gradients and its Hessians."""
    away = points.T - z.T[:, None]
    pulls = away @ information
    logs = log_weights + 0.5 * np.linalg.slogdet(information)[1]
    logs = logs[:, None] - 0.5 * (pulls * away).sum(-1)
    top = logs.max(0)
    log_density = top + np.log(np.exp(logs - top).sum(0))
    share = np.exp(logs - log_density)
    slope = -np.einsum('kn,kni->ni', share, pulls)
    bend = np.einsum('kn,kni,knj->nij', share, pulls, pulls, optimize=True)
    bend -= np.einsum('kn,kij->nij', share, information)
    return log_density, slope, bend - slope[:, :, None] * slope[:, None]
