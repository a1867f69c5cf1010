"""
Bodies that can be built, for estimates that left something open.

A motion tells some combinations of the ten numbers of a body; one that is estimated alone may
leave a body that no distribution of mass has. Here the others follow: the nearest body that can
be built among all with which the robot moves exactly alike.
"""

import numpy as np

from .interior import interior_point

# Of the sum of a body's second moments, what rounding may leave below zero.
_ROUNDING = 1e-12


def are_possible(bodies):
    """Tell of bodies [..., 10], about their links' frames, whether mass can be so distributed."""
    mass, _, about_centre = at_centre(bodies)
    smallest = np.linalg.eigvalsh(second_moments(about_centre))[..., 0]
    trace = about_centre[..., :3].sum(-1) / 2
    return (mass >= 0) & (smallest >= -_ROUNDING * np.abs(trace))


def at_centre(bodies):
    """
    Return (mass [...], centre of mass [..., 3], inertia about it [..., 6]) of bodies [..., 10].

    The ten are those of `BodyInertia`: mass, first moments, inertia about the frame's origin.
    """
    mass, first = bodies[..., 0], bodies[..., 1:4]
    centre = np.divide(first, mass[..., None], out=np.zeros_like(first), where=mass[..., None] > 0)
    x, y, z = np.moveaxis(centre, -1, 0)
    shift = np.stack([y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z], -1)
    return mass, centre, bodies[..., 4:] - mass[..., None] * shift


def second_moments(inertia):
    """Return the second moments of mass [..., 3, 3] of an inertia [..., 6]."""
    xx, yy, zz, xy, xz, yz = np.moveaxis(inertia, -1, 0)
    half = (xx + yy + zz) / 2
    rows = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def nearest_possible(bodies, directions):
    """
    Return (bodies [D, L, 10], are possible [D]): robots of L bodies, moved as little as it takes.

    bodies [D, L, 10]; directions [D, L, 10, k]: along which the robot moves alike. What comes
    out as not possible has no such robot.
    """
    if not directions.shape[-1]:
        return bodies, np.zeros(len(bodies), dtype=bool)
    scales = _scales(bodies)
    matrices = _pseudo_inertias(bodies, scales)
    along = np.moveaxis(directions, -1, 0)
    slopes = np.stack([_pseudo_inertias(each, scales) for each in along], 1)
    lengths = np.sqrt(((directions * _weights(scales)[..., None]) ** 2).sum((1, 2)))
    steps, is_possible = interior_point(matrices, slopes, lengths)
    moves = np.einsum('dlpk,dk->dlp', directions, steps)
    moves[np.abs(moves) * _weights(scales) < _ROUNDING] = 0.0
    return bodies + moves, is_possible


def relative(bodies):
    """Return by what [D, L, 10] to divide the numbers of bodies, to have them alike in size."""
    return 1 / _weights(_scales(bodies))


def _scales(bodies):
    """Return (mass [D, L], radius [D, L]): the sizes of bodies."""
    mass = np.maximum(bodies[..., 0], 1e-12)
    spread = np.abs(bodies[..., 4:7]).sum(-1) / 2
    return mass, np.sqrt(np.maximum(spread / mass, 1e-12))


def _weights(scales):
    mass, radius = scales
    return np.stack([1 / mass, *[1 / (mass * radius)] * 3, *[1 / (mass * radius**2)] * 6], -1)


def _pseudo_inertias(bodies, scales):
    """Return the second moments with first moments and mass [D, L, 4, 4], in units of scales."""
    mass, radius = scales
    result = np.zeros((*bodies.shape[:-1], 4, 4))
    result[..., :3, :3] = second_moments(bodies[..., 4:])
    for k in range(3):
        result[..., k, 3] = result[..., 3, k] = bodies[..., 1 + k]
    result[..., 3, 3] = bodies[..., 0]
    size = np.stack([radius, radius, radius, np.ones_like(radius)], -1)
    return result / (mass[..., None, None] * size[..., :, None] * size[..., None, :])
