"""Batched square-root arithmetic of normal distributions; the batch comes first."""

from dataclasses import dataclass

import numpy as np

from .factors import cholesky, inverse_of_lower, lower_root

# Rows up to this many standard deviations keep eight digits of the one that is added.
_SQUARES_WELL = 1e4


@dataclass(frozen=True)
class Update:
    """
    A measurement taken in.

    step [B, n] of the mean; root [B, n, n]: the new one; nis [B]: normalised innovation squared,
    chi-squared with as many degrees as rows; log_evidence [B]; seen [B, m, n]: the old root as
    the rows see it.
    """

    step: np.ndarray
    root: np.ndarray
    nis: np.ndarray
    log_evidence: np.ndarray
    seen: np.ndarray


def measure(root, residual, slope, split=0):
    """
    Take in whitened rows `residual + slope z = noise` of unit variance.

    root [B, n, n] of the covariance of z around zero; residual [B, m]; slope [B, m, n]; split:
    where the first so many columns of a root are zero in some of its rows, they stay so. No
    matrix that could be singular is ever inverted.
    """
    take = _by_rows if residual.shape[-1] < root.shape[-1] else _by_columns
    return take(root, residual, slope, split)


def _by_rows(root, residual, slope, split):
    """
    Return what `measure` does, by matrices of the size of the rows.

    Noise and root stand side by side: [1, A] above [0, root], with A = slope root. What turns
    the columns until A is zero leaves [L, 0] above [gain, root - gain (L + 1)^-1 A], where
    L L' = 1 + A A' and gain = root A' L^-T (Andrews). The two parts of the columns are turned one
    after the other, so that each keeps its zeros; the second finds L and gain of the first.
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
    Return what `measure` does, by matrices of the size of the root: for many rows the faster.

    With A = slope root the posterior covariance is root (1 + A'A)^-1 root'. Its factor is upper
    triangular: whatever is zero on the left of a row stays so.
    """
    a = slope @ root
    factor = _information_factor(a, _squares_well(a))
    pulled = np.swapaxes(a, -1, -2) @ residual[..., None]
    inverse = inverse_of_lower(factor)
    half = inverse @ pulled
    new_root = root @ np.swapaxes(inverse, -1, -2)
    step = -(new_root @ half)[..., 0]
    nis = (residual**2).sum(-1) - (half[..., 0] ** 2).sum(-1)
    log_evidence = _log_evidence(nis, _log_volume(factor), residual.shape[-1])
    return Update(step, new_root, nis, log_evidence, a)


def _log_volume(factor):
    """Return the logarithms [B] of the determinants of triangular matrices."""
    return np.log(_diagonals(factor)).sum(-1)


def _diagonals(matrices):
    """Return the diagonals [..., n] of square matrices; what is written there is in these."""
    return np.einsum('...ii->...i', matrices)


def _log_evidence(nis, log_volume, rows):
    return -0.5 * (nis + rows * np.log(2 * np.pi)) - log_volume


def _squares_well(a):
    """Tell whether squares of A are so small that one is not lost beside them."""
    return a.size == 0 or np.abs(a).max() < _SQUARES_WELL


def _information_factor(a, squares_well):
    """
    Return lower triangular L with L L' = 1 + A'A, its diagonal above zero.

    By Cholesky, or by the slower QR where squaring A would lose the one.
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


def predict(root, transition, floor, walk=None):
    """
    Return the root after z = (state, parameters) has moved on.

    transition [B, t, n]: the new state by z; floor [t] or [B, t]: standard deviations that are
    added to the state's; walk [p, r]: root of what is added to the parameters' covariance, None
    for nothing. The first t columns of what is returned are zero for the parameters, so that as
    long as these stay what they are, only that part has to be made square again.
    """
    size, n, moved = floor.shape[-1], root.shape[-1], transition @ root
    if walk is None and not root[:, size:, :size].any():
        wide, result = np.zeros((len(root), size, 2 * size)), root.copy()
        wide[..., :size], _diagonals(wide[..., size:])[:] = moved[..., :size], floor
        result[:, :size, :size], result[:, :size, size:] = lower_root(wide), moved[..., size:]
        return result
    rest, added = n - size, 0 if walk is None else walk.shape[1]
    wide = np.zeros((len(root), n, n + size + added))
    # Parameters come first: so they need no more columns than they are.
    wide[:, :rest, :n], wide[:, rest:, :n] = root[:, size:], moved
    _diagonals(wide[:, rest:, n : n + size])[:] = floor
    if walk is not None:
        wide[:, :rest, n + size :] = walk
    return np.roll(lower_root(wide), size, (1, 2))


def log_normalized(log_weights):
    """Return log weights shifted so that the weights sum to one; all of none stay so."""
    if log_weights.size == 1:
        return np.zeros(1) if np.isfinite(log_weights[0]) else log_weights
    top = log_weights.max()
    if np.isneginf(top):
        return log_weights
    return log_weights - top - np.log(np.exp(log_weights - top).sum())


def each_times(matrices, which, columns):
    """
    Return columns [m, B] of [n, B], each times its own of matrices [A, m, n]: number which [B].

    The matrices are few and the columns many: all of one matrix at once, since a copy of it for
    each column takes ten times as long.
    """
    result = np.empty((matrices.shape[1], len(which)))
    for k, matrix in enumerate(matrices):
        own = which == k
        result[:, own] = matrix @ columns[:, own]
    return result
