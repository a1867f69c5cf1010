"""
Bodies that can be built, for estimates that left something open.

A motion tells some combinations of the ten numbers of a body; one that is estimated alone may
leave a body that no distribution of mass has. Here the others follow: the nearest body that can
be built among all with which the robot moves exactly alike.
"""

import numpy as np

from ...model.body_numbers import are_possible, second_moments
from .interior import interior_point

# Part of a body's numbers below which they do not move: it is rounding.
_ROUNDING = 1e-12


def nearest_possible(bodies, blocks):
    """
    Return (bodies [D, L, 10], are possible [D]): robots of L bodies, moved as little as it takes.

    bodies [D, L, 10]; blocks: (which of the bodies [l], directions [D, l, 10, k] along which the
    robot moves alike) for those that hang together, of which none has to do with the others.
    What comes out as not possible has no such robot.
    """
    found, is_possible = bodies.copy(), np.ones(len(bodies), dtype=bool)
    for which, directions in blocks:
        part = bodies[:, which]
        rows = np.flatnonzero(~_can_be_built(part))
        if rows.size:
            moved, is_possible[rows] = _nearest_of_block(part[rows], directions[rows])
            found[np.ix_(rows, which)] = moved
    return found, is_possible


def _can_be_built(bodies):
    return (are_possible(bodies) & (bodies[..., 0] > 0)).all(-1)


def _nearest_of_block(bodies, directions):
    """Return (bodies, are possible) as `nearest_possible`, of one block."""
    if not directions.shape[-1]:
        return bodies, np.zeros(len(bodies), dtype=bool)
    scales = sizes_of(bodies)
    matrices = pseudo_inertias(bodies, scales)
    along = np.moveaxis(directions, -1, 0)
    slopes = np.stack([pseudo_inertias(each, scales) for each in along], 1)
    lengths = np.sqrt(((directions * _weights(scales)[..., None]) ** 2).sum((1, 2)))
    steps, is_possible = interior_point(matrices, slopes, lengths)
    moves = np.einsum('dlpk,dk->dlp', directions, steps)
    moves[np.abs(moves) * _weights(scales) < _ROUNDING] = 0.0
    return bodies + moves, is_possible


def relative(bodies):
    """Return by what [D, L, 10] to divide the numbers of bodies, to have them alike in size."""
    return 1 / _weights(sizes_of(bodies))


def sizes_of(bodies):
    """Return (mass [D, L], radius [D, L]): the sizes of bodies."""
    mass = np.maximum(bodies[..., 0], 1e-12)
    spread = np.abs(bodies[..., 4:7]).sum(-1) / 2
    return mass, np.sqrt(np.maximum(spread / mass, 1e-12))


def _weights(scales):
    mass, radius = scales
    return np.stack([1 / mass, *[1 / (mass * radius)] * 3, *[1 / (mass * radius**2)] * 6], -1)


def pseudo_inertias(bodies, scales):
    """Return second moments, first moments and mass as [D, L, 4, 4], in units of `sizes_of`."""
    mass, radius = scales
    result = np.zeros((*bodies.shape[:-1], 4, 4))
    result[..., :3, :3] = second_moments(bodies[..., 4:])
    for k in range(3):
        result[..., k, 3] = result[..., 3, k] = bodies[..., 1 + k]
    result[..., 3, 3] = bodies[..., 0]
    size = np.stack([radius, radius, radius, np.ones_like(radius)], -1)
    return result / (mass[..., None, None] * size[..., :, None] * size[..., None, :])
