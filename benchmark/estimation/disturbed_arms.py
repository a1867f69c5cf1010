"""The ready arm of seven joints where its model is wrong: what the studies of it share."""

from dataclasses import replace

import numpy as np
from problems import seven_joints

from sim2real_estimator.app.synthetic.settings import generator, load_synthetic
from sim2real_estimator.config.settings_tree import PriorConfig
from sim2real_estimator.observability.findings import find
from sim2real_estimator.pipeline import Pipeline

from .arm_course import ArmCourse
from .arms import INTERVAL
from .metrics import judge, Quantities
from .mismatch import MismatchedPlant
from .seven_joints import base_quantities, median_torque, number_of, of_most, torque_error
from .targets import covered, Line, total

MARKS = (5, 10)
# Each takes as long as many pendulums.
MOST = 20
# So much finer than the estimator's are the steps of the truth, whose friction may be sharp.
_FINER = 16
JOINTS = (
    *('base_yaw', 'shoulder_pitch', 'shoulder_roll', 'elbow_pitch'),
    *('forearm_roll', 'wrist_pitch', 'wrist_roll'),
)
_LOSSES = ('.damping', '.friction')


def config(**priors):
    """Return the `Config`; priors: settings of more to estimate, two underscores for a dot."""
    known = seven_joints.config()
    more = {name.replace('__', '.'): PriorConfig(**given) for name, given in priors.items()}
    return replace(known, estimate={**known.estimate, **more})


def robot(seed, config, forces=None, **settings):
    """
    Return the `SyntheticRobot` of one problem, its truth drawn from the prior.

    forces: function of (Coulomb friction [n] of the joints, generator) -> those of a
    `MismatchedPlant`; settings: of the `SyntheticConfig`.
    """
    seed = number_of(seed)
    ready = load_synthetic(seven_joints.ROBOT).motion
    motion = {joint: replace(how, interval=INTERVAL) for joint, how in ready.items()}
    found = seven_joints.robot(config, seed, finer=_FINER, motion=motion, **settings)
    return found if forces is None else disturb(found, JOINTS, forces, seed)


def disturb(robot, joints, forces, number):
    """
    Return a `SyntheticRobot` on which forces act from now on.

    joints: their names, in order; forces: as of `robot`; number: that chance depends on.
    """
    frictions = np.array([robot.truths[0].values[f'{joint}.friction'] for joint in joints])
    robot.plant = MismatchedPlant(robot.plant, forces(frictions, generator(number, 'forces')))
    return robot


def measure(config, robot, hears_from=0.0, moves_from=0.0):
    """
    Return the record of a robot.

    hears_from [s]: what is sent before is not received; moves_from [s]: when the time begins by
    which the posterior is judged.
    """
    for _ in robot.run(hears_from):
        pass
    pipeline, values = Pipeline.from_config(config), robot.truths[0].values
    problem, record, course = pipeline.problem, {}, ArmCourse()
    is_dissipation = are_losses(problem)
    whole = base_quantities(problem.parametrization, values)
    for mark in MARKS:
        course.follow(pipeline, robot, moves_from + mark)
        mixture = pipeline.estimator.mixture(problem, pipeline.state)
        named = problem.parametrization.to_named(mixture.moments()[0][:, None])
        record[str(mark)] = judge(mixture, part(whole, ~is_dissipation)) | {
            'torque': torque_error(problem, values, named),
            'scale': float(mixture.disturbances.sizes[mixture.heaviest()]),
        }
        record[f'losses {mark}'] = judge(mixture, part(whole, is_dissipation))
    found = find(problem, mixture, 0, exact=False)
    flagged = [p.verdict == 'aliased' for p in found.parameters if p.name in problem.dissipation]
    values = dict(zip(problem.parametrization.names, named[:, 0].tolist()))
    record |= course.record() | {'flagged': float(np.mean(flagged)), 'found': values}
    if record['handed_over'] is not None:
        record['handed_over'] -= moves_from
    return record


def are_losses(problem):
    """Return which of a problem's coordinates are damping or friction, [p]."""
    return np.array([label.endswith(_LOSSES) for label in problem.labels])


def part(quantities, which):
    """Return `Quantities` of some rows."""
    return Quantities(lambda x: quantities.function(x)[which], quantities.truth[which])


def lines(least, most=None):
    """Return the lines of the table; least, most: of the coverage of 90 % intervals."""
    found = []
    for mark in map(str, MARKS):
        beside = 'torques wrong by [%]', median_torque(mark)
        name = f'90 % intervals of all but losses, {mark} s'
        found.append(Line(name, covered(mark, 0.9), (least, most), 'share', beside))
    return [
        *found,
        Line('hand-over [s], 95 % of problems', of_most('handed_over', 0.95), (None, 5.0)),
        Line('false alarms of a change', total('false_alarms'), (None, 0)),
        Line('processor time until the hand-over [s]', of_most('batch_cpu', 0.5), (None, 60.0)),
    ]
