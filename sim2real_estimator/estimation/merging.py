"""Posteriors of independent recordings as one; what was known before them counts once."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from .gaussian import log_normalized
from .mixture import distances, Mixture
from .noise import NoiseScales
from .protocol import Gaussian

# Recordings that differ by more than all but this share of those that agree are not taken at
# their word.
_CHANCE = 1e-3


@dataclass(frozen=True)
class _Information:
    """
    Components in whitened coordinates, in which the prior is standard normal.

    log_scales [K]; precisions [K, p, p]; pulls [K, p]: precision times mean; noises: of sensors,
    None where all are known.
    """

    log_scales: np.ndarray
    precisions: np.ndarray
    pulls: np.ndarray
    noises: NoiseScales | None = None

    def pick(self, which, log_scales):
        """Return some of the components, with other scales."""
        noises = None if self.noises is None else self.noises.pick(which)
        return _Information(log_scales, self.precisions[which], self.pulls[which], noises)


def merge(posteriors, prior, noise_prior=None, prune=1e-6, twins=0.01):
    """
    Return the posterior of all recordings together, a `Mixture` of parameters without a state.

    posteriors: mixtures over the same parameters, each from the same `prior` and from data of
    its own; prior: `Gaussian`; noise_prior: `NoiseScales` of sensors whose noise is unknown. The
    product of all densities over all but one of the priors: exact for mixtures of normal
    distributions. Where recordings differ by more than they claim, what they tell counts for that
    much less (see `disagreement`). prune: components of less weight are left out; twins: those
    nearer than this squared distance become one.
    """
    less = disagreement(posteriors, prior)
    first, *others = (_weakened(_informations(each, prior), less) for each in posteriors)
    merged = _tidied(first, prune, twins)
    for other in others:
        product = _product(merged, _tidied(other, prune, twins), noise_prior)
        merged = _tidied(product, prune, twins)
    covariances = np.linalg.inv(merged.precisions)
    whitened = np.linalg.cholesky(covariances)
    means = (covariances @ merged.pulls[..., None])[..., 0]
    return Mixture(
        log_normalized(merged.log_scales),
        np.zeros((0, len(means))),
        prior.mean[:, None] + prior.root @ means.T,
        prior.root @ whitened,
        noises=merged.noises,
    )


def disagreement(posteriors, prior):
    """
    Return how many times more posteriors of one prior differ, squared, than they claim; 1 or more.

    The ratio of Birge (1932), of means and covariances: chi^2 = sum (m_k - m)' L_k (m_k - m), with
    m what they say together and L_k what recording k tells beside the prior, over its degrees of
    freedom. One where chance may be the reason.
    """
    told = [_informations(_one(mixture), prior) for mixture in posteriors]
    apart = np.array([each.precisions[0] for each in told])
    means = np.array([np.linalg.solve(each.precisions[0], each.pulls[0]) for each in told])
    unit = np.eye(apart.shape[-1])
    own = apart - unit
    together = unit + own.sum(0)
    away = means - np.linalg.solve(together, sum(each.pulls[0] for each in told))
    squares = np.einsum('ki,kij,kj->', away, own, away)
    # How many numbers each tells, less those that all of them do.
    degrees = np.trace(np.linalg.solve(apart, own), axis1=1, axis2=2).sum()
    degrees -= np.trace(np.linalg.solve(together, together - unit))
    if degrees <= 0 or squares <= chi2.isf(_CHANCE, degrees):
        return 1.0
    return float(squares / degrees)


def _one(mixture):
    """Return a mixture as the one normal distribution of its mean and covariance."""
    mean, root = mixture.spread()
    return Mixture(np.zeros(1), np.zeros((0, 1)), mean[:, None], root[None])


def _weakened(info, times):
    """Return an `_Information` whose data count so many times less than they claim."""
    unit = np.eye(info.pulls.shape[1])
    precisions = unit + (info.precisions - unit) / times
    return replace(info, precisions=precisions, pulls=info.pulls / times)


def matched(mixture):
    """Return the `Gaussian` of a mixture's mean and covariance; that it had modes is lost."""
    return Gaussian(*mixture.spread())


def _informations(mixture, prior):
    """
    Return the `_Information` of a posterior.

    In a direction in which a component is augmented than the prior, it is taken to know nothing
    more: only rounding, or an estimator that is not calibrated, makes it so.
    """
    inverse = np.linalg.inv(prior.root)
    roots = inverse @ mixture.parameter_roots()
    precisions = np.linalg.inv(roots @ np.swapaxes(roots, 1, 2))
    means = (inverse @ (mixture.means - prior.mean[:, None])).T
    sizes, axes = np.linalg.eigh(precisions)
    pulls = sizes * np.einsum('kij,ki->kj', axes, means)
    pulls = np.where(sizes > 1.0, pulls, 0.0)
    scaled = axes * np.maximum(sizes, 1.0)[:, None]
    return _Information(
        mixture.log_weights,
        scaled @ np.swapaxes(axes, 1, 2),
        np.einsum('kij,kj->ki', axes, pulls),
        mixture.noises,
    )


def _product(a, b, noise_prior):
    """Return a times b over the prior, all pairs of components, weighted by evidence."""
    size = a.pulls.shape[1]
    precisions = (a.precisions[:, None] + b.precisions[None] - np.eye(size)).reshape(
        -1, size, size
    )
    pulls = (a.pulls[:, None] + b.pulls[None]).reshape(-1, size)
    log_scales = (
        (a.log_scales + _log_constant(a))[:, None] + (b.log_scales + _log_constant(b))[None]
    ).ravel()
    noises = None
    if noise_prior is not None:
        noises = a.noises.product(b.noises, noise_prior)
        parts = a.noises.log_normalizer()[:, None] + b.noises.log_normalizer()[None]
        log_scales = log_scales + noises.log_normalizer() - parts.ravel()
    product = _Information(log_scales, precisions, pulls, noises)
    return replace(product, log_scales=log_scales - _log_constant(product))


def _log_constant(info):
    """Return the logarithm of each density at the prior's mean, less a common constant."""
    means = np.linalg.solve(info.precisions, info.pulls[..., None])[..., 0]
    return 0.5 * np.linalg.slogdet(info.precisions)[1] - 0.5 * (info.pulls * means).sum(1)


def _tidied(info, prune, twins):
    """Return the components of notable weight, twins as one with the weight of both."""
    log_weights = log_normalized(info.log_scales)
    apart = _distances(info)
    kept, totals = [], []
    for index in np.argsort(-log_weights, kind='stable'):
        twin = next((i for i, k in enumerate(kept) if apart[k, index] < twins), None)
        if twin is not None:
            totals[twin] = np.logaddexp(totals[twin], log_weights[index])
        elif np.exp(log_weights[index]) > prune:
            kept.append(int(index))
            totals.append(log_weights[index])
    return info.pick(kept, log_normalized(np.array(totals)))


def _distances(info):
    """Return how far components are apart [K, K]: squares, of means and of widths alike."""
    means = np.linalg.solve(info.precisions, info.pulls[..., None])[..., 0].T
    ratios = np.linalg.solve(info.precisions[:, None], info.precisions[None])
    widths = ((ratios - np.eye(len(means))) ** 2).sum((-1, -2))
    return distances(means, info.precisions) + widths
