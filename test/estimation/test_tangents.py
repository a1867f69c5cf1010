"""All parameters of a mixture, where what is estimated are some directions of them."""

import numpy as np
import pytest

from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.observability.tangents import Tangents


def tangents(at):
    """Return those of three parameters, of which the sum of the first two is known."""
    at = np.array(at, dtype=float)
    count = at.shape[1]
    points = np.stack([at[0], at[0], np.zeros(count)])
    slopes = np.tile(np.array([[[0.5], [0.5], [0.0]]]), (count, 1, 1))
    across = np.array([1.0, -1.0, 0.0])
    blind = np.diag([0.0, 0.0, 0.04]) + 0.09 * np.outer(across, across)
    return Tangents(at, points, slopes, np.tile(blind, (count, 1, 1)), 2 * np.eye(1))


def mixture(weights, means, sds):
    means = np.array([means], dtype=float)
    roots = np.array(sds, dtype=float)[:, None, None]
    return Mixture(np.log(weights), np.zeros((0, means.shape[1])), means, roots)


def test_what_is_left_unseen_is_added_to_what_is_known():
    mean, covariance = tangents([[1.0]]).moments(mixture([1.0], [1.2], [0.1]))
    np.testing.assert_allclose(mean, [1.1, 1.1, 0.0])
    expected = [[0.0925, -0.0875, 0.0], [-0.0875, 0.0925, 0.0], [0.0, 0.0, 0.04]]
    np.testing.assert_allclose(covariance, expected, atol=1e-15)


def test_small_parameters_are_as_unseen_as_large_ones():
    size = np.array([1.0, 1e-9, 1e-3])
    places = tangents([[1.0]])
    blind = places.blind * size * size[:, None]
    points, slopes = size[:, None] * places.points, size[:, None] * places.slopes
    small = Tangents(places.at, points, slopes, blind, places.metric)
    at = mixture([0.5, 0.5], [1.2, 1.1], [0.1, 0.2])
    _, expected = places.moments(at)
    _, root = small.spread(at)
    np.testing.assert_allclose(root @ root.T, expected * size * size[:, None], rtol=1e-11)


def test_every_component_follows_the_nearest_place():
    places, bimodal = tangents([[1.0, -3.0]]), mixture([0.25, 0.75], [1.1, -3.2], [0.1, 0.2])
    np.testing.assert_allclose(
        places.follow(bimodal.means), [[1.05, -3.1], [1.05, -3.1], [0.0, 0.0]]
    )
    mean, covariance = places.moments(bimodal)
    np.testing.assert_allclose(mean, [-2.0625, -2.0625, 0.0])
    draws = places.draw(bimodal.draw(20000, np.random.default_rng(0)), np.random.default_rng(1))
    np.testing.assert_allclose(draws.mean(1), mean, atol=0.05)
    # Its standard error is 0.026.
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.1)


def test_one_place_gives_what_the_same_place_twice_gives():
    bimodal = mixture([0.25, 0.75], [1.1, 0.8], [0.1, 0.2])
    for one, other in zip(
        tangents([[1.0]]).moments(bimodal), tangents([[1.0, 1.0]]).moments(bimodal)
    ):
        np.testing.assert_allclose(one, other, atol=1e-15)


def test_they_serve_as_long_as_the_mean_is_near_in_units_of_the_prior():
    places = tangents([[1.0]])
    # A deviation of the prior is 0.5 here.
    assert places.hold(mixture([0.5, 0.5], [0.0, 2.018], [0.1, 0.1]), 0.02)
    assert not places.hold(mixture([1.0], [1.011], [0.1]), 0.02)
    assert places.reach(np.array([[1.009]]), 0.02)
    assert not places.reach(np.array([[1.0, 1.0]]), 0.02)


def test_a_draw_without_anything_unseen_is_what_is_estimated():
    eye = np.eye(2)
    places = Tangents(np.zeros((2, 1)), np.zeros((2, 1)), eye[None], np.zeros((1, 2, 2)), eye)
    draws = np.random.default_rng(0).standard_normal((2, 5))
    assert np.array_equal(places.draw(draws, np.random.default_rng(1)), draws)
    assert places.is_straight and not tangents([[1.0]]).is_straight
    assert places.hold(mixture([1.0], [1.0], [1.0]), 0.01) is True
    assert places.moments(two(draws[:, :1]))[0] == pytest.approx(draws[:, 0])


def two(means):
    return Mixture(np.zeros(1), np.zeros((0, 1)), means, np.eye(2)[None])
