"""Merged posteriors against the posterior of all data together."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sim2real_estimator.estimation.merging import disagreement, matched, merge
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.protocol import Gaussian

RNG = np.random.default_rng(0)
PRIOR = Gaussian(np.array([0.5, -1.0, 2.0]), np.tril(RNG.standard_normal((3, 3))) + 2 * np.eye(3))


def posterior_of(rows, values, prior=PRIOR, states=2):
    """Return the posterior of linear measurements as an estimator has it: a state besides."""
    precision = np.linalg.inv(prior.covariance)
    covariance = np.linalg.inv(precision + rows.T @ rows)
    mean = covariance @ (precision @ prior.mean + rows.T @ values)
    root = np.zeros((1, states + 3, states + 3))
    root[0, :states, :states] = np.eye(states)
    root[0, states:, states:] = np.linalg.cholesky(covariance)
    # A state that hangs on the parameters does not change what is known of them.
    root[0, :states, states:] = 0.3
    return Mixture(np.zeros(1), np.zeros((states, 1)), mean[:, None], root)


def density(mixture, points):
    """Return the density of the parameters at points [N, p]."""
    return sum(
        weight * multivariate_normal(mean, covariance).pdf(points)
        for weight, mean, covariance in zip(
            mixture.weights, mixture.means.T, mixture.parameter_covariances()
        )
    )


def test_recordings_that_differ_more_than_they_claim_count_for_less():
    rows = 10 * RNG.standard_normal((3, 3))
    # The second of them says of the first parameter what nobody else says.
    odd = rows @ (PRIOR.mean + [2.0, 0.0, 0.0])
    agreed = [posterior_of(rows, rows @ PRIOR.mean + 0.1) for _ in range(2)]
    assert disagreement(agreed, PRIOR) == 1.0
    torn = [agreed[0], posterior_of(rows, odd)]
    times = disagreement(torn, PRIOR)
    assert times > 10
    (mean, covariance), (_, claimed) = (merge(each, PRIOR).moments() for each in (torn, agreed))
    before = np.linalg.inv(PRIOR.covariance)
    told, said = np.linalg.inv(covariance) - before, np.linalg.inv(claimed) - before
    np.testing.assert_allclose(told * times, said, rtol=1e-6)
    off = mean - PRIOR.mean
    assert abs(off[0] - 1.0) < 2 * np.sqrt(covariance[0, 0])


@pytest.mark.parametrize('cuts', [(5,), (2, 7), (1, 3, 9), (0, 4)])
def test_linear_recordings_merge_exactly(cuts):
    rows, values = RNG.standard_normal((12, 3)), RNG.standard_normal(12)
    parts = zip(np.split(rows, cuts), np.split(values, cuts))
    merged = merge([posterior_of(r, v) for r, v in parts], PRIOR)
    mean, covariance = merged.moments()
    expected_mean, expected = posterior_of(rows, values).moments()
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-10)
    np.testing.assert_allclose(covariance, expected, rtol=1e-10)


def test_modes_are_multiplied_and_weighted_by_evidence():
    a = _mixture([0.7, 0.3], [[0, -1, 2], [2, -1, 1]], 0.6)
    b = _mixture([0.4, 0.6], [[0.2, -1.2, 2], [-2, 0, 3]], 0.5)
    merged = merge([a, b], PRIOR, prune=0.0)
    points = PRIOR.mean + 0.5 * RNG.standard_normal((40, 3))
    prior = multivariate_normal(PRIOR.mean, PRIOR.covariance).pdf(points)
    expected = density(a, points) * density(b, points) / prior
    ratio = density(merged, points) / expected
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


def test_one_posterior_alone_stays_as_it_is():
    alone = _mixture([0.7, 0.3], [[0, -1, 2], [2, -1, 1]], 0.6)
    merged = merge([alone], PRIOR)
    points = RNG.standard_normal((10, 3))
    np.testing.assert_allclose(density(merged, points), density(alone, points), rtol=1e-9)


def test_twins_add_their_weights_and_widths_tell_components_apart():
    twins = _mixture([0.5, 0.5], [[0, -1, 2], [0, -1, 2]], 0.6)
    assert merge([twins], PRIOR).size == 1
    wide = Mixture(twins.log_weights, twins.points, twins.means, twins.roots * [[[1]], [[0.5]]])
    assert merge([wide], PRIOR).size == 2


def test_what_is_wider_than_the_prior_tells_nothing():
    narrow = posterior_of(np.eye(3), np.zeros(3))
    wide = Mixture(np.zeros(1), np.zeros((0, 1)), np.ones((3, 1)), 2 * PRIOR.root[None])
    merged = merge([narrow, wide], PRIOR)
    np.testing.assert_allclose(merged.means, narrow.means, rtol=1e-10)
    np.testing.assert_allclose(
        merged.parameter_covariances(), narrow.parameter_covariances(), rtol=1e-10
    )


def test_the_matched_normal_has_mean_and_covariance_of_the_mixture():
    mixture = _mixture([0.7, 0.3], [[0, -1, 2], [2, -1, 1]], 0.6)
    gaussian, (mean, covariance) = matched(mixture), mixture.moments()
    np.testing.assert_allclose(gaussian.mean, mean)
    np.testing.assert_allclose(gaussian.covariance, covariance)


def _mixture(weights, means, sd):
    roots = np.repeat(sd * np.eye(3)[None], len(weights), 0)
    points = np.zeros((0, len(weights)))
    return Mixture(np.log(weights), points, np.array(means, dtype=float).T, roots)
