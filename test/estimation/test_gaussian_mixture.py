"""Gaussian mixtures."""

from dataclasses import replace

import numpy as np
import pytest

from sim2real_estimator.estimation.disturbances import bank, Disturbances
from sim2real_estimator.estimation.mixture import distances, distinct, Mixture


@pytest.fixture
def mixture():
    """Return two components in a state of one number and two parameters."""
    generator = np.random.default_rng(0)
    roots = generator.standard_normal((2, 3, 3))
    return Mixture(
        np.log([0.3, 0.7]), np.zeros((1, 2)), np.array([[0.0, 2.0], [1.0, -1.0]]), roots
    )


def test_moments_are_those_of_many_draws(mixture):
    draws = mixture.draw(400_000, np.random.default_rng(1))
    mean, covariance = mixture.moments()
    np.testing.assert_allclose(draws.mean(1), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.05)


def test_a_root_is_that_of_the_moments(mixture):
    mean, root = mixture.spread()
    np.testing.assert_allclose(mean, mixture.moments()[0])
    np.testing.assert_allclose(root @ root.T, mixture.moments()[1])
    assert root[0, 1] == 0.0


def test_what_is_known_a_billion_times_as_well_as_the_rest_has_a_root():
    roots = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1e-9]]])
    one = Mixture(np.zeros(1), np.zeros((1, 1)), np.zeros((2, 1)), roots)
    _, root = one.spread()
    difference = np.array([1.0, -1.0]) @ root
    assert np.linalg.norm(difference) == pytest.approx(1e-9, rel=1e-3)


def test_what_disturbances_leave_for_good_widens_the_components_that_reckon_with_any(mixture):
    lasting = np.array([[0.5, 0.0, 0.1], [0.0, 2.0, 0.0]])
    augmented = replace(mixture, disturbances=Disturbances.of(bank((0.0, 0.3))), lasting=lasting)
    before, after = mixture.parameter_covariances(), augmented.parameter_covariances()
    np.testing.assert_allclose(after[0], before[0])
    np.testing.assert_allclose(after[1] - before[1], 0.09 * lasting @ lasting.T)
    draws = augmented.draw(400_000, np.random.default_rng(1))
    np.testing.assert_allclose(np.cov(draws), augmented.moments()[1], atol=0.05)
    np.testing.assert_array_equal(augmented.pick(np.array([1])).lasting, lasting)


def test_picking_components_normalises_the_weights(mixture):
    picked = mixture.pick(np.array([1]))
    assert picked.size == 1 and picked.weights[0] == pytest.approx(1.0)
    assert mixture.heaviest() == 1


def test_twins_are_found_in_the_metric_of_the_better_one():
    means = np.array([[0.0, 0.1, 3.0]])
    informations = np.array([[[1.0]], [[1.0]], [[100.0]]])
    squared = distances(means, informations)
    assert squared[0, 1] == pytest.approx(0.01)
    assert squared[2, 0] == pytest.approx(900.0)
    assert distinct([0, 1, 2], squared) == [0, 2]
    assert distinct([2, 1, 0], squared) == [2, 1]
