"""
Noise of the sensors: densities of whitened residuals, unknown scales, and updates by such rows.

`NormalNoise` and `StudentNoise` are densities of a residual in standard deviations. Where the
standard deviation of a sensor is itself uncertain, `NoiseScales` holds the inverse gamma
distribution of its squared factor (conjugate to normal noise): a batch fits it with the cost of
`ScaledNoise`, and a filter updates it frame by frame with `update_noise_scales`.
`measure_robustly` is the measurement update of a filter for any of these densities, and
`measure_with_scales` the same with the scales of sensors learned.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, polygamma

from .gaussian import measure, Update

# Bounds of the search for the shape of a gamma prior: from no knowledge to parts in a million.
_SHAPES = (1e-3, 1e12)
# Iterations of reweighting rows whose noise is not normal, in a batch and in one frame, and of
# correcting a sum of squares for the degrees of freedom that a fit has used.
_REWEIGHTINGS, _REWEIGHTINGS_OF_FRAME, _CORRECTIONS = 20, 3, 10
# One frame reduces a variance at most to this fraction of its value.
_LEAST = 0.25


@dataclass(frozen=True)
class NormalNoise:
    """
    Normally distributed residuals.

    scale_share: information of a row about the scale of the noise, relative to a normal one.
    """

    expects_outliers = False
    scale_share = 1.0

    def cost(self, residual):
        """Return the negative log likelihood of every row, less a constant."""
        return 0.5 * residual**2

    def weight(self, residual):
        """Return the weight of every squared row in a Gauss-Newton step."""
        return np.ones_like(residual)

    def curvature(self, residual):
        """Return the second derivative of the cost, not below zero."""
        return np.ones_like(residual)


@dataclass(frozen=True)
class StudentNoise:
    """
    Student-t residuals with `degrees` of freedom, which weigh outliers down.

    A covariance is computed with the curvature, since the weight overstates the information of a
    row.
    """

    degrees: float = 4.0

    expects_outliers = True

    @property
    def scale_share(self):
        """The information of a row about the scale of the noise, relative to a normal one."""
        return self.degrees / (self.degrees + 3)

    def cost(self, residual):
        """Return the negative log likelihood of every row, less a constant."""
        return 0.5 * (self.degrees + 1) * np.log1p(residual**2 / self.degrees)

    def weight(self, residual):
        """Return the weight of every squared row in a Gauss-Newton step."""
        return (self.degrees + 1) / (self.degrees + residual**2)

    def curvature(self, residual):
        """Return the second derivative of the cost, not below zero."""
        square = residual**2
        raw = (self.degrees + 1) * (self.degrees - square) / (self.degrees + square) ** 2
        return np.maximum(raw, 0.0)


NOISES = {'normal': NormalNoise, 'student': StudentNoise}


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
        """Return the scales whose logarithms have means [J] and standard deviations [J]."""
        shapes = [brentq(_excess, *_SHAPES, args=(2 * sd,), xtol=1e-300) for sd in sds]
        rates = np.exp(2 * np.asarray(means) + digamma(shapes))
        return NoiseScales(np.array(shapes)[:, None], rates[:, None])

    @property
    def variances(self):
        """The squared factors [J, K] with which rows are weighted."""
        return self.rates / self.shapes

    def matched(self, weights):
        """Return one component with the moments that the logarithms have in a mixture."""
        return NoiseScales.of_priors(*self.moments(weights))

    def moments(self, weights):
        """Return means and standard deviations [J] of the factors' logarithms in a mixture."""
        means, deviations = self.logs()
        mean = means @ weights
        return mean, np.sqrt((deviations**2 + (means - mean[:, None]) ** 2) @ weights)

    def draw(self, weights, count, generator):
        """Return draws [J, count] of the factors' logarithms, normal within each component."""
        means, deviations = self.logs()
        chosen = generator.choice(len(weights), count, p=weights / weights.sum())
        noise = generator.standard_normal((len(means), count))
        return means[:, chosen] + deviations[:, chosen] * noise

    def product(self, other, prior):
        """Return the products [J, K * L] of all pairs of components, over their common prior."""
        shapes, rates = _pairs(self.shapes, other.shapes), _pairs(self.rates, other.rates)
        # With little data and small noise a rate may be below that of the prior.
        pooled = (shapes - prior.shapes) * rates / shapes
        less = rates - prior.rates
        return NoiseScales(shapes - prior.shapes, np.where(less > 0, less, pooled))

    def logs(self):
        """Return means and standard deviations [J, K] of the factors' logarithms."""
        mean = 0.5 * (np.log(self.rates) - digamma(self.shapes))
        return mean, 0.5 * np.sqrt(polygamma(1, self.shapes))

    def pick(self, which):
        """Return the scales of some of the components."""
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
        """Return the logarithm of the normalizing constant of the densities, [K]."""
        return (gammaln(self.shapes) - self.shapes * np.log(self.rates)).sum(0)


