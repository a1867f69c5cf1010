"""Batched square-root arithmetic of normal distributions; the batch comes first."""

from dataclasses import dataclass

import numpy as np

# Rows up to this many standard deviations keep eight digits of the one that is added.
_SQUARES_WELL = 1e4


@dataclass(frozen=True)
class Update:
    """
    A measurement taken in.

    step [B, n] of the mean; root [B, n, n]: the new one; nis [B]: normalised innovation squared,
    chi-squared with as many degrees as rows; log_evidence [B].
    """

    step: np.ndarray
    root: np.ndarray
    nis: np.ndarray
    log_evidence: np.ndarray


def measure(root, residual, slope):
    """
    Take in whitened rows `residual + slope z = noise` of unit variance.

    root [B, n, n] of the covariance of z around zero; residual [B, m]; slope [B, m, n].
    With A = slope root the posterior covariance is root (1 + A'A)^-1 root': no matrix that
    could be singular is ever inverted.
    """
    a = slope @ root
    count = a.shape[-1]
    factor = _information_factor(a)
    pulled = np.swapaxes(a, -1, -2) @ residual[..., None]
    inverse = np.linalg.solve(factor, np.broadcast_to(np.eye(count), factor.shape))
    half = inverse @ pulled
    new_root = root @ np.swapaxes(inverse, -1, -2)
    step = -(new_root @ half)[..., 0]
    nis = (residual**2).sum(-1) - (half[..., 0] ** 2).sum(-1)
    rows = residual.shape[-1]
    log_evidence = -0.5 * (nis + rows * np.log(2 * np.pi)) - np.log(
        np.abs(np.einsum('...ii->...i', factor))
    ).sum(-1)
    return Update(step, new_root, nis, log_evidence)


def _information_factor(a):
    """
    Return lower triangular L with L L' = 1 + A'A.

    By Cholesky, or by the slower QR where squaring A would lose the one.
    """
    count = a.shape[-1]
    if a.size == 0 or np.abs(a).max() < _SQUARES_WELL:
        gram = np.swapaxes(a, -1, -2) @ a
        gram[..., range(count), range(count)] += 1.0
        return np.linalg.cholesky(gram)
    eye = np.broadcast_to(np.eye(count), (*a.shape[:-2], count, count))
    return np.swapaxes(np.linalg.qr(np.concatenate([a, eye], -2), mode='r'), -1, -2)


def predict(root, transition, floor, walk=None):
    """
    Return the root after z = (state, parameters) has moved on.

    transition [B, t, n]: the new state by z; floor [t] or [B, t]: standard deviations that are
    added to the state's; walk [p, r]: root of what is added to the parameters' covariance, None
    for nothing.
    """
    size = floor.shape[-1]
    moved = np.concatenate([transition @ root, root[:, size:]], axis=1)
    noise = np.zeros((len(root), size, root.shape[-1]))
    noise[:, range(size), range(size)] = floor
    parts = [np.swapaxes(moved, -1, -2), noise]
    if walk is not None:
        turned = np.concatenate([np.zeros((walk.shape[1], size)), walk.T], axis=1)
        parts.append(np.broadcast_to(turned, (len(root), *turned.shape)))
    stacked = np.concatenate(parts, axis=1)
    return np.swapaxes(np.linalg.qr(stacked, mode='r'), -1, -2)


def log_normalized(log_weights):
    """Return log weights shifted so that the weights sum to one."""
    top = log_weights.max()
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
