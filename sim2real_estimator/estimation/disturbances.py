"""
The bank of scales of the disturbance states: hypotheses on how strong unknown forces are.

Disturbances are Gauss-Markov states. Every component of a mixture assumes one standard deviation
of them, and evidence weighs the components.
"""

from dataclasses import replace

import numpy as np

from .factors import lower_root
from .gaussian import log_normalized
from .mixture import Mixture

# Disturbances of a smaller scale, 3 % of the friction of a joint that has any, are taken for
# errors of the friction model: these are much larger, but only near a reversal of the joint.
# Evidence decides between such errors and forces that act everywhere.
_OF_FRICTION = 0.01
# Fraction of the prior's covariance that is added to the parameters of a disturbed component: the
# batch assumed no disturbance, and its covariance is too small.
_FORGOTTEN = 0.05


def are_of_friction(scales):
    """Tell which scales [K] stand for errors of friction near reversal, [K]."""
    scales = np.asarray(scales)
    return (scales > 0) & (scales < _OF_FRICTION)


def neighbours(scales, found):
    """
    Return the scales that were found, their neighbours, and the largest one of friction.

    The evidence may have a minimum between the two kinds, so that neighbours alone do not lead
    from one to the other.
    """
    ordered = sorted(scales)
    places = {ordered.index(each) for each in found}
    near = {place + step for place in places for step in (-1, 0, 1)} & set(range(len(ordered)))
    of_friction = [each for each in ordered if are_of_friction(each)]
    return tuple(sorted({*(ordered[place] for place in near), *of_friction[-1:]}))


def spread_over_bank(problem, mixture, scales):
    """
    Return a mixture of every component with every scale of disturbances.

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
    """Return the root [p, p] of the covariance to add where disturbances were neglected."""
    return np.sqrt(_FORGOTTEN) * prior.root


def with_scales(problem, mixture, forgotten=None):
    """
    Return a mixture whose disturbance states have the covariance of their scales.

    forgotten [p, p] or None: root of what is added to the parameters' covariance of components
    with a scale above zero.
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
