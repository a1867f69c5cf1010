"""How large efforts of a robot usually are, the unit of what disturbs them."""

import numpy as np

from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.random_poses import random_pose
from ..dynamics.rnea import inverse_dynamics
from ..model.robot import realize

_POSES = 20
# Where a joint has dry friction, a disturbance of one is so many times that: of the usual scales
# those of a hundredth to a tenth are then 3 to 30 % of the friction.
_FRICTIONS = 10 / 3


def effort_scales(parameters):
    """
    Return for every velocity a usual effort [N m or N], [nv].

    The root mean square, over random poses of the nominal robot, of the effort that holds it
    against gravity, plus the effort for a unit acceleration.
    """
    holding, inertia = _holding_and_inertia(parameters)
    return np.sqrt((holding**2 + inertia**2).mean(0))


def disturbance_units(parameters, values):
    """
    Return for every velocity the effort that a disturbance of one is [N m or N], [nv].

    values: name -> float, of Coulomb friction where it is another than the nominal one. What a
    model does not know of a joint is mostly a part of its friction, be it a wrist that carries
    nothing or a shoulder that carries all. Where there is none, it is a usual effort.
    """
    units = effort_scales(parameters)
    for moving in parameters.model.moving_joints:
        name = f'{moving.joint.name}.friction'
        friction = values.get(name, parameters[name].nominal)
        if friction > 0:
            units[moving.velocities] = _FRICTIONS * friction
    return units


def friction_parts(parameters, values):
    """
    Return (Coulomb friction [nv] in units of disturbances, [nv] the speed at which it turns).

    values: as of `disturbance_units`. Without friction both are such that nothing comes of them.
    """
    nv = parameters.model.velocity_size
    frictions, speeds = np.zeros(nv), np.ones(nv)
    for moving in parameters.model.moving_joints:
        names = (f'{moving.joint.name}.{what}' for what in ('friction', 'friction_velocity'))
        friction, speed = (values.get(name, parameters[name].nominal) for name in names)
        if friction > 0:
            frictions[moving.velocities], speeds[moving.velocities] = 1 / _FRICTIONS, speed
    return frictions, speeds


def usual_accelerations(parameters):
    """Return for every velocity what a usual effort does to it in a second, [nv]."""
    return effort_scales(parameters) / _holding_and_inertia(parameters)[1].mean(0)


def _holding_and_inertia(parameters):
    """Return holding efforts and diagonals of the mass matrix in random poses, [poses, nv]."""
    model, robot = parameters.model, realize(parameters, {})
    generator = np.random.default_rng(11)
    still, rows = [0.0] * model.velocity_size, []
    for _ in range(_POSES):
        q = random_pose(model, generator)
        matrix = mass_matrix(robot, q)
        diagonal = [matrix[k][k] for k in range(len(matrix))]
        rows.append((inverse_dynamics(robot, q, still, still), diagonal))
    holding, inertia = zip(*rows)
    return np.array(holding, dtype=float), np.array(inertia, dtype=float)
