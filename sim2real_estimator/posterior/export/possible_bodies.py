"""
The nearest bodies that can be built, where data leave combinations of their numbers open.

A motion determines some combinations of the ten inertial parameters of a body; an estimate that
treats them one by one may leave a body that no distribution of mass has. `alike_directions`
returns the null space of the joint torques, along which no motion changes; `nearest_possible`
moves the bodies along it until their pseudo-inertias (Wensing) are positive definite, by Newton's
method with a logarithmic barrier (`interior_point`).
"""

import math

import numpy as np
import torch

from ...dynamics.kinematics import kinematics
from ...dynamics.regressor import STANDARD_NAMES, unit_body
from ...dynamics.rnea import body_accelerations, project_forces
from ...model.body_numbers import are_possible, second_moments
from ...model.parameters import INSIDE_JOINT
from ...model.robot import realize
from ...observability.possible_robots import blocks_of
from ...spatial.motion import Force

# Part of a body's numbers below which they do not move: it is rounding.
_ROUNDING = 1e-12
# At least so many random motions, and so many rows of efforts for every unknown.
_MOTIONS, _ROWS = 20, 2
# Part of the largest effect from which on a direction is seen: what passes is rounding.
_SEEN = 1e-10
# Weight of the barrier, in squared relative changes: it leaves a margin of a thousandth or so.
_MARGIN = 1e-4
_PUSHES = tuple(10.0**k for k in range(8))
_STEPS, _HALVINGS, _RIDGE = 80, 30, 1e-13
_SETTLED, _ROUGHLY = 1e-10, 1e-2
# Eigenvalues below this part of the largest may be zero but for rounding.
_EIGENVALUE_ROUNDING = 1e-14
# No body is looked for that is so many times its size away.
_FARTHEST = 30.0


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


def interior_point(matrices, slopes, lengths):
    """
    Return (steps [D, k], is inside [D]) by which matrices become positive definite.

    matrices [D, L, n, n]: L matrices each; slopes [D, k, L, n, n]: their change by unit steps;
    lengths [D, k]: what a unit step costs. Of all such steps about the shortest, some margin
    left; where there are none, what comes nearest, and False.
    """
    count, size = slopes.shape[:2]
    eye = np.broadcast_to(np.eye(matrices.shape[-1]), (count, 1, *matrices.shape[1:]))
    wide = np.concatenate([slopes, eye], 1)
    cost = np.concatenate([lengths**2, np.zeros((count, 1))], 1)
    # Phase one: as much of the identity is added as it takes, and then less and less.
    missing = np.maximum(-np.linalg.eigvalsh(matrices)[..., 0].min(-1), 0.0) + 1.0
    steps = np.concatenate([np.zeros((count, size)), missing[:, None]], 1)
    is_hopeless = np.zeros(count, dtype=bool)
    for push in _PUSHES:
        is_open = ~_are_inside(matrices, slopes, steps[:, :-1]) & ~is_hopeless
        if not is_open.any():
            break
        part = matrices[is_open], wide[is_open], cost[is_open]
        pull = np.zeros((is_open.sum(), size + 1))
        pull[:, -1] = push
        steps[is_open] = _newton(*part, pull, steps[is_open], _ROUGHLY)
        # The barrier keeps from the best by no more than the number of eigenvalues.
        least = push * steps[:, -1] - matrices.shape[1] * matrices.shape[2] - _ROUGHLY
        is_hopeless |= is_open & (least > _FARTHEST**2 / 2)
    is_inside = _are_inside(matrices, slopes, steps[:, :-1])
    # Phase two: the shortest way that stays inside.
    found = steps[:, :-1].copy()
    part = matrices[is_inside], slopes[is_inside], lengths[is_inside] ** 2 / _MARGIN
    found[is_inside] = _newton(*part, 0.0 * found[is_inside], found[is_inside], _SETTLED)
    return found, is_inside


def _are_inside(matrices, slopes, steps):
    return _are_positive(np.linalg.eigvalsh(_at(matrices, slopes, steps)))


def _are_positive(sizes):
    """Tell of which eigenvalues [D, L, n], in their order, all are clearly above zero, [D]."""
    return (sizes[..., 0] > _EIGENVALUE_ROUNDING * sizes[..., -1]).all(-1)


def _at(matrices, slopes, steps):
    return matrices + (steps[:, None] @ _flat(slopes)).reshape(matrices.shape)


def _flat(matrices):
    """Return matrices [D, k, L, n, n] as rows [D, k, L n n]."""
    return matrices.reshape(*matrices.shape[:2], np.prod(matrices.shape[2:]))


def _newton(matrices, slopes, cost, pull, steps, settled):
    """
    Minimise cost step^2 / 2 + pull step - log det, from steps where that is finite.

    Each of the D is solved as if it were alone, until it promises to gain less than `settled`.
    """
    steps, moving = steps.copy(), np.arange(len(steps))
    for _ in range(_STEPS):
        if not moving.size:
            break
        part = matrices[moving], slopes[moving], cost[moving], pull[moving]
        move, gain = _direction(*part, steps[moving])
        moving, part = moving[gain > settled], [each[gain > settled] for each in part]
        steps[moving] = _searched(*part, steps[moving], move[gain > settled], gain[gain > settled])
    return steps


def _direction(matrices, slopes, cost, pull, steps):
    """Return Newton's (moves [D, k], promised gains [D])."""
    inverse = np.linalg.inv(_at(matrices, slopes, steps))
    turned = inverse[:, None] @ slopes
    gradient = cost * steps + pull - np.einsum('dklii->dk', turned)
    # As products of matrices: of robots with many bodies there are many steps.
    hessian = _flat(turned) @ np.swapaxes(_flat(np.swapaxes(turned, -1, -2)), 1, 2)
    # Next to the edge its entries differ by more digits than there are.
    ridge = _RIDGE * np.einsum('dkk->d', hessian)[:, None]
    hessian += (cost + ridge)[:, :, None] * np.eye(steps.shape[1])
    move = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
    return move, -(gradient * move).sum(1)


def _searched(matrices, slopes, cost, pull, steps, move, gain):
    """Return the steps after as much of the moves as makes things better."""

    def value(at):
        sizes = np.linalg.eigvalsh(_at(matrices, slopes, at))
        logs = np.log(np.maximum(sizes, 1e-300)).sum((1, 2))
        total = (cost * at**2 / 2 + pull * at).sum(1) - logs
        return np.where(_are_positive(sizes), total, np.inf)

    present, share = value(steps), np.ones(len(steps))
    for _ in range(_HALVINGS):
        trial = value(steps + share[:, None] * move)
        is_worse = ~(trial <= present - 1e-4 * share * gain)
        if not is_worse.any():
            break
        share[is_worse] /= 2
    share[is_worse] = 0.0
    return steps + share[:, None] * move
