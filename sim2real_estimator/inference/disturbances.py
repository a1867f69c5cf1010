"""A bank of hypotheses on how much the robot is disturbed."""

import numpy as np

from .gaussian import log_normalized
from .mixture import Mixture

# Part of the prior's covariance that a disturbed component begins with besides: the batch knew
# of no disturbance and was too sure.
_FORGOTTEN = 0.05


def spread_over_bank(mixture, scales, size, prior):
    """
    Return a mixture in which every component stands once for every scale of disturbance.

    scales: standard deviations, 0 for none; size: how many entries of the state are
    disturbances; prior: `Gaussian` of the parameters.
    """
    if not size:
        return mixture
    parts = [_with_scale(mixture, scale, size, prior) for scale in scales]
    return Mixture(
        log_normalized(np.tile(mixture.log_weights, len(scales))),
        np.tile(mixture.points, len(scales)),
        np.tile(mixture.means, len(scales)),
        np.concatenate(parts),
        np.repeat(np.array(scales, dtype=float), mixture.size),
    )


def _with_scale(mixture, scale, size, prior):
    """Return the roots [K, n, n] of a mixture whose disturbances have one standard deviation."""
    count, n = mixture.size, mixture.roots.shape[-1]
    state = n - len(mixture.means)
    rows = range(state - size, state)
    roots = mixture.roots.copy()
    roots[:, rows] = 0.0
    if scale == 0:
        return roots
    wide = np.zeros((count, n, n + size + len(mixture.means)))
    wide[..., :n] = roots
    wide[:, rows, range(n, n + size)] = scale
    wide[:, state:, n + size :] = np.sqrt(_FORGOTTEN) * prior.root
    return np.swapaxes(np.linalg.qr(np.swapaxes(wide, 1, 2), mode='r'), 1, 2)
