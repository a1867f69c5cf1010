"""The ten numbers of a rigid body, about its centre of mass and about the frame of its link."""

import numpy as np

# Of the sum of a body's second moments, what rounding may leave below zero.
_ROUNDING = 1e-12
# Part of the mass that is expected: a body that is closer to none is taken to be no closer. Masses
# below zero are numbers like others: torques may be right where those of single bodies are not.
NO_MASS = 1e-4
# The inertia xx, yy, zz, xy, xz, yz of a point of one kilogram as sums of products of its
# coordinates, in the same order.
_FACTORS = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])
_OF_PRODUCTS = np.diag([0.0, 0.0, 0.0, -1.0, -1.0, -1.0])
_OF_PRODUCTS[:3, :3] = 1.0 - np.eye(3)


def at_centre(bodies):
    """
    Return (mass [...], centre of mass [..., 3], inertia about it [..., 6]) of bodies [..., 10].

    The ten are those of `BodyInertia`: mass, first moments, inertia about the frame's origin.
    """
    mass, first = bodies[..., 0], bodies[..., 1:4]
    centre = np.divide(
        first, mass[..., None], out=np.zeros_like(first), where=mass[..., None] != 0
    )
    return mass, centre, bodies[..., 4:] - mass[..., None] * _shift(centre)


def about_frame(mass, centre, inertia):
    """Return bodies [..., 10] of what `at_centre` returns."""
    first = mass[..., None] * centre
    return np.concatenate(
        [mass[..., None], first, inertia + mass[..., None] * _shift(centre)], axis=-1
    )


def _shift(centre):
    """Return the inertia [..., 6] of a point of one kilogram at a place [..., 3]."""
    first, second = _FACTORS
    return (centre[..., first] * centre[..., second]) @ _OF_PRODUCTS


def second_moments(inertia):
    """Return the second moments of mass [..., 3, 3] of an inertia [..., 6]."""
    xx, yy, zz, xy, xz, yz = np.moveaxis(inertia, -1, 0)
    half = (xx + yy + zz) / 2
    rows = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def inertias(second):
    """Return the inertia [..., 6] of second moments of mass [..., 3, 3]."""
    xx, yy, zz = (second[..., k, k] for k in range(3))
    products = (-second[..., 0, 1], -second[..., 0, 2], -second[..., 1, 2])
    return np.stack([yy + zz, xx + zz, xx + yy, *products], -1)


def are_possible(bodies):
    """Tell of bodies [..., 10], about their links' frames, whether mass can be so distributed."""
    mass, _, about_centre = at_centre(bodies)
    smallest = np.linalg.eigvalsh(second_moments(about_centre))[..., 0]
    trace = about_centre[..., :3].sum(-1) / 2
    return (mass >= 0) & (smallest >= -_ROUNDING * np.abs(trace))


def at_centres(values, rows, least):
    """
    Return values [P, B] in which bodies about the frames of their links are about their centres.

    rows [L, 10]: of the numbers of bodies; least [L]: the mass, of either sign, that one counts as
    which is closer to none.
    """
    result = np.array(values, dtype=float)
    result[rows] = np.swapaxes(centred(np.swapaxes(result[rows], 1, 2), least[:, None]), 1, 2)
    return result


def centred(bodies, least):
    """Return bodies [..., 10] about frames as ones about their centres; least [...]: as above."""
    result, mass = np.empty_like(bodies), bodies[..., 0]
    are_none = np.abs(mass) < least
    result[..., 0] = np.where(are_none, np.copysign(least, mass), mass) if are_none.any() else mass
    result[..., 1:4] = bodies[..., 1:4] / result[..., :1]
    result[..., 4:] = bodies[..., 4:] - result[..., :1] * _shift(result[..., 1:4])
    return result


def about_frames(values, rows):
    """Return values [P, B] in which bodies about their centres are about their links' frames."""
    result = np.array(values, dtype=float)
    bodies = np.swapaxes(result[rows], 1, 2)
    bodies = about_frame(bodies[..., 0], bodies[..., 1:4], bodies[..., 4:])
    result[rows] = np.swapaxes(bodies, 1, 2)
    return result
