"""Linearised frames of a robot against finite differences of what they linearise."""

from dataclasses import replace

import numpy as np
import pytest
from robots import (
    ball_arm,
    ball_arm_frames,
    ball_arm_sensors,
    MILLI,
    pendulum,
    PENDULUM_PRIORS,
    priors,
    random_columns,
    seen,
)

from sim2real_estimator.estimation.batch.fit import Objective, Window
from sim2real_estimator.estimation.noise import NormalNoise
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.parameters.parametrization import (
    DirectParametrization,
    Prior,
    TimedParametrization,
)
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.prediction import linearization as frame_walk
from sim2real_estimator.prediction.linearization import FrameAtOnce, FrameForwards
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem
from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.sensors import JointPositions, LinkPose

STEP = 1e-6


@pytest.fixture(scope='module')
def arm():
    """Return the problem of the ball arm with unknowns of every kind."""
    parameters = ball_arm()
    names = {
        'hand.mass': Prior(0.4, 0.3, True),
        'rod.com.x': Prior(0.02, 0.01, False),
        'wrist.origin.z': Prior(-0.4, 0.1, True),
        'wrist.friction': Prior(0.01, 0.5, True),
    }
    return RobotProblem(
        parameters,
        ball_arm_sensors(parameters.model),
        DirectParametrization(names),
        ProblemOptions(max_step=0.004),
    )


@pytest.fixture(scope='module')
def late_arm():
    """Return the same robot whose commands act late and whose mocap is late, both unknown."""
    parameters = ball_arm()
    delays = {
        'commands.delay': Prior(0.0015, 0.0005, False),
        'rod pose.delay': Prior(0.001, 0.0003, False),
        'marker.delay': Prior(-0.001, 0.0003, False),
    }
    parametrization = TimedParametrization(
        DirectParametrization({'hand.mass': Prior(0.4, 0.3, True)}), delays
    )
    return RobotProblem(
        parameters,
        ball_arm_sensors(parameters.model),
        parametrization,
        ProblemOptions(max_step=0.004),
    )


@pytest.fixture(scope='module')
def far_arm():
    """Return the same robot whose mocap is late by several frames."""
    parameters = ball_arm()
    delays = {
        'commands.delay': Prior(0.0015, 0.0005, False),
        'rod pose.delay': Prior(0.033, 0.002, False),
        'marker.delay': Prior(0.021, 0.002, False),
    }
    parametrization = TimedParametrization(
        DirectParametrization({'hand.mass': Prior(0.4, 0.3, True)}), delays
    )
    return RobotProblem(
        parameters,
        ball_arm_sensors(parameters.model),
        parametrization,
        ProblemOptions(max_step=0.004),
    )


@pytest.fixture(scope='module')
def disturbed_arm():
    """Return the same robot with efforts of unknown origin on its joints."""
    parameters = ball_arm()
    return RobotProblem(
        parameters,
        ball_arm_sensors(parameters.model),
        DirectParametrization({'hand.mass': Prior(0.4, 0.3, True)}),
        ProblemOptions(max_step=0.004, disturbance_time=0.05),
    )


@pytest.fixture(scope='module')
def driven_arm():
    """Return the same robot whose wrist is driven."""
    return make_driven_arm(None)


@pytest.fixture(scope='module')
def disturbed_driven_arm():
    """Return the same robot with efforts of unknown origin on its other joints."""
    return make_driven_arm(0.05)


def make_driven_arm(disturbance_time):
    parameters = Parameters(ball_arm().model.with_actuators({'wrist': 'driven'}))
    names = {'hand.mass': Prior(0.4, 0.3, True), 'rod.com.x': Prior(0.02, 0.01, False)}
    return RobotProblem(
        parameters,
        ball_arm_sensors(parameters.model),
        DirectParametrization(names),
        ProblemOptions(max_step=0.004, disturbance_time=disturbance_time),
    )


@pytest.fixture(scope='module')
def late_driven_arm(late_arm):
    """Return the robot with late clocks of which the joint of its first command is driven."""
    model = late_arm.model
    return RobotProblem(
        Parameters(model.with_actuators({model.commands[0]: 'driven'})),
        late_arm.sensors,
        late_arm.parametrization,
        late_arm.options,
    )


@pytest.fixture(scope='module')
def mounted_arm():
    """Return the same robot whose markers and whose motion capture are not where they should."""
    parameters, sensors = seen(ball_arm())
    names = {
        f'{owner}.{axis}': Prior(0.0, 0.05, False)
        for owner in ('rod pose.mount', 'mocap')
        for axis in ('x', 'y', 'z', 'rx', 'ry', 'rz')
    }
    names |= {f'marker.mount.{axis}': Prior(0.01, 0.02, False) for axis in 'xyz'}
    return RobotProblem(
        parameters, sensors, DirectParametrization(names), ProblemOptions(max_step=0.004)
    )


