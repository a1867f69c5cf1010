"""
The nearest bodies that can be built, where data leave combinations of their numbers open.

A motion determines some combinations of the ten inertial parameters of a body; an estimate that
treats them one by one may leave a body that no distribution of mass has. `unobservable_directions`
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

# Moves of a body's numbers below this part of them are rounding.
_ROUNDING = 1e-12
# Least number of random motions, and of rows of efforts per unknown.
_MOTIONS, _ROWS = 20, 2
# Singular values below this part of the largest are rounding: their directions are unobservable.
_OBSERVABLE = 1e-10
# Weight of the barrier, in squared relative changes; it leaves a margin of about a thousandth.
_MARGIN = 1e-4
_BARRIER_WEIGHTS = tuple(10.0**k for k in range(8))
_STEPS, _HALVINGS, _RIDGE = 80, 30, 1e-13
_CONVERGED, _ROUGHLY = 1e-10, 1e-2
# Eigenvalues below this part of the largest count as zero.
_EIGENVALUE_ROUNDING = 1e-14
# Bodies farther away than this many times their size are not searched for.
_FARTHEST = 30.0


def nearest_possible(bodies, blocks):
    """
    Return (bodies [D, L, 10], are possible [D]): the nearest robots of L bodies that can be built.

    bodies [D, L, 10]; blocks: (which of the bodies [l], unobservable directions [D, l, 10, k]),
    independent of one another, as of `unobservable_directions`. Where a body remains impossible,
    no robot with the same motion can be built.
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
    """Return scales [D, L, 10] of the numbers of bodies."""
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


def unobservable_directions(problem, links, values, sizes, is_free):
    """
    Return directions of the bodies of some links along which no motion's efforts change.

    For every block of links that load joints in common: (which of the links [l], directions
    [D, l, 10, k]), independent of the links of other blocks. problem: a `RobotProblem`; values:
    name -> [D]; sizes [D, L, 10]: of the bodies' numbers, in terms of which directions are
    orthonormal; is_free [L, 10]: which numbers may change.
    """
    if _have_same_joints(problem, values):
        values = {name: each[:1] for name, each in values.items()}
    # [D, nv, motions, L, 10], D of one where all robots have the same joints.
    columns = _effort_columns(problem, links, values)
    loads = (columns != 0).any((0, 2, 4)).astype(float)
    found = []
    for block in blocks_of(loads.T @ loads):
        rows = loads[:, block].any(1)
        part = columns[:, rows][:, :, :, block].reshape(len(columns), -1, 10 * len(block))
        found.append((block, _null_space(part, sizes[:, block], is_free[block].ravel())))
    return found


def _have_same_joints(problem, values):
    """Tell whether robots with values, name -> [D], have the same geometry of joints."""
    bodies = set()
    for link in problem.model.links:
        bodies.update(problem.parameters.inertial_names(link.name))
    varied = {name for name, each in values.items() if np.ptp(each)}
    return all(name.rpartition('.')[2] in INSIDE_JOINT for name in varied - bodies)


def _null_space(columns, sizes, is_free):
    """
    Return the null space [D, l, 10, k] of efforts, orthonormal by sizes [D, l, 10].

    columns [D or 1, rows, 10 l]: efforts per unit of the numbers; is_free [10 l].
    """
    where, scales = np.flatnonzero(is_free), sizes.reshape(len(sizes), -1)
    common = scales if len(columns) > 1 else scales.mean(0, keepdims=True)
    scaled = columns * common[:, None]
    largest = np.abs(scaled).max((1, 2))
    # The triangular factor has the same singular values, and is smaller.
    square = np.linalg.qr(scaled[:, :, where], mode='r')
    _, effects, directions = np.linalg.svd(square, full_matrices=True)
    seen = int((effects > _OBSERVABLE * largest[:, None]).sum(1).max(initial=0))
    unseen = np.swapaxes(directions[:, seen:], 1, 2) * (common / scales)[:, where, None]
    result = np.zeros((*scales.shape, unseen.shape[-1]))
    result[:, where] = np.linalg.qr(unseen)[0]
    return (result * scales[..., None]).reshape(*sizes.shape, -1)


