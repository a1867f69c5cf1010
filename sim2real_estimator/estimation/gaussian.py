"""
Batched square-root arithmetic of normal distributions; the batch comes first.

A covariance is S S', with a root S that is never squared (Potter 1963; Carlson 1973; Bierman
1977). `measure` is the measurement update, `predict` the time update of a Kalman filter in that
form.
"""

from dataclasses import dataclass

import numpy as np

from .factors import cholesky, inverse_of_lower, lower_root

# Prior standard deviations up to this, in units of the noise, may be squared: 1 + s^2 then keeps
# eight digits of the 1.
_SQUARES_WELL = 1e4


@dataclass(frozen=True)
class Update:
    """
    The result of a measurement update.

    step [B, n]: of the mean; root [B, n, n]: the posterior one; nis [B]: normalized innovation
    squared, chi-squared with as many degrees of freedom as rows; log_evidence [B]; seen [B, m, n]:
    slope times the prior root.
    """

    step: np.ndarray
    root: np.ndarray
    nis: np.ndarray
    log_evidence: np.ndarray
    seen: np.ndarray


def measure(root, residual, slope, split=0):
    """
    Return the measurement `Update` by whitened rows `residual + slope z = noise`.

    The noise has unit variance, and z the mean zero. root [B, n, n]: of the covariance of z;
    residual [B, m]; slope [B, m, n]; split: rows of the root that are zero in the first so many
    columns stay so. No matrix that could be singular is inverted.
    """
    take = _by_rows if residual.shape[-1] < root.shape[-1] else _by_columns
    return take(root, residual, slope, split)


def _by_rows(root, residual, slope, split):
    """
    Return the `Update` with matrices of the size of the rows.

    This is Potter's update for several rows at once (Andrews 1968). An orthogonal transformation
    of the columns of [1, A; 0, root], A = slope root, that makes A zero leaves [L, 0; gain, root -
    gain (L + 1)^-1 A], with L L' = 1 + A A' and gain = root A' L^-T. The two parts of the columns
    are transformed one after the other, so that each keeps its zeros.
    """
    a, root, whitener = slope @ root, root.copy(), None
    squares_well = _squares_well(a)
    for part in (slice(split), slice(split, None)):
        seen, own = a[..., part], root[..., part]
        if whitener is not None:
            seen = whitener @ seen
        factor = _information_factor(seen.swapaxes(-1, -2), squares_well)
        inverse = inverse_of_lower(factor)
        more = own @ (inverse @ seen).swapaxes(-1, -2)
        _diagonals(factor)[:] += 1.0
        eased = inverse_of_lower(factor) @ seen
        if whitener is None:
            gain, whitener = more, inverse
            own -= gain @ eased
        else:
            before = gain
            gain, whitener = gain @ inverse.swapaxes(-1, -2) + more, inverse @ whitener
            own -= (before + gain) @ eased
    missed = whitener @ residual[..., None]
    step, nis = -(gain @ missed)[..., 0], (missed[..., 0] ** 2).sum(-1)
    evidence = _log_evidence(nis, -_log_volume(whitener), residual.shape[-1])
    return Update(step, root, nis, evidence, a)


def _by_columns(root, residual, slope, _):
    """
    Return the `Update` with matrices of the size of the root, which is faster for many rows.

    With A = slope root the posterior covariance is root (1 + A'A)^-1 root'. The factor of the
    inverse is upper triangular: rows keep their leading zeros.
    """
    a = slope @ root
    factor = _information_factor(a, _squares_well(a))
    score = np.swapaxes(a, -1, -2) @ residual[..., None]
    inverse = inverse_of_lower(factor)
    half = inverse @ score
    new_root = root @ np.swapaxes(inverse, -1, -2)
    step = -(new_root @ half)[..., 0]
    nis = (residual**2).sum(-1) - (half[..., 0] ** 2).sum(-1)
    log_evidence = _log_evidence(nis, _log_volume(factor), residual.shape[-1])
    return Update(step, new_root, nis, log_evidence, a)


def _log_volume(factor):
    """Return the logarithms [B] of the determinants of triangular matrices."""
    return np.log(_diagonals(factor)).sum(-1)


def _diagonals(matrices):
    """Return a view of the diagonals [..., n] of square matrices."""
    return np.einsum('...ii->...i', matrices)


def _log_evidence(nis, log_volume, rows):
    return -0.5 * (nis + rows * np.log(2 * np.pi)) - log_volume


def _squares_well(a):
    """Tell whether squares of A are small enough for one to be added without loss."""
    return a.size == 0 or np.abs(a).max() < _SQUARES_WELL


def _information_factor(a, squares_well):
    """
    Return lower triangular L with L L' = 1 + A'A, its diagonal above zero.

    By Cholesky, or by the slower QR where the one would be lost beside squares of A.
    """
    count = a.shape[-1]
    if squares_well:
        square = np.swapaxes(a, -1, -2) @ a
        _diagonals(square)[:] += 1.0
        return cholesky(square)
    eye = np.broadcast_to(np.eye(count), (*a.shape[:-2], count, count))
    upper = np.linalg.qr(np.concatenate([a, eye], -2), mode='r')
    upper *= np.sign(_diagonals(upper))[..., None]
    return np.swapaxes(upper, -1, -2).copy()


def predict(root, transition, process_noise, walk=None):
    """
    Return the root [B, n, n] after a time update of z = (state, parameters).

    transition [B, t, n]: derivative of the new state by z; process_noise [t] or [B, t]: its
    standard deviation, of the state; walk [p, r]: root of the process noise of the parameters,
    None for none. In the result the first t columns are zero for the parameters: without a walk
    only the rows of the state have to be made triangular again.
    """
    size, n, moved = process_noise.shape[-1], root.shape[-1], transition @ root
    if walk is None and not root[:, size:, :size].any():
        wide, result = np.zeros((len(root), size, 2 * size)), root.copy()
        wide[..., :size], _diagonals(wide[..., size:])[:] = moved[..., :size], process_noise
        result[:, :size, :size], result[:, :size, size:] = lower_root(wide), moved[..., size:]
        return result
    rest, added = n - size, 0 if walk is None else walk.shape[1]
    wide = np.zeros((len(root), n, n + size + added))
    # Parameters first: their rows then fill no more columns than there are parameters.
    wide[:, :rest, :n], wide[:, rest:, :n] = root[:, size:], moved
    _diagonals(wide[:, rest:, n : n + size])[:] = process_noise
    if walk is not None:
        wide[:, :rest, n + size :] = walk
    return np.roll(lower_root(wide), size, (1, 2))


def log_normalized(log_weights):
    """Return log weights shifted so that the weights sum to one; all of zero weight stay so."""
    if log_weights.size == 1:
        return np.zeros(1) if np.isfinite(log_weights[0]) else log_weights
    top = log_weights.max()
    if np.isneginf(top):
        return log_weights
    return log_weights - top - np.log(np.exp(log_weights - top).sum())


def each_times(matrices, which, columns):
    """
    Return columns [n, B], each multiplied by matrix number `which` [B] of [A, m, n], as [m, B].

    Few matrices and many columns: those of one matrix are multiplied at once, since a copy of it
    for each column takes ten times as long.
    """
    result = np.empty((matrices.shape[1], len(which)))
    for k, matrix in enumerate(matrices):
        own = which == k
        result[:, own] = matrix @ columns[:, own]
    return result