def _pairs(a, b):
    """Return sums [J, K * L] of rows [J, K] and [J, L]."""
    return (a[:, :, None] + b[:, None]).reshape(len(a), -1)


def _excess(shape, spread):
    return np.sqrt(polygamma(1, shape)) - spread


class ScaledNoise:
    """
    Noise of sensors whose scale is unknown, with a scale fitted to every column.

    With normal noise the cost is the marginal one, the scales integrated out.
    """

    def __init__(self, noise, sensors, prior):
        """Take the noise density, each row's index [M] into the prior or -1, and the prior."""
        self.noise, self.prior = noise, prior
        self.rows = [np.flatnonzero(sensors == j) for j in range(len(prior.shapes))]
        self._places = sensors
        self._rounds = _REWEIGHTINGS if noise.expects_outliers else 1

    def counts(self, residual):
        """Return the number of rows of each sensor, [J, K]; a missing row is zero."""
        return np.array([(residual[:, rows] != 0).sum(1) for rows in self.rows])

    def fitted(self, residual, spread=0.0, start=None):
        """
        Return the variances [J, K] that fit residuals [K, M] best.

        spread [J, K]: is added to the sums of squares; start [J, K]: the first variances of the
        reweighting.
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

    def variance_of_rows(self, variances):
        """Return the variance [K, M] of every row, one where the scale is known."""
        known = np.ones((1, variances.shape[1]))
        return np.concatenate([variances, known])[self._places].T

    def scaled(self, residual, variances):
        """Return residuals [K, M] divided by standard deviations of variances [J, K]."""
        return residual / np.sqrt(self.variance_of_rows(variances))

    def cost(self, residual):
        """Return the negative log likelihood of every row, less a constant, with the priors."""
        variances = self.fitted(residual)
        cost = self.noise.cost(self.scaled(residual, variances))
        cost = cost + 0.5 * (residual != 0) * np.log(self.variance_of_rows(variances))
        prior = self.prior.shapes * np.log(variances) + self.prior.rates / variances
        cost[:, 0] += prior.sum(0) + self.prior.log_normalizer()
        return cost

    def weight(self, residual):
        """Return the weight of every squared row in a Gauss-Newton step."""
        variances = self.fitted(residual)
        return self.noise.weight(self.scaled(residual, variances)) / self.variance_of_rows(
            variances
        )

    def curvature(self, residual):
        """Return the second derivative of the cost, not below zero."""
        variances = self.fitted(residual)
        curvature = self.noise.curvature(self.scaled(residual, variances))
        return curvature / self.variance_of_rows(variances)


def fit_noise_scales(noise, residual, slope, prior_information):
    """
    Return (information [K, n, n], `NoiseScales`) of fits, given their residuals and slopes.

    noise: `ScaledNoise`; residual [K, M]; slope [K, M, n]. The sum of squares of a fit is too
    small by the degrees of freedom of the unknowns, for which it is corrected.
    """
    turned, counts = np.swapaxes(slope, 1, 2), noise.counts(residual)
    variances, spread = noise.fitted(residual), 0.0
    for _ in range(_CORRECTIONS):
        curvature = noise.noise.curvature(noise.scaled(residual, variances))
        parts = [turned[..., r] @ (curvature[:, r, None] * slope[:, r]) for r in noise.rows]
        whole = turned @ ((curvature / noise.variance_of_rows(variances))[..., None] * slope)
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
    Return a frame's `Linearization` whitened with the estimated noise, and its log scale [K].

    sensors [m]: each row's index into the `NoiseScales`, or -1. The log scale is the sum of the
    logarithms of the standard deviations, by which the log density of the rows is lower.
    """
    known = np.ones((1, found.residual.shape[0]))
    scale = np.sqrt(np.concatenate([noises.variances, known])[sensors].T)
    cost = (_has_slope(found.slope) * np.log(scale)).sum(1)
    slope = found.slope / scale[..., None]
    return replace(found, residual=found.residual / scale, slope=slope), cost


