"""Changes of bodies that no motion of the robot shows."""

import math

import numpy as np
import torch

from ...dynamics.kinematics import kinematics
from ...dynamics.regressor import STANDARD_NAMES, unit_body
from ...dynamics.rnea import body_accelerations, project_forces
from ...model.parameters import INSIDE_JOINT
from ...model.robot import realize
from ...observability.possible_robots import blocks_of
from ...spatial.motion import Force

# At least so many random motions, and so many rows of efforts for every unknown.
_MOTIONS, _ROWS = 20, 2
# Part of the largest effect from which on a direction is seen: what passes is rounding.
_SEEN = 1e-10


def alike_directions(problem, links, values, sizes, is_free):
    """
    Return directions of the bodies of some links, the same efforts for all motions.

    For every block of links that load joints in common, (which of the links [l], directions
    [D, l, 10, k]): no motion shows what happens along them, and links of other blocks have no
    part in it. problem: a `RobotProblem`; values: name -> [D]; sizes [D, L, 10]: of the bodies'
    numbers, in terms of which directions are orthonormal; is_free [L, 10]: which may change.
    """
    if _stand_alike(problem, values):
        values = {name: each[:1] for name, each in values.items()}
    # [D, nv, motions, L, 10], D of one where all robots have the same joints.
    columns = _effort_columns(problem, links, values)
    loads = (columns != 0).any((0, 2, 4)).astype(float)
    found = []
    for block in blocks_of(loads.T @ loads):
        rows = loads[:, block].any(1)
        part = columns[:, rows][:, :, :, block].reshape(len(columns), -1, 10 * len(block))
        found.append((block, _unseen(part, sizes[:, block], is_free[block].ravel())))
    return found


def _stand_alike(problem, values):
    """Tell whether robots of values, name -> [D], have the same links between their joints."""
    bodies = set()
    for link in problem.model.links:
        bodies.update(problem.parameters.inertial_names(link.name))
    varied = {name for name, each in values.items() if np.ptp(each)}
    return all(name.rpartition('.')[2] in INSIDE_JOINT for name in varied - bodies)


def _unseen(columns, sizes, is_free):
    """
    Return the directions [D, l, 10, k] along which efforts stay, orthonormal by sizes [D, l, 10].

    columns [D or 1, rows, 10 l]: efforts by units of the numbers; is_free [10 l].
    """
    where, scales = np.flatnonzero(is_free), sizes.reshape(len(sizes), -1)
    common = scales if len(columns) > 1 else scales.mean(0, keepdims=True)
    scaled = columns * common[:, None]
    largest = np.abs(scaled).max((1, 2))
    # What is square has the same singular values, and no more of them than matter.
    square = np.linalg.qr(scaled[:, :, where], mode='r')
    _, effects, directions = np.linalg.svd(square, full_matrices=True)
    seen = int((effects > _SEEN * largest[:, None]).sum(1).max(initial=0))
    unseen = np.swapaxes(directions[:, seen:], 1, 2) * (common / scales)[:, where, None]
    result = np.zeros((*scales.shape, unseen.shape[-1]))
    result[:, where] = np.linalg.qr(unseen)[0]
    return (result * scales[..., None]).reshape(*sizes.shape, -1)


def _effort_columns(problem, links, values):
    """Return the efforts [D, nv, motions, L, 10] that units of the bodies' numbers take."""
    model, count = problem.model, len(next(iter(values.values())))
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
    columns = stacked.reshape(len(links), len(STANDARD_NAMES), nv, count, motions)
    return columns.transpose(3, 2, 4, 0, 1)


def _motions(problem, motions, count):
    """Return positions, velocities and accelerations as lists of [D * motions]."""
    model, generator = problem.model, np.random.default_rng(0)
    turns = np.zeros((problem.tangent_size, motions))
    nv = model.velocity_size
    turns[:nv] = generator.standard_normal((nv, motions))
    points = problem.retract(np.repeat(problem.neutral[:, None], motions, 1), turns)
    rows = points[: model.position_size], *generator.standard_normal((2, nv, motions))
    return [list(torch.from_numpy(np.tile(each, count))) for each in rows]