def shifted(problem, points, parameters, direction, step):
    """Return points and parameters moved along one local coordinate."""
    delta = np.zeros((problem.tangent_size + len(problem.labels), points.shape[1]))
    delta[direction] = step
    size = problem.tangent_size
    return problem.retract(points, delta[:size]), parameters + delta[size:]


@pytest.mark.parametrize(
    'robot',
    [
        *('arm', 'late_arm', 'far_arm', 'disturbed_arm', 'mounted_arm'),
        *('driven_arm', 'disturbed_driven_arm', 'late_driven_arm'),
    ],
)
def test_slopes_are_the_derivatives_of_residuals_and_end_states(robot, request):
    arm = request.getfixturevalue(robot)
    generator = np.random.default_rng(3)
    frames = ball_arm_frames(generator)
    points, parameters = random_columns(arm, 4, generator)
    lanes = [frames[0], frames[1], frames[0], frames[1]]
    found = arm.linearize(points, parameters, lanes)
    # A lane has zero rows where only another lane's frame has a sample.
    assert (found.residual != 0).sum(1).tolist() == [10, 1, 10, 1]
    for direction in range(arm.tangent_size + len(arm.labels)):
        ends, rows = [], []
        for sign in (1, -1):
            moved = arm.linearize(*shifted(arm, points, parameters, direction, sign * STEP), lanes)
            ends.append(arm.local(found.ends, moved.ends))
            rows.append(moved.residual)
        transition = (ends[0] - ends[1]).T / (2 * STEP)
        slope = (rows[0] - rows[1]) / (2 * STEP)
        np.testing.assert_allclose(found.transition[..., direction], transition, atol=2e-6)
        scale = max(1.0, np.abs(found.slope).max())
        np.testing.assert_allclose(found.slope[..., direction], slope, atol=2e-6 * scale)


def test_frames_side_by_side_are_the_frames_alone(arm):
    generator = np.random.default_rng(5)
    frames = ball_arm_frames(generator)
    points, parameters = random_columns(arm, 2, generator)
    together = arm.linearize(points, parameters, list(frames))
    for k, frame in enumerate(frames):
        alone = arm.linearize(points[:, [k]], parameters[:, [k]], (frame,))
        np.testing.assert_allclose(together.ends[:, k], alone.ends[:, 0], atol=1e-12)
        both = together.residual[k][np.abs(together.residual[k]) > 0]
        np.testing.assert_allclose(sorted(both), sorted(alone.residual[0]), rtol=1e-9)
        np.testing.assert_allclose(together.transition[k], alone.transition[0], atol=1e-11)


@pytest.mark.parametrize('robot', ['arm', 'late_arm', 'disturbed_arm'])
def test_a_trajectory_passes_through_the_ends_of_its_frames(robot, request):
    arm = request.getfixturevalue(robot)
    generator = np.random.default_rng(6)
    frames = ball_arm_frames(generator)
    points, parameters = random_columns(arm, 3, generator)
    states = arm.trajectory(points, parameters, frames)
    assert states.shape == (3, arm.point_size, 3)
    for k, frame in enumerate(frames):
        ends = arm.linearize(states[k], parameters, (frame,)).ends
        np.testing.assert_allclose(states[k + 1], ends, atol=1e-12)


def test_a_late_sample_is_compared_with_the_state_of_then(far_arm):
    generator = np.random.default_rng(4)
    points, parameters = random_columns(far_arm, 1, generator)
    inputs = tuple((4 * k * MILLI, generator.standard_normal(1)) for k in range(-3, 12))
    # The frames that end when the two samples were taken.
    late = {'rod pose': round(1e9 * parameters[2, 0]), 'marker': round(1e9 * parameters[3, 0])}
    ends = sorted([40 * MILLI, 48 * MILLI, *(46 * MILLI - by for by in late.values())])
    quiet = [Frame(a, b, (), inputs) for a, b in zip([0, *ends], ends)]
    states = far_arm.trajectory(points, parameters, quiet)
    samples = []
    for sensor in far_arm.sensors[1:]:
        values = generator.standard_normal(sensor.value_size)
        values[3:] /= np.linalg.norm(values[3:])
        samples.append(Sample(sensor.name, 46 * MILLI, values))
    frame = Frame(40 * MILLI, 48 * MILLI, tuple(samples), inputs)
    at = ends.index(40 * MILLI) + 1
    found = far_arm.residuals(states[at:][:2], parameters, (frame,))
    for sample, rows in zip(samples, (found[:, :6], found[:, 6:])):
        then = 46 * MILLI - late[sample.sensor]
        moved = replace(sample, stamp_ns=then, moved_ns=late[sample.sensor])
        index = ends.index(then)
        alone = replace(quiet[index], samples=(moved,))
        expected = far_arm.residuals(states[index : index + 2], parameters, (alone,))
        np.testing.assert_allclose(rows, expected, atol=1e-3)


