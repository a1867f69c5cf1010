"""How noisy sensors are, where their standard deviations are not taken for granted."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, polygamma

# Shapes among which that of a prior is looked for: from no idea at all to parts in a million.
_SHAPES = (1e-3, 1e12)
# Rounds of reweighting rows whose noise is not normal, and of widening by what fits leave open.
_REWEIGHTINGS, _WIDENINGS = 20, 10
# A frame does not make a variance smaller than this part of what it was.
_LEAST = 0.25


@dataclass(frozen=True)
class NoiseScales:
    """
    Factors on the standard deviations of J sensors, for K components.

    The inverse of each squared factor has a gamma distribution: shapes, rates [J, K].
    """

    shapes: np.ndarray
    rates: np.ndarray

    @staticmethod
    def of_priors(means, sds):
        """Return those with given means [J] and standard deviations [J] of the logarithms."""
        shapes = [brentq(_excess, *_SHAPES, args=(2 * sd,), xtol=1e-300) for sd in sds]
        rates = np.exp(2 * np.asarray(means) + digamma(shapes))
        return NoiseScales(np.array(shapes)[:, None], rates[:, None])

    @property
    def variances(self):
        """The squared factors [J, K] that rows are weighed by."""
        return self.rates / self.shapes

    def matched(self, weights):
        """Return one component of the same means and deviations of logarithms as a mixture."""
        return NoiseScales.of_priors(*self.moments(weights))

    def moments(self, weights):
        """Return means and standard deviations [J] of the factors' logarithms in a mixture."""
        means, deviations = self.logs()
        mean = means @ weights
        return mean, np.sqrt((deviations**2 + (means - mean[:, None]) ** 2) @ weights)

    def draw(self, weights, count, generator):
        """Return draws [J, count] of the factors' logarithms in a mixture, as normal ones."""
        means, deviations = self.logs()
        chosen = generator.choice(len(weights), count, p=weights / weights.sum())
        noise = generator.standard_normal((len(means), count))
        return means[:, chosen] + deviations[:, chosen] * noise

    def product(self, other, prior):
        """Return the pairs [J, K * L] of components times others over the prior they share."""
        shapes, rates = _pairs(self.shapes, other.shapes), _pairs(self.rates, other.rates)
        # Small noise of few data may have a rate below the prior's.
        pooled = (shapes - prior.shapes) * rates / shapes
        less = rates - prior.rates
        return NoiseScales(shapes - prior.shapes, np.where(less > 0, less, pooled))

    def logs(self):
        """Return means and standard deviations [J, K] of the factors' logarithms."""
        mean = 0.5 * (np.log(self.rates) - digamma(self.shapes))
        return mean, 0.5 * np.sqrt(polygamma(1, self.shapes))

    def pick(self, which):
        """Return those of some of the components."""
        return NoiseScales(self.shapes[:, which], self.rates[:, which])

    @staticmethod
    def joined(parts):
        """Return those of the components of all parts."""
        return NoiseScales(
            np.concatenate([part.shapes for part in parts], 1),
            np.concatenate([part.rates for part in parts], 1),
        )

    def tiled(self, count):
        """Return those of a mixture in which all components stand `count` times."""
        return NoiseScales(np.tile(self.shapes, count), np.tile(self.rates, count))

    def log_normalizer(self):
        """Return the logarithm of what the unscaled densities have to be divided by, [K]."""
        return (gammaln(self.shapes) - self.shapes * np.log(self.rates)).sum(0)


def _pairs(a, b):
    """Return sums [J, K * L] of rows [J, K] and [J, L]."""
    return (a[:, :, None] + b[:, None]).reshape(len(a), -1)


def _excess(shape, spread):
    return np.sqrt(polygamma(1, shape)) - spread


