"""Rates at which friction would stop the joints of a robot, which bound integration steps."""

import numpy as np

from ..model.robot import realize
from .mass_matrix import mass_matrix

_POSES, _SEED = 5, 12


def mobilities(parameters, values):
    """
    Return joint -> the largest acceleration by a unit effort on it, over some random poses.

    Of independent joints with one degree of freedom, in rad/s^2 per N m or m/s^2 per N.
    parameters: `Parameters`; values: name -> value, where that is not the nominal one.
    """
    model, generator = parameters.model, np.random.default_rng(_SEED)
    nominal = dict(zip(parameters, parameters.nominal()))
    robot, matrices = realize(parameters, nominal | values), []
    for _ in range(_POSES):
        matrices.append(mass_matrix(robot, random_pose(model, generator)))
    found = np.diagonal(np.linalg.inv(np.array(matrices, dtype=float)), axis1=1, axis2=2).max(0)
    return {
        moving.joint.name: float(found[moving.velocities.start])
        for moving in model.moving_joints
        if moving.is_independent and moving.joint.kind.velocity_size == 1
    }


def random_pose(model, generator):
    """Return random positions [nq], a list: every independent joint about its neutral position."""
    positions = []
    for moving in model.moving_joints:
        if moving.is_independent:
            kind = moving.joint.kind
            turn = generator.standard_normal(kind.velocity_size).tolist()
            positions += kind.advance(kind.neutral(), turn, 1.0)
    return positions
