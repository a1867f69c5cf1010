"""A bank of hypotheses on how much the robot is disturbed."""

from dataclasses import replace

import numpy as np

from .factors import lower_root
from .gaussian import log_normalized
from .mixture import Mixture

# Disturbances of less than this, 3 % of the friction of a joint that has any, are of its friction:
# that differs from its model by much more, but only where the joint turns round. Whether it is so,
# or something pushes the robot wherever it goes, evidence tells.
_OF_FRICTION = 0.01
# Part of the prior's covariance that a disturbed component begins with besides: the batch knew
# of no disturbance and was too sure.
_FORGOTTEN = 0.05


def are_of_friction(scales):
    """Tell of which disturbances of scales [K] most comes near reversal, [K]."""
    scales = np.asarray(scales)
    return (scales > 0) & (scales < _OF_FRICTION)


def neighbours(scales, found):
    """
    Return the scales that were found, those next to each of them, and one of friction.

    Between the two kinds evidence may fall: what is on the way explains a motion worse than both.
    """
    ordered = sorted(scales)
    places = {ordered.index(each) for each in found}
    near = {place + step for place in places for step in (-1, 0, 1)} & set(range(len(ordered)))
    of_friction = [each for each in ordered if are_of_friction(each)]
    return tuple(sorted({*(ordered[place] for place in near), *of_friction[-1:]}))


def spread_over_bank(problem, mixture, scales):
    """
    Return a mixture in which every component stands once for every scale of disturbance.

    scales: standard deviations, 0 for none.
    """
    if not problem.disturbance_size:
        return mixture
    copies = np.repeat(np.array(scales, dtype=float), mixture.size)
    return with_scales(
        problem,
        Mixture(
            log_normalized(np.tile(mixture.log_weights, len(scales))),
            np.tile(mixture.points, len(scales)),
            np.tile(mixture.means, len(scales)),
            np.tile(mixture.roots, (len(scales), 1, 1)),
            copies,
            None if mixture.noises is None else mixture.noises.tiled(len(scales)),
        ),
        forgotten(problem.prior),
    )


def forgotten(prior):
    """Return the root [p, p] of what is added to what was learnt as if nothing disturbed."""
    return np.sqrt(_FORGOTTEN) * prior.root


def with_scales(problem, mixture, forgotten=None):
    """
    Return a mixture whose disturbances are as uncertain as their scales say.

    forgotten [p, p] or None: root of what is added to the parameters' covariance of components
    that reckon with any.
    """
    size = problem.disturbance_size
    if not size:
        return mixture
    n, parameters = mixture.roots.shape[-1], len(mixture.means)
    rows = np.arange(n - parameters - size, n - parameters)
    wide = np.zeros((mixture.size, n, n + size + parameters))
    wide[..., :n] = mixture.roots
    wide[:, rows, :n] = 0.0
    at = mixture.scales, mixture.means, mixture.points
    wide[:, rows, n + np.arange(size)] = problem.disturbances(*at)
    if forgotten is not None:
        disturbed = (mixture.scales > 0)[:, None, None]
        wide[:, n - parameters :, n + size :] = np.where(disturbed, forgotten, 0.0)
    return replace(mixture, roots=lower_root(wide))
