"""Few matrices and many are factorised alike, whichever library does it."""

import numpy as np
import pytest

from sim2real_estimator.estimation.factors import cholesky, inverse_of_lower, lower_root

COUNTS = (0, 1, 3, 4, 9)


def drawn(count, rows, columns):
    return np.random.default_rng(count).standard_normal((count, rows, columns))


def times_itself(roots):
    return roots @ roots.swapaxes(1, 2)


def is_lower(matrices):
    return not np.triu(matrices, 1).any()


@pytest.mark.parametrize('count', COUNTS)
@pytest.mark.parametrize('size', [0, 1, 6])
def test_a_square_has_its_lower_root(count, size):
    squares = times_itself(drawn(count, size, size + 3))
    found = cholesky(squares.copy())
    np.testing.assert_allclose(times_itself(found), squares, atol=1e-12)
    assert is_lower(found) and (np.einsum('bii->bi', found) > 0).all()


@pytest.mark.parametrize('count', [1, 5])
@pytest.mark.parametrize('bad', [np.diag([1.0, -1.0]), np.full((2, 2), np.nan)])
def test_what_is_no_square_spoils_no_other(count, bad):
    squares = np.tile(4 * np.eye(2), (count, 1, 1))
    squares[0] = bad
    found = cholesky(squares)
    assert np.isnan(found[0]).any()
    np.testing.assert_array_equal(found[1:], np.tile(2 * np.eye(2), (count - 1, 1, 1)))


@pytest.mark.parametrize('count', [1, 5])
def test_what_has_no_inverse_spoils_no_other(count):
    lower = np.tile(2 * np.eye(2), (count, 1, 1))
    lower[0, 1, 1] = 0.0
    found = inverse_of_lower(lower)
    assert np.isnan(found[0]).all()
    np.testing.assert_array_equal(found[1:], np.tile(0.5 * np.eye(2), (count - 1, 1, 1)))


@pytest.mark.parametrize('count', COUNTS)
@pytest.mark.parametrize('size', [0, 1, 6])
def test_the_inverse_of_a_lower_one_is_lower(count, size):
    lower = np.tril(drawn(count, size, size)) + 3 * np.eye(size)
    kept, found = lower.copy(), inverse_of_lower(lower)
    np.testing.assert_allclose(found @ lower, np.tile(np.eye(size), (count, 1, 1)), atol=1e-12)
    assert is_lower(found)
    np.testing.assert_array_equal(lower, kept)


@pytest.mark.parametrize('count', COUNTS)
@pytest.mark.parametrize('shape', [(1, 1), (4, 4), (4, 9)])
def test_many_columns_become_a_lower_root(count, shape):
    wide = drawn(count, *shape)
    found = lower_root(wide.copy())
    np.testing.assert_allclose(times_itself(found), times_itself(wide), atol=1e-12)
    assert is_lower(found) and found.shape == (count, shape[0], shape[0])


def test_what_is_not_finite_stays_so():
    wide = np.full((1, 2, 4), np.nan)
    assert not np.isfinite(lower_root(wide)).any(2).any()
