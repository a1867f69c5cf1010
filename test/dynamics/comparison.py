"""How far our dynamics are from another program's answers; for the tests and `make evaluate`."""

import numpy as np
from trees import wrenches_of

from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.energy import kinetic_energy, momentum, potential_energy
from sim2real_estimator.dynamics.kinematics import link_poses
from sim2real_estimator.dynamics.mass_matrix import mass_matrix
from sim2real_estimator.dynamics.regressor import regressor, STANDARD_NAMES
from sim2real_estimator.dynamics.rnea import inverse_dynamics

TOLERANCE = 1e-9
# Above this condition number of the mass matrix the accelerations themselves are uncertain, and
# what is asked is that they need the effort that was given.
WELL_CONDITIONED = 1e8


def relative_error(ours, theirs):
    """Return the largest difference over the largest expected value, or over 1 if that is less."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape
    # A NaN must not pass for a small error.
    return float(np.nan_to_num(np.abs(ours - theirs), nan=np.inf).max() / scale_of(theirs))


def scale_of(values):
    """Return the largest magnitude among `values`, at least 1."""
    return max(1.0, float(np.abs(values).max()))


def condition(answers):
    """Return the condition number of the mass matrix in another program's answers."""
    return float(np.linalg.cond(full_matrix(answers['mass_matrix'])))


def full_matrix(lower):
    """Return a symmetric matrix from the rows of its lower triangle."""
    matrix = np.zeros((len(lower), len(lower)))
    for i, row in enumerate(lower):
        matrix[i, : i + 1] = matrix[: i + 1, i] = row
    return matrix


def errors(robot, state, answers):
    """
    Return the relative error of every quantity by name.

    state: as `trees.draw_state` gives it; answers: as `PinocchioModel.answers` gives them, in
    our conventions.
    """
    q, v, acceleration = state['q'], state['v'], state['acceleration']
    wrenches = wrenches_of(state)
    found = forward_dynamics(robot, q, v, state['effort'], wrenches)
    matrix = full_matrix(answers['mass_matrix'])
    result = {
        'acceleration': acceleration_error(found, state, answers),
        'effort': relative_error(
            inverse_dynamics(robot, q, v, acceleration, wrenches), answers['effort']
        ),
        'mass matrix': relative_error(mass_matrix(robot, q), matrix),
        'links': links_error(robot, state, answers),
        'energy': relative_error(
            [kinetic_energy(robot, q, v), potential_energy(robot, q)], answers['energies']
        ),
        'momentum': relative_error([x for p in momentum(robot, q, v) for x in p],
                                   answers['momentum']),
    }  # fmt: skip
    if 'regressor' in answers:
        columns = regressor(robot, q, v, acceleration)[: len(robot.bodies) * len(STANDARD_NAMES)]
        result['regressor'] = relative_error(columns, answers['regressor'])
    return result


def acceleration_error(found, state, answers):
    """Return the error of accelerations, or of the effort they need if that is all one can say."""
    if condition(answers) < WELL_CONDITIONED:
        return relative_error(found, answers['acceleration'])
    needed = full_matrix(answers['mass_matrix']) @ np.array(found) + answers['bias']
    return relative_error(needed, state['effort'])


def links_error(robot, state, answers):
    """Return the error of the poses and velocities of all links."""
    poses = link_poses(robot, state['q'], state['v'])
    assert set(poses) == set(answers['links'])
    ours = [
        [*(x for row in pose.rotation.rows for x in row), *pose.position, *pose.velocity]
        for pose in poses.values()
    ]
    return relative_error(ours, [answers['links'][name] for name in poses])
