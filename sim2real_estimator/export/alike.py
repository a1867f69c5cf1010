"""Changes of bodies that no motion of the robot shows."""

import math

import numpy as np
import torch

from ..dynamics.kinematics import kinematics
from ..dynamics.regressor import STANDARD_NAMES, unit_body
from ..dynamics.rnea import body_accelerations, project_forces
from ..model.robot import realize
from ..spatial.motion import Force

# At least so many random motions, and so many rows of efforts for every unknown.
_MOTIONS, _ROWS = 20, 2
# Part of the largest effect from which on a direction is seen: what passes is rounding.
_SEEN = 1e-10


def alike_directions(problem, links, values, sizes, is_free):
    """
    Return directions [D, L, 10, k] of the bodies of some links, the same efforts for all motions.

    problem: a `RobotProblem`; values: name -> [D]; sizes [D, L, 10]: of the bodies' numbers, in
    terms of which directions have the length one; is_free [L, 10]: which of them may change.
    """
    count, where = sizes.shape[0], np.flatnonzero(is_free)
    columns = _effort_columns(problem, links, values, count)
    scaled = (columns * sizes.reshape(count, 1, -1))[:, :, where]
    _, effects, directions = np.linalg.svd(scaled, full_matrices=True)
    largest = np.abs(columns * sizes.reshape(count, 1, -1)).max((1, 2))
    seen = int((effects > _SEEN * largest[:, None]).sum(1).max(initial=0))
    unseen = np.zeros((count, sizes[0].size, len(where) - seen))
    unseen[:, where] = np.swapaxes(directions[:, seen:], 1, 2)
    return (unseen * sizes.reshape(count, -1, 1)).reshape(*sizes.shape, -1)


def _effort_columns(problem, links, values, count):
    """Return the efforts [D, rows, L * 10] that units of the bodies' numbers take."""
    model = problem.model
    nv = model.velocity_size
    motions = max(_MOTIONS, math.ceil(_ROWS * len(STANDARD_NAMES) * len(links) / nv))
    q, v, a = _motions(problem, motions, count)
    lanes = count * motions
    named = {name: torch.from_numpy(np.repeat(each, motions)) for name, each in values.items()}
    robot = realize(problem.parameters, named)
    states = kinematics(robot, q, v)
    accelerations = body_accelerations(robot, states, a)
    columns = []
    for link in links:
        place = robot.links[link]
        state, motion = states[place.body], accelerations[place.body]
        for k in range(len(STANDARD_NAMES)):
            body = unit_body(k).rotated(place.rotation).moved(place.origin)
            forces = [Force.zero() for _ in robot.bodies]
            forces[place.body] = body.rotated(state.rotation).force(motion, state.omega)
            columns.append(
                [
                    torch.as_tensor(effort, dtype=torch.float64).expand(lanes)
                    for effort in project_forces(robot, states, forces)
                ]
            )
    stacked = torch.stack([torch.stack(column) for column in columns]).numpy()
    return (
        stacked.reshape(len(columns), nv, count, motions)
        .transpose(2, 1, 3, 0)
        .reshape(count, nv * motions, len(columns))
    )


def _motions(problem, motions, count):
    """Return positions, velocities and accelerations as lists of [D * motions]."""
    model, generator = problem.model, np.random.default_rng(0)
    turns = np.zeros((problem.tangent_size, motions))
    nv = model.velocity_size
    turns[:nv] = generator.standard_normal((nv, motions))
    points = problem.retract(np.repeat(problem.neutral[:, None], motions, 1), turns)
    rows = points[: model.position_size], *generator.standard_normal((2, nv, motions))
    return [list(torch.from_numpy(np.tile(each, count))) for each in rows]