def test_the_sign_of_a_measured_quaternion_does_not_matter(arm):
    generator = np.random.default_rng(8)
    frame = ball_arm_frames(generator)[0]
    pose = next(s for s in frame.samples if s.sensor == 'rod pose')
    values = pose.values.copy()
    values[3:] *= -1
    flipped = Frame(
        frame.start_ns,
        frame.end_ns,
        tuple(Sample(s.sensor, s.stamp_ns, values) if s is pose else s for s in frame.samples),
        frame.inputs,
    )
    points, parameters = random_columns(arm, 2, generator)
    one, other = (arm.linearize(points, parameters, (f,)).residual for f in (frame, flipped))
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_first_state_is_read_off_all_sensors_together(arm):
    points, frames, _ = _seen_exactly(arm)
    _assert_is_near(arm, points, arm.first_state(frames)[0])


def test_a_joint_that_is_seen_some_frames_later_has_no_jump_in_its_guess(arm):
    points, frames, states = _seen_exactly(arm)
    # The ball is neutral as long as nobody sees it, and would seem to jump when somebody does.
    late = [
        replace(f, samples=tuple(s for s in f.samples if s.sensor == 'encoder'))
        for f in frames[:3]
    ] + frames[3:]
    _assert_is_near(arm, points, arm.first_state(late)[0])
    for state, guess in zip(states, arm.first_trajectory(late)):
        _assert_is_near(arm, state, guess)


def _seen_exactly(problem):
    """Return (a random state [nx, 1], frames without noise from there on, states at bounds)."""
    generator = np.random.default_rng(9)
    points, _ = random_columns(problem, 1, generator)
    mean = problem.prior.mean[:, None]
    quiet = [Frame(k * 4 * MILLI, (k + 1) * 4 * MILLI, ()) for k in range(8)]
    states = problem.trajectory(points, mean, quiet)
    frames = [_exact_frame(problem, f, states[k + 1], mean) for k, f in enumerate(quiet)]
    return points, frames, states


def _assert_is_near(problem, points, guess):
    error = problem.local(points, guess[:, None])[:, 0]
    assert np.abs(error[:4]).max() < 2e-3
    assert np.abs(error[4:]).max() < 0.3


def _exact_frame(problem, frame, state, parameters):
    """Return the frame with what the sensors would see in a state, without noise."""
    observe = problem.sensors[1].observe, problem.sensors[2].observe
    values = dict(
        zip(problem.parametrization.names, problem.parametrization.to_named(parameters)[:, 0])
    )
    robot = realize(problem.parameters, values)
    q, v = state[: problem.model.position_size, 0], state[problem.model.position_size :, 0]
    outputs = np.array([x for see in observe for x in see(robot, list(q), list(v))])
    matrix = outputs[3:12].reshape(3, 3)
    w = 0.5 * np.sqrt(1 + np.trace(matrix))
    xyz = np.array(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]
    ) / (4 * w)
    at = frame.end_ns
    return Frame(
        frame.start_ns,
        at,
        (
            Sample('encoder', at, state[4]),
            Sample('rod pose', at, np.array([*outputs[:3], w, *xyz])),
            Sample('marker', at, outputs[12:15]),
        ),
    )


def test_the_cost_of_a_window_has_the_gradient_it_says():
    parameters = pendulum()
    parametrization = DirectParametrization(priors(parameters, PENDULUM_PRIORS))
    sensor = JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3)
    problem = RobotProblem(parameters, (sensor,), parametrization)
    generator = np.random.default_rng(1)
    frames = tuple(
        Frame(
            k * 10 * MILLI,
            (k + 1) * 10 * MILLI,
            (Sample('encoder', (k + 1) * 10 * MILLI, 0.01 * generator.standard_normal(2)),),
            ((k * 10 * MILLI, generator.standard_normal(2)),),
        )
        for k in range(12)
    )
    window = Window(frames, *problem.first_state(frames))
    objective = Objective(problem, window, NormalNoise(), problem.prior)
    z = 0.1 * generator.standard_normal((14, 2)) + objective.centre
    gradient = objective.expand(z).gradient
    for direction in range(14):
        step = np.zeros((14, 1))
        step[direction] = 1e-5
        slope = (objective.costs(z + step) - objective.costs(z - step)) / 2e-5
        np.testing.assert_allclose(
            gradient[:, direction], slope, rtol=1e-5, atol=1e-6 * np.abs(gradient).max()
        )