def update_noise_scales(noises, sensors, found, update, noise):
    """
    Return the `NoiseScales` after a frame, by one step of Fisher scoring.

    found: of `whitened`; update: the measurement `Update` by it. The likelihood is that of the
    innovations: a row counts by the share of noise in the variance of its innovation.
    """
    left = found.residual + (found.slope @ update.step[..., None])[..., 0]
    squares, is_row = noise.weight(left) * left**2, _has_slope(found.slope)
    posterior = found.slope @ update.root
    shapes, rates = noises.shapes.copy(), noises.rates.copy()
    for j in range(len(shapes)):
        rows = np.flatnonzero(sensors == j)
        gram = posterior[:, rows] @ np.swapaxes(posterior[:, rows], 1, 2)
        count, taken = is_row[:, rows].sum(1), np.einsum('kii->k', gram)
        news = noise.scale_share * (count - 2 * taken + (gram**2).sum((1, 2)))
        score = squares[:, rows].sum(1) + taken - count
        after = shapes[j] + 0.5 * news
        rates[j] *= np.maximum(after + 0.5 * score, _LEAST * after) / shapes[j]
        shapes[j] = after
    return NoiseScales(shapes, rates)


def _has_slope(slope):
    """Return which rows [K, m] depend on state or parameters; a missing row does not."""
    return np.abs(slope).max(-1, initial=0.0) > 0


def measure_robustly(roots, found, noise):
    """
    Return the measurement `Update` by the rows of one frame, and twice its cost [K].

    Where the noise is not normal, the step is found by iteratively reweighted least squares, the
    root with the curvature of the cost there, and the evidence by Laplace's approximation.
    """
    size = found.transition.shape[-2]
    update = measure(roots, found.residual, found.slope, size)
    if isinstance(noise, NormalNoise):
        return update, update.nis
    seen, weight = update.seen, noise.weight(standardised(found.residual, update.seen))
    for _ in range(_REWEIGHTINGS_OF_FRAME):
        used, scale = weight, np.sqrt(weight)
        update = measure(roots, scale * found.residual, scale[..., None] * found.slope, size)
        left = found.residual + (found.slope @ update.step[..., None])[..., 0]
        weight = noise.weight(left)
    scale = np.sqrt(noise.curvature(left))
    curved = measure(roots, np.zeros_like(left), scale[..., None] * found.slope, size)
    # The weighted cost less that of the rows is the cost of the step under the prior.
    of_step = update.nis - (used * left**2).sum(-1)
    cost = noise.cost(left).sum(-1) + 0.5 * np.maximum(of_step, 0.0)
    rows = left.shape[-1]
    log_evidence = curved.log_evidence + 0.5 * rows * np.log(2 * np.pi) - cost
    return Update(update.step, curved.root, 2 * cost, log_evidence, seen), 2 * cost


def measure_with_scales(roots, found, noise, noises, sensors, mean=None):
    """
    Return (`Linearization` as used, `Update`, cost [K], `NoiseScales` after, log scale [K]).

    The measurement update by one frame, of a filter as of a smoother about its trajectory. Rows
    are whitened with the scales of sensors before, and their residuals are innovations: of
    `mean` [K, n], deviations of the prediction from the point of linearization; None: from there.
    noises: `NoiseScales` or None, sensors: as of `whitened`. The log evidence of the rows is that
    of the `Update`, which is of whitened rows, less the log scale.
    """
    log_scale = 0.0
    if noises is not None:
        found, log_scale = whitened(noises, sensors, found)
    if mean is not None:
        innovation = found.residual + (found.slope @ mean[..., None])[..., 0]
        found = replace(found, residual=innovation)
    update, cost = measure_robustly(roots, found, noise)
    if noises is not None:
        noises = update_noise_scales(noises, sensors, found, update, noise)
    return found, update, cost, noises, log_scale


def standardised(residual, seen):
    """
    Return residuals [..., m] in standard deviations of the innovation.

    seen [..., m, n]: slope times root, so that the innovation's covariance is seen seen' + 1.
    """
    return residual / np.sqrt(1.0 + (seen**2).sum(-1))


def is_measured(residual, slope):
    """
    Return which rows [..., m] of a `Linearization` are measurements; slope [..., m, n].

    Padding, for rows that only other columns have, is zero in residual and slope. A row that no
    unknown moves, such as the height of a robot in a plane, has a residual.
    """
    return (np.abs(slope).max(-1, initial=0.0) > 0) | (residual != 0)


def padding_evidence(rows, noise):
    """
    Return by how much padding has lowered the log evidence of `measure`, [...].

    rows [..., m]: of `is_measured`.
    """
    if not isinstance(noise, NormalNoise):
        return np.zeros(rows.shape[:-1])
    return 0.5 * np.log(2 * np.pi) * (~rows).sum(-1)
