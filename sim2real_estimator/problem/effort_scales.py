"""How large efforts of a robot usually are, the unit of what disturbs them."""

import numpy as np

from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.rnea import inverse_dynamics
from ..model.robot import realize

_POSES = 20


def effort_scales(parameters):
    """
    Return for every velocity a usual effort [N m or N], [nv].

    The root mean square, over random poses of the nominal robot, of the effort that holds it
    against gravity, plus the effort for a unit acceleration.
    """
    holding, inertia = _holding_and_inertia(parameters)
    return np.sqrt((holding**2 + inertia**2).mean(0))


def usual_accelerations(parameters):
    """Return for every velocity what a usual effort does to it in a second, [nv]."""
    return effort_scales(parameters) / _holding_and_inertia(parameters)[1].mean(0)


def _holding_and_inertia(parameters):
    """Return holding efforts and diagonals of the mass matrix in random poses, [poses, nv]."""
    model, robot = parameters.model, realize(parameters, {})
    generator = np.random.default_rng(11)
    still, rows = [0.0] * model.velocity_size, []
    for _ in range(_POSES):
        q = []
        for moving in model.moving_joints:
            if moving.is_independent:
                kind = moving.joint.kind
                turn = generator.standard_normal(kind.velocity_size).tolist()
                q += kind.advance(kind.neutral(), turn, 1.0)
        matrix = mass_matrix(robot, q)
        diagonal = [matrix[k][k] for k in range(len(matrix))]
        rows.append((inverse_dynamics(robot, q, still, still), diagonal))
    holding, inertia = zip(*rows)
    return np.array(holding, dtype=float), np.array(inertia, dtype=float)
