"""Encoders and motion capture together: a late clock and bodies that are not where they should."""

from pathlib import Path
import sys

import numpy as np
import pytest
from transforms3d import quaternions

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'prediction'))
from robots import MILLI, pendulum, PENDULUM_PRIORS, priors  # noqa: E402, needs the line above

from sim2real_estimator.backend.simulator import Simulator  # noqa: E402
from sim2real_estimator.dynamics.kinematics import link_poses  # noqa: E402
from sim2real_estimator.estimation.estimators.gaussian_sum import FilterState, GaussianSum
from sim2real_estimator.model.parameters import Parameters  # noqa: E402
from sim2real_estimator.model.robot import realize  # noqa: E402
from sim2real_estimator.parameters.parametrization import Prior  # noqa: E402
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization  # noqa: E402
from sim2real_estimator.prediction.robot_problem import RobotProblem  # noqa: E402
from sim2real_estimator.records import Frame, Sample  # noqa: E402
from sim2real_estimator.reported_events import Happened
from sim2real_estimator.sensors import JointPositions, LinkPose  # noqa: E402

TRUTH = {'lower.mass': 1.0, 'elbow.origin.z': -0.55}
MOUNT = np.array([0.02, -0.01, 0.005])
LATE = 3  # milliseconds
ENCODER, POSITION, TURN = 1e-3, 2e-4, 2e-3


@pytest.fixture(scope='module')
def problem():
    robot = pendulum()
    sensors = (
        JointPositions('encoder', robot.model, ['shoulder', 'elbow'], ENCODER),
        LinkPose('body', robot.model, 'lower', POSITION, TURN),
    )
    parameters = Parameters(robot.model, sensors[1].parameters)
    chosen = priors(parameters, {n: PENDULUM_PRIORS[n] for n in TRUTH})
    chosen |= {f'body.mount.{axis}': Prior(0.0, 0.03, False) for axis in 'xyz'}
    chosen['body.delay'] = Prior(0.0, 0.005, False)
    return RobotProblem(parameters, sensors, choose_parametrization(parameters, sensors, chosen))


def recording(problem, seconds=2.0):
    """Return frames at 100 Hz; poses in between are stamped late, signs are random."""
    generator, count = np.random.default_rng(7), round(100 * seconds)
    times = 0.01 * np.arange(count)
    torques = np.stack([1.5 * np.sin(7 * times + 1), 0.5 * np.sin(11 * times)], 1)
    simulator = Simulator(problem.model, max_step=0.001, values=TRUTH)
    start = simulator.neutral_state()
    start[0] = 0.8
    path = simulator.rollout(start, [0.001] * (10 * count), controls=np.repeat(torques, 10, 0))
    angles = path.states[:, :2, 0].numpy()
    robot = realize(problem.parameters, TRUTH)

    def pose(q):
        found = link_poses(robot, list(q), [0.0, 0.0])['lower']
        matrix = np.array([list(row) for row in found.rotation.rows])
        place = np.array(list(found.position)) + matrix @ MOUNT
        turn = np.array([1.0, *(0.5 * TURN * generator.standard_normal(3))])
        q = quaternions.qmult(quaternions.mat2quat(matrix), turn / np.linalg.norm(turn))
        return [
            *(place + POSITION * generator.standard_normal(3)),
            *(generator.choice([-1, 1]) * q),
        ]

    frames = []
    for k in range(count):
        at, before = 10 * MILLI * k, max(k - 1, 0)
        samples = [Sample('encoder', at, angles[10 * k] + ENCODER * generator.standard_normal(2))]
        if k:
            seen = pose(angles[10 * k - 5 - LATE])
            samples.insert(0, Sample('body', at - 5 * MILLI, np.array(seen)))
        frames.append(
            Frame(
                10 * MILLI * before, at, tuple(samples), ((10 * MILLI * before, torques[before]),)
            )
        )
    return frames


def test_delay_mount_and_parameters_are_found_together(problem):
    estimator = GaussianSum(starts=4)
    state, events = estimator.init(problem), []
    for frame in recording(problem):
        state, report = estimator.update(problem, state, frame)
        events += report.events
    assert isinstance(state, FilterState) and Happened.CHANGED not in events
    mean, covariance = state.mixture.moments()
    found = dict(zip(problem.labels, mean))
    assert found['body.delay'] == pytest.approx(1e-3 * LATE, abs=2e-4)
    for axis, value in zip('xyz', MOUNT):
        assert found[f'body.mount.{axis}'] == pytest.approx(value, abs=5e-4)
    truth = np.array([np.log(1.0), np.log(0.55), *MOUNT, 1e-3 * LATE])
    names = [
        'log(lower.mass)',
        'log(-elbow.origin.z)',
        *(f'body.mount.{a}' for a in 'xyz'),
        'body.delay',
    ]
    rows = [problem.labels.index(name) for name in names]
    sd = np.sqrt(np.diag(covariance))[rows]
    assert (np.abs(mean[rows] - truth) < 4 * sd).all()
    assert (sd < 0.02).all()