@pytest.mark.parametrize('driven, rank', [((True, True), 7), ((False, False), 6)])
def test_only_what_motion_can_tell_apart_is_estimated(driven, rank):
    parameters = pendulum()
    sensor = JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3)
    parametrization = choose_parametrization(
        parameters, (sensor,), priors(parameters, PENDULUM_PRIORS), known_commands=driven
    )
    assert len(parametrization.labels) == rank
    assert not any('end.origin' in label for label in parametrization.labels)
    assert parametrization.names == tuple(PENDULUM_PRIORS)
    values = parametrization.to_named(parametrization.prior.mean[:, None])[:, 0]
    np.testing.assert_allclose(values, parameters.nominal(parametrization.names))


def test_parameters_that_data_tell_apart_are_estimated_as_they_are():
    parameters = pendulum()
    sensor = JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3)
    chosen = {n: PENDULUM_PRIORS[n] for n in ('lower.mass', 'elbow.damping')}
    parametrization = choose_parametrization(parameters, (sensor,), priors(parameters, chosen))
    assert parametrization.labels == ('log(lower.mass)', 'log(elbow.damping)')


@pytest.mark.parametrize('swing, moves', [(0.0, False), (0.01, True)])
def test_motion_is_told_from_noise_and_from_flipped_signs(swing, moves):
    parameters, generator = pendulum(), np.random.default_rng(0)
    sensors = (
        JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3),
        LinkPose('body', parameters.model, 'lower', orientation_sd=2e-3),
    )
    parametrization = DirectParametrization(priors(parameters, {'lower.mass': 0.3}))
    problem = RobotProblem(parameters, sensors, parametrization)

    def frame(k):
        angles = swing * np.sin(0.3 * k) + 1e-3 * generator.standard_normal(2)
        turn = np.array([1.0, *(1e-3 * generator.standard_normal(3))])
        pose = np.array([0, 0, 0, *(generator.choice([-1, 1]) * turn / np.linalg.norm(turn))])
        at = (k + 1) * 10 * MILLI
        samples = (Sample('body', at, pose), Sample('encoder', at, angles))
        return Frame(at - 10 * MILLI, at, samples if k % 3 else (), ((0, np.zeros(2)),))

    frames = [frame(k) for k in range(60)]
    assert problem.moves(problem.first_state(frames)[0], frames) is moves
    assert not problem.moves(problem.neutral, frames[:1])


@pytest.mark.parametrize('way', [FrameAtOnce, FrameForwards])
@pytest.mark.parametrize('columns', [1, 4])
@pytest.mark.parametrize(
    'robot', ['arm', 'disturbed_arm', 'mounted_arm', 'driven_arm', 'disturbed_driven_arm']
)
def test_a_frame_all_at_once_is_its_segments_one_by_one(robot, columns, way, request, monkeypatch):
    arm = request.getfixturevalue(robot)
    generator, walk = np.random.default_rng(12), arm._linearizer
    points, parameters = random_columns(arm, columns, generator)
    for frame in ball_arm_frames(generator)[:2]:
        monkeypatch.setattr(walk, '_of_filter', way(walk._states, walk._rows, arm.parametrization))
        at_once = arm.linearize(points, parameters, (frame,))
        with monkeypatch.context() as patch:
            patch.setattr(frame_walk, '_FEW_COLUMNS', 0)
            one_by_one = arm.linearize(points, parameters, (frame,))
        for name in ('ends', 'transition', 'residual', 'slope'):
            found, expected = getattr(at_once, name), getattr(one_by_one, name)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('way', [FrameAtOnce, FrameForwards])
@pytest.mark.parametrize('robot', ['arm', 'disturbed_driven_arm'])
def test_parameters_of_fewer_columns_repeat(robot, way, request, monkeypatch):
    arm = request.getfixturevalue(robot)
    generator, walk = np.random.default_rng(12), arm._linearizer
    points, parameters = random_columns(arm, 6, generator)
    monkeypatch.setattr(walk, '_of_filter', way(walk._states, walk._rows, arm.parametrization))
    one, other = ball_arm_frames(generator)[:2]
    for frames in ((one,), [one, one, one, other, other, other]):
        few = arm.linearize(points, parameters[:, :3], frames)
        all_of_them = arm.linearize(points, np.tile(parameters[:, :3], 2), frames)
        for name in ('ends', 'transition', 'residual', 'slope'):
            found, expected = getattr(few, name), getattr(all_of_them, name)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
