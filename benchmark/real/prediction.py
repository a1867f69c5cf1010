"""Torques on held-out data: of the description, of least squares, and of our package."""

import numpy as np
from peers.least_squares import design, fitted, smooth

from sim2real_estimator.reported_events import Happened

from .ours import least_squares_of, ours
from .torque import arm_of, Motion, torque_error, torque_of_named

_PLAIN = ('armature', 'damping', 'friction')


def motion_of(recording):
    """Return the `Motion` of a recording that all are compared on."""
    robot = recording.robot
    # An unknown torque is not compared with anything.
    smoothed = smooth(recording.t, recording.q, np.nan_to_num(recording.tau), robot.cutoff)
    return Motion(*smoothed)[:: robot.stride]


def predict(trial, adjust=None):
    """
    Return the torque errors [%] of a `Trial`, and what our package said on the way.

    nominal: of the description; plain: of least squares with armature, viscous and Coulomb
    friction; coupled: with what two joints share besides, where they do; columns: with the
    columns of ours; prior: with the prior of ours, too; ours; joints: ours of each joint;
    used: time of the processor [s/s]; events: that are not 'at rest'.
    """
    robot, known = trial.training.robot, trial.training.known
    tests = [(recording, motion_of(recording).within(window)) for recording, window in trial.tests]
    learnt = motion_of(trial.training).within(trial.window)
    run = ours(trial.training.between(*trial.window), adjust=adjust)
    terms, widths, prior = least_squares_of(run)
    plain = np.full(len(robot.joints), robot.width)
    ways = {'plain': (_PLAIN, plain, None)}
    if robot.couple:
        ways['coupled'] = ((*_PLAIN, 'coupled'), plain, None)
    ways |= {'columns': (terms, widths, None), 'prior': (terms, widths, prior)}
    found = {
        'nominal': error_of(known, tests, lambda motion: torque_of(robot, {}, motion)),
        **{name: fit_error(robot, known, learnt, tests, *way) for name, way in ways.items()},
        'ours': error_of(known, tests, lambda motion: torque_of(robot, run.named, motion)),
    }
    residual = _joined(tests, lambda motion: motion.tau - torque_of(robot, run.named, motion))
    torque = _joined(tests, lambda motion: motion.tau)
    events = [
        (event.time, event.name) for event in run.events if event.reported is not Happened.AT_REST
    ]
    sizes = [np.sqrt((x[:, known] ** 2).mean(0)) for x in (residual, torque)]
    return found | {
        'joints': (100 * sizes[0] / sizes[1]).tolist(),
        'terms': terms,
        'seconds': run.recording.seconds,
        'used': run.used / run.recording.seconds,
        'events': events[:200],
    }


def fit_error(robot, known, learnt, tests, terms, widths, prior):
    """Return the error [%] of least squares with some columns, of the known joints."""
    model = arm_of(robot.urdf, robot.joints)
    kinematics = learnt.kinematics
    found = fitted(model, kinematics, learnt.tau, terms, widths, robot.couple, prior, known)
    bodies = found[: 10 * len(robot.joints)]

    def predicted(motion):
        return design(model, motion.kinematics, terms, widths, robot.couple, bodies) @ found

    return error_of(known, tests, predicted)


def torque_of(robot, values, motion):
    """Return the torques [N, n] of a `Robot` with parameters, name -> value, along a motion."""
    return torque_of_named(robot.urdf, robot.joints, values, motion)


def error_of(known, tests, predicted):
    """
    Return the error [%] over all tests and known joints.

    tests: (recording, `Motion`) pairs; predicted: function of a motion.
    """
    torque = _joined(tests, predicted)[:, known]
    return torque_error(torque, _joined(tests, lambda motion: motion.tau)[:, known])


def _joined(tests, function):
    return np.concatenate([function(motion) for _, motion in tests])