class ScaledNoise:
    """
    Noise as of `robust`, of sensors whose scale is unknown: every column fits its own.

    With normal noise the cost is that of the scales integrated out.
    """

    def __init__(self, noise, sensors, prior):
        """Take the noise of rows of known scale, each row's entry [M] of the prior, or -1."""
        self.noise, self.prior = noise, prior
        self.rows = [np.flatnonzero(sensors == j) for j in range(len(prior.shapes))]
        self._places = sensors
        self._rounds = _REWEIGHTINGS if noise.expects_outliers else 1

    def counts(self, residual):
        """Return how many rows of each sensor there are [J, K]; missing ones are zero."""
        return np.array([(residual[:, rows] != 0).sum(1) for rows in self.rows])

    def fitted(self, residual, spread=0.0, start=None):
        """
        Return the variances [J, K] that fit residuals [K, M] best.

        spread [J, K]: what is added to the sums of squares; start: of the reweighting.
        """
        shapes = self.prior.shapes + 0.5 * self.counts(residual)
        squares = residual**2
        variances = start
        for k in range(self._rounds + (start is None)):
            weight = np.ones_like(residual)
            if k or start is not None:
                weight = self.noise.weight(self.scaled(residual, variances))
            sums = np.array([(weight * squares)[:, rows].sum(1) for rows in self.rows])
            variances = (self.prior.rates + 0.5 * (sums + spread)) / shapes
        return variances

    def spread_out(self, variances):
        """Return the variance [K, M] of every row; one where the scale is known."""
        known = np.ones((1, variances.shape[1]))
        return np.concatenate([variances, known])[self._places].T

    def scaled(self, residual, variances):
        """Return residuals in standard deviations of that size."""
        return residual / np.sqrt(self.spread_out(variances))

    def cost(self, residual):
        """Return the negative log likelihood of every row, less a constant; priors included."""
        variances = self.fitted(residual)
        cost = self.noise.cost(self.scaled(residual, variances))
        cost = cost + 0.5 * (residual != 0) * np.log(self.spread_out(variances))
        prior = self.prior.shapes * np.log(variances) + self.prior.rates / variances
        cost[:, 0] += prior.sum(0) + self.prior.log_normalizer()
        return cost

    def weight(self, residual):
        """Return the weight of every squared row in a Gauss-Newton step."""
        variances = self.fitted(residual)
        return self.noise.weight(self.scaled(residual, variances)) / self.spread_out(variances)

    def curvature(self, residual):
        """Return the second derivative of the cost, not below zero."""
        variances = self.fitted(residual)
        bend = self.noise.curvature(self.scaled(residual, variances))
        return bend / self.spread_out(variances)


def settled(noise, residual, slope, prior_information):
    """
    Return (information [K, n, n], `NoiseScales`) of fits, given their residuals and slopes.

    noise: `ScaledNoise`; residual [K, M]; slope [K, M, n]. Fits follow the noise: the sum of
    squares they leave is too small by what the unknowns have taken up, which is put back.
    """
    turned, counts = np.swapaxes(slope, 1, 2), noise.counts(residual)
    variances, spread = noise.fitted(residual), 0.0
    for _ in range(_WIDENINGS):
        bend = noise.noise.curvature(noise.scaled(residual, variances))
        parts = [turned[..., r] @ (bend[:, r, None] * slope[:, r]) for r in noise.rows]
        whole = turned @ ((bend / noise.spread_out(variances))[..., None] * slope)
        covariance = np.linalg.inv(whole + prior_information)
        taken = [covariance @ part for part in parts]
        spread = np.array([np.einsum('kii->k', t) for t in taken])
        variances = noise.fitted(residual, spread, variances)
    twice = np.array([np.einsum('kij,kji->k', t, t) for t in taken])
    news = counts - 2 * spread / variances + twice / variances**2
    shapes = noise.prior.shapes + 0.5 * noise.noise.scale_share * news
    return whole + prior_information, NoiseScales(shapes, shapes * variances)


def whitened(noises, sensors, found):
    """
    Return a frame's `Linearization` in the deviations that noise really has, and its cost [K].

    sensors [m]: each row's entry of the `NoiseScales`, or -1; the cost: sum of the logarithms
    that the density of the rows is divided by.
    """
    known = np.ones((1, found.residual.shape[0]))
    scale = np.sqrt(np.concatenate([noises.variances, known])[sensors].T)
    cost = (_is_row(found.slope) * np.log(scale)).sum(1)
    slope = found.slope / scale[..., None]
    return replace(found, residual=found.residual / scale, slope=slope), cost


def learned(noises, sensors, found, update, noise):
    """
    Return the `NoiseScales` after a frame.

    found: of `whitened`; update: the `Update` by it. A step of Fisher's scoring on the likelihood
    of what was predicted: a row counts by how much of its surprise is noise, not the state's.
    """
    left = found.residual + (found.slope @ update.step[..., None])[..., 0]
    squares, is_row = noise.weight(left) * left**2, _is_row(found.slope)
    doubt = found.slope @ update.root
    shapes, rates = noises.shapes.copy(), noises.rates.copy()
    for j in range(len(shapes)):
        rows = np.flatnonzero(sensors == j)
        gram = doubt[:, rows] @ np.swapaxes(doubt[:, rows], 1, 2)
        count, taken = is_row[:, rows].sum(1), np.einsum('kii->k', gram)
        news = noise.scale_share * (count - 2 * taken + (gram**2).sum((1, 2)))
        score = squares[:, rows].sum(1) + taken - count
        after = shapes[j] + 0.5 * news
        rates[j] *= np.maximum(after + 0.5 * score, _LEAST * after) / shapes[j]
        shapes[j] = after
    return NoiseScales(shapes, rates)


def _is_row(slope):
    """Return which rows [K, m] are of something measured."""
    return np.abs(slope).max(-1, initial=0.0) > 0
