"""Weighted least squares with our columns and prior: a user without an estimator."""

import numpy as np
from peers.least_squares import column_names, design, PER_JOINT, smooth
from peers.named_torque import FRICTION_VELOCITY, pinocchio_model
import pinocchio as pin

from .plant import named_body, pseudo_inertia

_TERMS = ('armature', 'damping', 'friction', 'torque_offset', 'load_friction', 'stribeck')
# Of the filter [Hz]; one sample in so many [s] counts; slower joints may stick [rad/s].
_CUTOFF, _PERIOD, _SLOW = 8.0, 0.02, 0.05
# The prior of the estimator. Of bodies: stretched by so much along any axis of the
# pseudo-inertia, and some more mass [kg] so far out [m].
_SPREAD, _MORE, _OUT = 0.3, 0.2, 0.08
# Deviations of the other columns: of the mass matrix, of limits, and as they are.
_LEAST_INERTIA, _FRICTION = 0.05, 0.02
_OF_LIMIT = {'damping': 0.1, 'friction': 0.1, 'torque_offset': 0.02, 'stribeck': 0.03}
_LOAD_FRICTION = 0.1
# Residuals are not believed to be smaller than that, of limits; how often they are looked at.
_NOISE, _ROUNDS = 1e-3, 4


def estimate(recording, mark):
    """Return name -> value by the first seconds of motion of a `Recording`."""
    model = pinocchio_model(recording.urdf)
    joints = list(model.names)[1:]
    order = [recording.joints.index(name) for name in joints]
    links = [recording.links[k] for k in order]
    kept = recording.t < recording.moved_for(mark)
    q, tau, limit = recording.q[kept][:, order], recording.tau[kept][:, order], recording.limit
    t, *motion = smooth(recording.t[kept], q, tau, _CUTOFF)
    every = max(1, int(round(_PERIOD / np.median(np.diff(t)))))
    *motion, tau = (values[::every] for values in motion)
    is_fast = np.abs(motion[1]) > _SLOW
    widths = np.full(len(joints), FRICTION_VELOCITY)
    known = prior(model, limit[order])
    found, scale = known[0], 10 * _NOISE * limit[order]
    for _ in range(_ROUNDS):
        matrix = design(model, motion, _TERMS, widths, bodies=found[: 10 * len(joints)])
        found, scale = _fit(matrix, tau, is_fast, known, scale, _NOISE * limit[order])
    named = dict(zip(column_names(joints, _TERMS), found.tolist()))
    named = {n: v for n, v in named.items() if n.rpartition('.')[2] in PER_JOINT}
    for link, ten in zip(links, found[: 10 * len(joints)].reshape(-1, 10)):
        named |= named_body(link, _pseudo_inertia(ten))
    return named


def _fit(matrix, tau, is_used, known, scale, least):
    """
    Return the parameters [p] that fit torques best, and the residuals' deviations [n].

    matrix [N, n, p]; tau, is_used [N, n]: torques, and which of them count; known: mean and
    covariance of the prior; scale, least [n]: deviations to weigh by, and the smallest there are.
    """
    mean, covariance = known
    root = np.linalg.cholesky(covariance)
    information, pull = np.eye(len(mean)), np.zeros(len(mean))
    parts = [(matrix[used, j], tau[used, j]) for j, used in enumerate(is_used.T)]
    for (rows, wanted), size in zip(parts, scale):
        slopes = rows @ root / size
        information += slopes.T @ slopes
        pull += slopes.T @ ((wanted - rows @ mean) / size)
    found = mean + root @ np.linalg.solve(information, pull)
    squares = [np.sum((wanted - rows @ found) ** 2) for rows, wanted in parts]
    return found, np.sqrt((least**2 + np.array(squares)) / (1 + is_used.sum(0)))


def prior(model, limit):
    """Return the mean [p] and covariance [p, p] of the columns; limit [n]: of efforts [N m]."""
    n = model.nv
    bodies = [model.inertias[k].toDynamicParameters() for k in range(1, n + 1)]
    inertia = np.diag(pin.crba(model, model.createData(), np.zeros(n)))
    deviations = {word: share * limit for word, share in _OF_LIMIT.items()}
    deviations['armature'] = np.maximum(inertia, _LEAST_INERTIA)
    deviations['load_friction'] = np.full(n, _LOAD_FRICTION)
    means = {'friction': _FRICTION * limit}
    order = [word for word in PER_JOINT if word in _TERMS]
    covariance = np.zeros((10 * n + len(order) * n,) * 2)
    for k, body in enumerate(bodies):
        ten = slice(10 * k, 10 * k + 10)
        covariance[ten, ten] = _spread_of(body)
    rest = np.arange(10 * n, len(covariance))
    covariance[rest, rest] = np.concatenate([deviations[word] for word in order]) ** 2
    return np.concatenate([*bodies, *(means.get(w, np.zeros(n)) for w in order)]), covariance


def _spread_of(body):
    """Return the covariance [10, 10] of ten numbers: stretched at random, and a little more."""
    matrix = _pseudo_inertia(body) + _MORE * np.diag([_OUT**2] * 3 + [1.0])
    values, axes = np.linalg.eigh(matrix)
    root = (axes * np.sqrt(np.maximum(values, 1e-3 * _MORE * _OUT**2))) @ axes.T
    slopes = []
    for i in range(4):
        for j in range(i, 4):
            stretch = np.zeros((4, 4))
            stretch[i, j] = stretch[j, i] = _SPREAD * (2 if i == j else np.sqrt(2))
            slopes.append(_ten(root @ stretch @ root))
    slopes = np.array(slopes)
    return slopes.T @ slopes


def _pseudo_inertia(ten):
    """Return the pseudo-inertia [4, 4] of Pinocchio's ten numbers of a body."""
    mass, moment = ten[0], ten[1:4]
    xx, xy, yy, xz, yz, zz = ten[4:]
    about_frame = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    result = pseudo_inertia(mass, np.zeros(3), about_frame)
    result[:3, 3] = result[3, :3] = moment
    return result


def _ten(matrix):
    """Return Pinocchio's ten numbers of a pseudo-inertia [4, 4]."""
    second = matrix[:3, :3]
    full = np.trace(second) * np.eye(3) - second
    entries = [full[0, 0], full[0, 1], full[1, 1], full[0, 2], full[1, 2], full[2, 2]]
    return np.array([matrix[3, 3], *matrix[:3, 3], *entries])