def _effort_columns(problem, links, values):
    """Return the efforts [D, nv, motions, L, 10] per unit of the bodies' numbers."""
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
    Return (steps [D, k], is feasible [D]): shortest steps that make matrices positive definite.

    matrices [D, L, n, n]: L matrices each; slopes [D, k, L, n, n]: their change per unit step;
    lengths [D, k]: length of a unit step. The steps leave a small margin; where none is
    feasible, they are the nearest ones. A barrier method in two phases, as in Boyd and
    Vandenberghe, Convex Optimization (2004), chapter 11.
    """
    count, size = slopes.shape[:2]
    eye = np.broadcast_to(np.eye(matrices.shape[-1]), (count, 1, *matrices.shape[1:]))
    wide = np.concatenate([slopes, eye], 1)
    cost = np.concatenate([lengths**2, np.zeros((count, 1))], 1)
    # Phase one: add the identity times a slack that is minimised with growing weight.
    missing = np.maximum(-np.linalg.eigvalsh(matrices)[..., 0].min(-1), 0.0) + 1.0
    steps = np.concatenate([np.zeros((count, size)), missing[:, None]], 1)
    is_infeasible = np.zeros(count, dtype=bool)
    for weight in _BARRIER_WEIGHTS:
        is_open = ~_are_inside(matrices, slopes, steps[:, :-1]) & ~is_infeasible
        if not is_open.any():
            break
        part = matrices[is_open], wide[is_open], cost[is_open]
        linear = np.zeros((is_open.sum(), size + 1))
        linear[:, -1] = weight
        steps[is_open] = _newton(*part, linear, steps[is_open], _ROUGHLY)
        # Duality gap: the barrier's minimum is above the true one by the number of eigenvalues.
        least = weight * steps[:, -1] - matrices.shape[1] * matrices.shape[2] - _ROUGHLY
        is_infeasible |= is_open & (least > _FARTHEST**2 / 2)
    is_inside = _are_inside(matrices, slopes, steps[:, :-1])
    # Phase two: the shortest step that stays feasible.
    found = steps[:, :-1].copy()
    part = matrices[is_inside], slopes[is_inside], lengths[is_inside] ** 2 / _MARGIN
    found[is_inside] = _newton(*part, 0.0 * found[is_inside], found[is_inside], _CONVERGED)
    return found, is_inside


def _are_inside(matrices, slopes, steps):
    return _are_positive(np.linalg.eigvalsh(_at(matrices, slopes, steps)))


def _are_positive(sizes):
    """Tell [D] whether all of the eigenvalues [D, L, n], in ascending order, are positive."""
    return (sizes[..., 0] > _EIGENVALUE_ROUNDING * sizes[..., -1]).all(-1)


def _at(matrices, slopes, steps):
    return matrices + (steps[:, None] @ _flat(slopes)).reshape(matrices.shape)


def _flat(matrices):
    """Return matrices [D, k, L, n, n] as rows [D, k, L n n]."""
    return matrices.reshape(*matrices.shape[:2], np.prod(matrices.shape[2:]))


def _newton(matrices, slopes, cost, linear, steps, tolerance):
    """
    Minimise cost step^2 / 2 + linear step - log det by Newton's method, from feasible steps.

    Each of the D problems ends when its Newton decrement is below `tolerance`.
    """
    steps, moving = steps.copy(), np.arange(len(steps))
    for _ in range(_STEPS):
        if not moving.size:
            break
        part = matrices[moving], slopes[moving], cost[moving], linear[moving]
        move, gain = _direction(*part, steps[moving])
        moving, part = moving[gain > tolerance], [each[gain > tolerance] for each in part]
        steps[moving] = _searched(
            *part, steps[moving], move[gain > tolerance], gain[gain > tolerance]
        )
    return steps


def _direction(matrices, slopes, cost, linear, steps):
    """Return (Newton moves [D, k], their squared decrements [D])."""
    inverse = np.linalg.inv(_at(matrices, slopes, steps))
    turned = inverse[:, None] @ slopes
    gradient = cost * steps + linear - np.einsum('dklii->dk', turned)
    # As matrix products, since robots of many bodies have many steps.
    hessian = _flat(turned) @ np.swapaxes(_flat(np.swapaxes(turned, -1, -2)), 1, 2)
    # Near the boundary its entries differ by more digits than floats have.
    ridge = _RIDGE * np.einsum('dkk->d', hessian)[:, None]
    hessian += (cost + ridge)[:, :, None] * np.eye(steps.shape[1])
    move = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
    return move, -(gradient * move).sum(1)


def _searched(matrices, slopes, cost, linear, steps, move, gain):
    """Return the steps after a backtracking line search along the moves."""

    def value(at):
        sizes = np.linalg.eigvalsh(_at(matrices, slopes, at))
        logs = np.log(np.maximum(sizes, 1e-300)).sum((1, 2))
        total = (cost * at**2 / 2 + linear * at).sum(1) - logs
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
