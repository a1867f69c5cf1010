"""Steps to where symmetric matrices are positive definite."""

import numpy as np

from sim2real_estimator.posterior.export.possible_bodies import interior_point


def random_case(seed, count=6, size=4, steps=3):
    """Return (matrices [D, 2, n, n], slopes [D, k, 2, n, n]) that some step makes positive."""
    rng = np.random.default_rng(seed)
    slopes = rng.standard_normal((count, steps, 2, size, size))
    slopes = slopes + np.swapaxes(slopes, -1, -2)
    root = rng.standard_normal((count, 2, size, size))
    inside = root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(size)
    there = rng.standard_normal((count, steps))
    return inside - np.einsum('dklij,dk->dlij', slopes, there), slopes


def test_a_way_inside_is_found_where_there_is_one():
    matrices, slopes = random_case(0)
    steps, is_inside = interior_point(matrices, slopes, np.ones(slopes.shape[:2]))
    assert is_inside.all()
    moved = matrices + np.einsum('dklij,dk->dlij', slopes, steps)
    assert (np.linalg.eigvalsh(moved) > 0).all()


def test_where_there_is_none_it_is_said():
    matrices, slopes = random_case(1)
    slopes = slopes - np.trace(slopes, axis1=-2, axis2=-1)[..., None, None] * np.eye(4) / 4
    # Without a trace they cannot make up for one below zero.
    matrices = matrices - 100 * np.eye(4)
    _, is_inside = interior_point(matrices, slopes, np.ones(slopes.shape[:2]))
    assert not is_inside.any()


def test_the_way_is_about_the_shortest():
    # x >= 1 by a step of x, or of y at a hundredth of the effect.
    matrices = np.array([[[[-1.0]]]])
    slopes = np.array([[[[[1.0]]], [[[0.01]]]]])
    steps, is_inside = interior_point(matrices, slopes, np.ones((1, 2)))
    assert is_inside.all()
    np.testing.assert_allclose(steps, [[1.0, 0.01]], atol=2e-3)


def test_each_is_solved_as_if_alone():
    matrices, slopes = random_case(2)
    together = interior_point(matrices, slopes, np.ones(slopes.shape[:2]))[0]
    alone = interior_point(matrices[3:4], slopes[3:4], np.ones((1, 3)))[0]
    np.testing.assert_allclose(together[3:4], alone, atol=1e-6)


def test_what_is_inside_by_rounding_alone_is_led_inside():
    wide = np.array([[1.0, 1.6], [0.6, 1.4], [1.2, 0.2], [0.8, 1.4]])
    # Of rank two but for a rounding, which is another one on each processor.
    matrices = (wide @ wide.T + 4e-15 * np.eye(4))[None, None]
    assert np.linalg.eigvalsh(matrices)[..., 0] > 0
    slopes = np.stack([np.eye(4), np.diag([1.0, 2.0, 3.0, 4.0])])[None, :, None]
    steps, is_inside = interior_point(matrices, slopes, np.ones((1, 2)))
    assert is_inside.all()
    moved = matrices + np.einsum('dklij,dk->dlij', slopes, steps)
    assert np.linalg.eigvalsh(moved).min() > 1e-6
