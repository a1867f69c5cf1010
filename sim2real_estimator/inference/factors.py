"""
Factorisations of small matrices, the batch first.

Of a few of them most of the time is what NumPy does around LAPACK. These are handed to it one by
one, as the rows that it takes for columns, so that nothing is copied back and forth.
"""

from functools import lru_cache

import numpy as np
from scipy.linalg import lapack

# Of more than these NumPy, which goes over them in C, is the faster.
_FEW = 3


def cholesky(squares):
    """Return lower triangular L [B, n, n] with L L' = squares [B, n, n], which are overwritten."""
    if len(squares) > _FEW or not squares.size:
        return np.linalg.cholesky(squares)
    for square in squares:
        factor, info = lapack.dpotrf(square.T, overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError('a matrix that should be positive definite is not')
        square[...] = factor.T
    return squares


def inverse_of_lower(factors):
    """Return the inverses of lower triangular matrices [B, n, n], whose zeros stay exact."""
    if len(factors) > _FEW or not factors.size:
        return np.tril(np.linalg.inv(factors))
    result = factors.copy()
    for factor in result:
        factor[...] = lapack.dtrtri(factor.T, overwrite_c=1)[0].T
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
