"""
Factorisations of small matrices, the batch first.

Of a few of them most of the time is what NumPy does around LAPACK. These are handed to it one by
one, as the rows that it takes for columns, so that nothing is copied back and forth.
"""

from functools import lru_cache, partial

import numpy as np
from scipy.linalg import lapack
from scipy.linalg import solve_triangular as solve_checked

# That of SciPy, but for what is not finite: that is no error, and shows in what comes out.
solve_triangular = partial(solve_checked, check_finite=False)
# Of more than these NumPy, which goes over them in C, is the faster.
_FEW = 3


def cholesky(squares):
    """
    Return lower triangular L [B, n, n] with L L' = squares [B, n, n], which are overwritten.

    It is NaN where a matrix is not positive definite: one of a batch spoils no other.
    """
    if len(squares) > _FEW or not squares.size:
        try:
            return np.linalg.cholesky(squares)
        except np.linalg.LinAlgError:
            pass
    for square in squares:
        factor, info = lapack.dpotrf(square.T, overwrite_a=1)
        square[...] = np.nan if info else factor.T
    return squares


def inverse_of_lower(factors):
    """
    Return the inverses of lower triangular matrices [B, n, n], whose zeros stay exact.

    They are NaN where a matrix has none, as in `cholesky`.
    """
    if len(factors) > _FEW or not factors.size:
        try:
            return np.tril(np.linalg.inv(factors))
        except np.linalg.LinAlgError:
            pass
    result = factors.copy()
    for factor in result:
        inverse, info = lapack.dtrtri(factor.T, overwrite_c=1)
        factor[...] = np.nan if info else inverse.T
    return result


def lower_root(wide):
    """
    Return lower triangular L [B, n, n] with L L' = W W', for W [B, n, r], r >= n.

    By way of W W' what is known to the last digits would be lost next to what is not.
    """
    if len(wide) > _FEW or not wide.size:
        return np.swapaxes(np.linalg.qr(np.swapaxes(wide, -1, -2), mode='r'), -1, -2)
    size = wide.shape[1]
    result = np.empty((len(wide), size, size))
    for root, each in zip(result, wide):
        # Below the diagonal LAPACK leaves what the reflections were.
        np.multiply(lapack.dgeqrf(each.T)[0][:size].T, _lower(size), out=root)
    return result


@lru_cache
def _lower(size):
    """Return the matrix [n, n] that is one on the diagonal and below, zero above."""
    return np.tri(size)
