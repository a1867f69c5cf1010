"""
Factorizations of batches of small matrices, the batch first.

For a few matrices most of NumPy's time is spent around LAPACK. These are passed to LAPACK one by
one, transposed, so that nothing is copied into its column order.
"""

from functools import lru_cache, partial

import numpy as np
from scipy.linalg import lapack
from scipy.linalg import solve_triangular as solve_checked

# As in SciPy, but numbers that are not finite are no error: the result is not finite either.
solve_triangular = partial(solve_checked, check_finite=False)
# For more matrices than this the loop of NumPy is faster.
_FEW = 3


def cholesky(squares):
    """
    Return lower triangular L [B, n, n] with L L' = squares [B, n, n], which are overwritten.

    L is NaN where a matrix is not positive definite; the others of the batch are not affected.
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


def root_of(covariance, rounding=None):
    """
    Return a root [n, r] of a covariance [n, n] that may be singular.

    Exact for small entries beside large ones as well; the row of what is known exactly is zero.
    r is n, or the number of the correlations' eigenvalues above `rounding`.
    """
    deviations = np.sqrt(np.diag(covariance).clip(0))
    scale = np.where(deviations > 0, deviations, 1.0)
    sizes, directions = np.linalg.eigh(covariance / scale / scale[:, None])
    if rounding is not None:
        sizes, directions = sizes[sizes > rounding], directions[:, sizes > rounding]
    return scale[:, None] * directions * np.sqrt(sizes.clip(0))


def inverse_of_lower(factors):
    """
    Return the inverses of lower triangular matrices [B, n, n], with exact zeros.

    An inverse is NaN where a matrix is singular.
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

    By QR: a Cholesky factor of W W' would lose precise directions beside uncertain ones.
    """
    if len(wide) > _FEW or not wide.size:
        return np.swapaxes(np.linalg.qr(np.swapaxes(wide, -1, -2), mode='r'), -1, -2)
    size = wide.shape[1]
    result = np.empty((len(wide), size, size))
    for root, each in zip(result, wide):
        # Below the diagonal LAPACK leaves the Householder vectors.
        np.multiply(lapack.dgeqrf(each.T)[0][:size].T, _lower(size), out=root)
    return result


@lru_cache
def _lower(size):
    """Return the matrix [n, n] with ones on the diagonal and below."""
    return np.tri(size)
