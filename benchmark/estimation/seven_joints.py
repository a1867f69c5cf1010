"""The ready arm of seven joints, known by its URDF alone: 91 parameters, 62 to be told."""

import numpy as np
from problems import seven_joints
import torch

from sim2real_estimator.model.robot import realize
from sim2real_estimator.observability.verdicts import Verdict
from sim2real_estimator.parameters.parametrization import mass_matrices
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.posterior.export.estimated_robot import possible_bodies

from .arm_course import ArmCourse
from .metrics import judge, Quantities
from .targets import covered, Line, median_nees, share, total

TITLE = (
    'arm of seven joints, 91 parameters from its URDF, torques and encoders of 2e-4 rad at 250 Hz'
)
MARKS = (5, 10, 20)
# More problems than these tell little more, and each takes as long as many pendulums.
MOST = 40
_POSES, _MOTIONS = 60, 200
# Singular values below this part of the largest count as zero.
_RANK_TOLERANCE = 1e-5
# Part of the prior's deviation that no torque can tell, from which on nothing is identified.
_BLIND = 0.3


def measure(seed):
    """Return the record of one problem."""
    config = seven_joints.config(simulation__disturbance_time=None)
    return measure_arm(config, seven_joints.robot(config, number_of(seed)))


def number_of(seed):
    """Return the seed of a robot, one number."""
    return int(np.random.default_rng(seed).integers(2**31))


def measure_arm(config, robot):
    """Return the record of an arm of seven joints: a `Config` and its `SyntheticRobot`."""
    pipeline, values = Pipeline.from_config(config), robot.truths[0].values
    problem, record, course = pipeline.problem, {}, ArmCourse()
    quantities = base_quantities(problem.parametrization, values)
    named = problem.parametrization.to_named
    for mark in MARKS:
        course.follow(pipeline, robot, mark)
        mixture = pipeline.estimator.mixture(problem, pipeline.state)
        mean = mixture.moments()[0][:, None]
        wrong = torque_error(problem, values, named(mean))
        record[str(mark)] = judge(mixture, quantities) | {'torque': wrong}
        record[f'definite {mark}'] = float(_are_definite(problem, named(mean)))
        found = pipeline.findings(exact=False)
        record[f'blind {mark}'] = _identified_though_blind(problem, mean, found)
    bodies = possible_bodies(problem, dict(zip(problem.parametrization.names, named(mean))))[1]
    return record | course.record() | {'feasible': float(bodies.all())}


def base_quantities(parametrization, values):
    """Return the base parameters, which torques are linear in, as `Quantities`."""
    return Quantities(lambda x: np.array(x), seven_joints.coordinates(parametrization, values)[1])


def torque_error(problem, values, found):
    """Return by how much torques of found values [P, 1] are wrong [%]; values: the true ones."""
    true = np.array([[values[name]] for name in problem.parametrization.names])
    torques = [torques_of(problem, x) for x in (true, found)]
    wrong = np.sqrt(((torques[1] - torques[0]) ** 2).mean(1) / (torques[0] ** 2).mean(1))
    return 100 * float(wrong.mean())


def torques_of(problem, values):
    """Return the torques [nv, motions] of random motions, of parameter values [P, 1]."""
    parametrization, generator = problem.parametrization, np.random.default_rng(5)
    system = seven_joints.system(problem)
    rows = dict(zip(parametrization.names, torch.from_numpy(values)))
    robot = realize(problem.parameters, {name: rows[name] for name in system.estimated})
    q, v, a = (list(torch.from_numpy(x)) for x in generator.standard_normal((3, 7, _MOTIONS)))
    return torch.stack(system.residual(robot, q, v, a, [0.0] * system.control_size)).numpy()


def _are_definite(problem, values):
    """Tell whether the mass matrix is positive definite in random poses."""
    poses = np.random.default_rng(6).uniform(-np.pi, np.pi, (7, _POSES))
    matrices = mass_matrices(seven_joints.system(problem), np.repeat(values, _POSES, 1), poses)
    return bool((np.linalg.eigvalsh(matrices) > 0).all())


def _identified_though_blind(problem, mean, findings):
    """Return how many parameters are called identified that no torque can tell."""
    inner = problem.parametrization.inner
    torques = seven_joints.torque_columns(problem) @ inner.prior.root
    _, sizes, directions = np.linalg.svd(torques)
    unseen = inner.prior.root @ directions[(sizes > _RANK_TOLERANCE * sizes[0]).sum() :].T
    moves = inner.slope(problem.parametrization.embed(mean))[0] @ unseen
    is_blind = np.linalg.norm(moves, axis=1) > _BLIND * inner.apart.deviations
    verdicts = np.array([each.verdict for each in findings.parameters])
    return int((is_blind & (verdicts == Verdict.IDENTIFIED.value)).sum())


def of_most(key, part):
    """Return the statistic of what a part of the problems does not exceed."""

    def statistic(records):
        values = [r[key] for r in records if r[key] is not None]
        return float(np.quantile(values, part)) if values else np.nan

    return statistic


def _worst_nees(mark):
    return lambda records: float(np.quantile([r[mark]['nees'] for r in records], 0.9))


def median_torque(mark):
    """Return the statistic of how wrong torques of other motions are [%] at a mark."""
    return lambda records: float(np.median([r[mark]['torque'] for r in records]))


def lines():
    """Return the lines of the table: what the feasibility study of such arms asks for."""
    found = [Line('hand-over [s], 95 % of problems', of_most('handed_over', 0.95), (None, 2.5))]
    for mark in map(str, MARKS):
        beside = 'torques wrong by [%]', median_torque(mark)
        found += [
            Line(f'50 % intervals, {mark} s', covered(mark, 0.5), (0.43, 0.62), 'share', beside),
            Line(f'90 % intervals, {mark} s', covered(mark, 0.9), (0.86, 0.97), 'share', beside),
            Line(f'median NEES / p, {mark} s', median_nees(mark), (0.55, 1.1)),
            Line(f'NEES / p, 90 % of problems, {mark} s', _worst_nees(mark), (None, 2.0)),
            Line(f'positive mass matrices, {mark} s', share(f'definite {mark}'), (1, None)),
            Line(f'identified, though untold, {mark} s', total(f'blind {mark}'), (None, 0)),
        ]
    return [
        *found,
        Line('torques wrong by [%], 5 s', median_torque('5'), (None, 0.03)),
        Line('torques wrong by [%], 10 s', median_torque('10'), (None, 0.01)),
        Line('bodies of the mean that can be built', share('feasible'), (0.99, None), 'share'),
        Line('mean NIS per degree', share('nis'), (0.95, 1.05)),
        Line('false alarms of a change', total('false_alarms'), (None, 0)),
        Line('time of a frame [ms]', of_most('frame_ms', 0.5), (None, 10.0)),
        Line('processor time until the hand-over [s]', of_most('batch_cpu', 0.5), (None, 1.5)),
    ]
