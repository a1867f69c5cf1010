"""The joint posterior of independent recordings, whose common prior counts once."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from .gaussian import log_normalized
from .mixture import distances, Mixture
from .noise import NoiseScales
from .protocol import Gaussian

# Probability with which recordings that agree differ by more than those that are taken to
# disagree.
_CHANCE = 1e-3


@dataclass(frozen=True)
class _Information:
    """
    Gaussian components in information form, in coordinates in which the prior is standard normal.

    log_scales [K]: log weights; precisions [K, p, p]; shifts [K, p]: precision times mean; noises:
    of sensors, None where all are known.
    """

    log_scales: np.ndarray
    precisions: np.ndarray
    shifts: np.ndarray
    noises: NoiseScales | None = None

    def pick(self, which, log_scales):
        """Return some of the components, with other scales."""
        noises = None if self.noises is None else self.noises.pick(which)
        return _Information(log_scales, self.precisions[which], self.shifts[which], noises)


def merge(posteriors, prior, noise_prior=None, prune=1e-6, twins=0.01):
    """
    Return the joint posterior of all recordings, a `Mixture` of parameters without a state.

    posteriors: mixtures over the same parameters, of one `prior` and independent data; prior:
    `Gaussian`; noise_prior: `NoiseScales` of sensors whose noise is unknown. The result is the
    product of all densities over all but one of the priors, which is exact for Gaussian mixtures.
    If recordings differ by more than their covariances allow, these are inflated by the
    `disagreement`. prune, twins: weight and squared distance below which components are pruned and
    merged.
    """
    less = disagreement(posteriors, prior)
    first, *others = (_inflated(_informations(each, prior), less) for each in posteriors)
    merged = _pruned(first, prune, twins)
    for other in others:
        product = _product(merged, _pruned(other, prune, twins), noise_prior)
        merged = _pruned(product, prune, twins)
    covariances = np.linalg.inv(merged.precisions)
    whitened = np.linalg.cholesky(covariances)
    means = (covariances @ merged.shifts[..., None])[..., 0]
    return Mixture(
        log_normalized(merged.log_scales),
        np.zeros((0, len(means))),
        prior.mean[:, None] + prior.root @ means.T,
        prior.root @ whitened,
        noises=merged.noises,
    )


def disagreement(posteriors, prior):
    """
    Return the squared ratio of Birge (1932) of posteriors with one prior, 1 or more.

    It is chi^2 = sum (m_k - m)' L_k (m_k - m), with the joint mean m and the information L_k of
    recording k without the prior, over its degrees of freedom, and one where that is not
    significant.
    """
    single = [_informations(_one(mixture), prior) for mixture in posteriors]
    apart = np.array([each.precisions[0] for each in single])
    means = np.array([np.linalg.solve(each.precisions[0], each.shifts[0]) for each in single])
    unit = np.eye(apart.shape[-1])
    own = apart - unit
    together = unit + own.sum(0)
    away = means - np.linalg.solve(together, sum(each.shifts[0] for each in single))
    squares = np.einsum('ki,kij,kj->', away, own, away)
    # Effective numbers of parameters that each determines, less those that all determine.
    degrees = np.trace(np.linalg.solve(apart, own), axis1=1, axis2=2).sum()
    degrees -= np.trace(np.linalg.solve(together, together - unit))
    if degrees <= 0 or squares <= chi2.isf(_CHANCE, degrees):
        return 1.0
    return float(squares / degrees)


def _one(mixture):
    """Return a mixture of one component with the mean and covariance of a mixture."""
    mean, root = mixture.spread()
    return Mixture(np.zeros(1), np.zeros((0, 1)), mean[:, None], root[None])


def _inflated(info, times):
    """Return an `_Information` with the information of the data divided by a factor."""
    unit = np.eye(info.shifts.shape[1])
    precisions = unit + (info.precisions - unit) / times
    return replace(info, precisions=precisions, shifts=info.shifts / times)


def matched(mixture):
    """Return the `Gaussian` with the mean and covariance of a mixture."""
    return Gaussian(*mixture.spread())


def _informations(mixture, prior):
    """
    Return the `_Information` of a posterior.

    In directions in which a component is wider than the prior it gets the prior's precision: only
    rounding, or an estimator that is not calibrated, makes it wider.
    """
    inverse = np.linalg.inv(prior.root)
    roots = inverse @ mixture.parameter_roots()
    precisions = np.linalg.inv(roots @ np.swapaxes(roots, 1, 2))
    means = (inverse @ (mixture.means - prior.mean[:, None])).T
    sizes, axes = np.linalg.eigh(precisions)
    shifts = sizes * np.einsum('kij,ki->kj', axes, means)
    shifts = np.where(sizes > 1.0, shifts, 0.0)
    scaled = axes * np.maximum(sizes, 1.0)[:, None]
    return _Information(
        mixture.log_weights,
        scaled @ np.swapaxes(axes, 1, 2),
        np.einsum('kij,kj->ki', axes, shifts),
        mixture.noises,
    )


def _product(a, b, noise_prior):
    """Return the product of a and b over the prior: all pairs of components."""
    size = a.shifts.shape[1]
    precisions = (a.precisions[:, None] + b.precisions[None] - np.eye(size)).reshape(
        -1, size, size
    )
    shifts = (a.shifts[:, None] + b.shifts[None]).reshape(-1, size)
    log_scales = (
        (a.log_scales + _log_constant(a))[:, None] + (b.log_scales + _log_constant(b))[None]
    ).ravel()
    noises = None
    if noise_prior is not None:
        noises = a.noises.product(b.noises, noise_prior)
        parts = a.noises.log_normalizer()[:, None] + b.noises.log_normalizer()[None]
        log_scales = log_scales + noises.log_normalizer() - parts.ravel()
    product = _Information(log_scales, precisions, shifts, noises)
    return replace(product, log_scales=log_scales - _log_constant(product))


def _log_constant(info):
    """Return the log density of each component at the prior's mean, less a common constant."""
    means = np.linalg.solve(info.precisions, info.shifts[..., None])[..., 0]
    return 0.5 * np.linalg.slogdet(info.precisions)[1] - 0.5 * (info.shifts * means).sum(1)


def _pruned(info, prune, twins):
    """Return the components pruned by weight, and merged by distance."""
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
    """Return squared distances [K, K] of components, in means and in widths."""
    means = np.linalg.solve(info.precisions, info.shifts[..., None])[..., 0].T
    ratios = np.linalg.solve(info.precisions[:, None], info.precisions[None])
    widths = ((ratios - np.eye(len(means))) ** 2).sum((-1, -2))
    return distances(means, info.precisions) + widths
