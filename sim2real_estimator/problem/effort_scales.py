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
    model, robot = parameters.model, realize(parameters, {})
    generator = np.random.default_rng(11)
    nv, sums = model.velocity_size, np.zeros(model.velocity_size)
    still = [0.0] * nv
    for _ in range(_POSES):
        q = []
        for moving in model.moving_joints:
            if moving.is_independent:
                kind = moving.joint.kind
                turn = generator.standard_normal(kind.velocity_size).tolist()
                q += kind.advance(kind.neutral(), turn, 1.0)
        holding = np.array(inverse_dynamics(robot, q, still, still))
        inertia = np.array(mass_matrix(robot, q)).reshape(nv, nv)
        sums += holding**2 + np.diag(inertia) ** 2
    return np.sqrt(sums / _POSES)
