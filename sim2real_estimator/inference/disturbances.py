"""A bank of hypotheses on how much the robot is disturbed."""

from dataclasses import replace

import numpy as np

from .factors import lower_root
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
    copies = np.repeat(np.array(scales, dtype=float), mixture.size)
    return with_scales(
        Mixture(
            log_normalized(np.tile(mixture.log_weights, len(scales))),
            np.tile(mixture.points, len(scales)),
            np.tile(mixture.means, len(scales)),
            np.tile(mixture.roots, (len(scales), 1, 1)),
            copies,
            None if mixture.noises is None else mixture.noises.tiled(len(scales)),
        ),
        size,
        forgotten(prior),
    )


def forgotten(prior):
    """Return the root [p, p] of what is added to what was learnt as if nothing disturbed."""
    return np.sqrt(_FORGOTTEN) * prior.root


def with_scales(mixture, size, forgotten=None):
    """
    Return a mixture whose disturbances are as uncertain as their scales say.

    size: how many entries of the state are disturbances; forgotten [p, p] or None: root of what
    is added to the parameters' covariance of components that reckon with any.
    """
    if not size:
        return mixture
    n, parameters = mixture.roots.shape[-1], len(mixture.means)
    rows = np.arange(n - parameters - size, n - parameters)
    wide = np.zeros((mixture.size, n, n + size + parameters))
    wide[..., :n] = mixture.roots
    wide[:, rows, :n] = 0.0
    wide[:, rows, n + np.arange(size)] = mixture.scales[:, None]
    if forgotten is not None:
        disturbed = (mixture.scales > 0)[:, None, None]
        wide[:, n - parameters :, n + size :] = np.where(disturbed, forgotten, 0.0)
    return replace(mixture, roots=lower_root(wide))
