"""Commands whose joints are late by different times: steps are cut where each begins to act."""

from dataclasses import replace

import numpy as np
import pytest
from robots import MILLI, pendulum, random_columns
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.parameters.parametrization import (
    DirectParametrization,
    Prior,
    TimedParametrization,
)
from sim2real_estimator.prediction import linearization
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem
from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.sensors import JointPositions, Marker

STEP = 1e-6
JOINTS = ('shoulder', 'elbow')
OWN = {'shoulder.delay': (0.004, 0.002), 'elbow.delay': (0.011, 0.004)}


def problem_of(delays, fixed=None, backend='auto', max_step=0.004, **more):
    """Return a `RobotProblem` of a double pendulum; delays: name -> (mean, sd) [s]."""
    parameters = pendulum()
    model = parameters.model
    sensors = (
        JointPositions('encoders', model, JOINTS, sd=1e-3),
        Marker('camera', model, 'lower', (0.0, 0.0, -0.4), sd=1e-3),
    )
    physical = DirectParametrization({'lower.mass': Prior(0.8, 0.2, True)}, fixed)
    parametrization = TimedParametrization(
        physical, {n: Prior(*prior, False) for n, prior in delays.items()}
    )
    options = ProblemOptions(backend=backend, max_step=max_step, **more)
    return RobotProblem(parameters, sensors, parametrization, options)


def frames_of(count, generator, period=7 * MILLI, given=4 * MILLI):
    """Return frames on end with commands at a rhythm of their own, the camera in between."""
    commands = [(k * given, generator.standard_normal(2)) for k in range(-20, 40)]
    frames = []
    for start in range(0, count * period, period):
        end = start + period
        acting = tuple(c for c in commands if start - 40 * MILLI < c[0] < end + 5 * MILLI)
        samples = (
            Sample('camera', start + 3 * MILLI, generator.standard_normal(3)),
            Sample('encoders', end, generator.standard_normal(2)),
        )
        frames.append(Frame(start, end, samples, acting))
    return frames


@pytest.mark.parametrize(
    ('delays', 'fixed'),
    [
        (OWN, {}),
        ({'commands.delay': (0.004, 0.002), 'elbow.delay': (0.011, 0.004)}, {}),
        ({'commands.delay': (0.004, 0.002)}, {'elbow.delay': 0.003}),
        # Its samples are of the frame before: the steps to them lead back.
        ({**OWN, 'camera.delay': (0.012, 0.001)}, {}),
        (OWN, {'camera.delay': 0.009}),
        # Nothing tells what time it is: only differences count.
        ({**OWN, 'encoders.delay': (0.002, 0.001), 'camera.delay': (0.004, 0.001)}, {}),
    ],
)
def test_slopes_are_the_derivatives(delays, fixed):
    problem, generator = problem_of(delays, fixed), np.random.default_rng(5)
    frames = frames_of(2, generator)
    # In some columns the shoulder's commands act after the elbow's, in others before.
    points, parameters = random_columns(problem, 6, generator)
    lanes = [frames[k % 2] for k in range(6)]
    found = problem.linearize(points, parameters, lanes)
    size = problem.tangent_size
    for direction in range(size + len(problem.labels)):
        delta = np.zeros((size + len(problem.labels), 6))
        delta[direction] = STEP
        ends, rows = [], []
        for sign in (1, -1):
            start = problem.retract(points, sign * delta[:size])
            moved = problem.linearize(start, parameters + sign * delta[size:], lanes)
            ends.append(problem.local(found.ends, moved.ends))
            rows.append(moved.residual)
        transition = (ends[0] - ends[1]).T / (2 * STEP)
        slope = (rows[0] - rows[1]) / (2 * STEP)
        np.testing.assert_allclose(found.transition[..., direction], transition, atol=2e-6)
        scale = max(1.0, np.abs(found.slope).max())
        np.testing.assert_allclose(found.slope[..., direction], slope, atol=2e-6 * scale)


@pytest.mark.parametrize(
    ('delays', 'fixed'),
    [
        ({'commands.delay': (0.004, 0.002)}, {}),
        # Commands act when samples are taken, or before their stamps.
        ({'commands.delay': (0.0, 0.002)}, {}),
        ({'commands.delay': (-0.004, 0.002)}, {}),
        ({'commands.delay': (0.004, 0.002)}, {'elbow.delay': 0.003}),
        (OWN, {}),
    ],
)
def test_one_column_in_forward_mode_is_its_segments_one_by_one(delays, fixed, monkeypatch):
    options = {'max_step': 0.0015, 'disturbance_time': None}
    problem, generator = problem_of(delays, fixed, **options), np.random.default_rng(8)
    point = random_columns(problem, 1, generator)[0]
    parameters = problem.prior.mean[:, None]
    frames = frames_of(3, generator)
    # A stretch begins with a frame of no length.
    last = frames[-1]
    frames.append(replace(last, start_ns=last.end_ns, samples=last.samples[-1:], after_gap=True))
    for frame in frames:
        forwards = problem.linearize(point, parameters, (frame,))
        with monkeypatch.context() as patch:
            patch.setattr(linearization, '_FEW_COLUMNS', 0)
            expected = problem.linearize(point, parameters, (frame,))
        is_moving = frame.start_ns < frame.end_ns
        assert (np.abs(expected.transition[..., -1]).max() > 0) == is_moving
        for part in ('ends', 'transition', 'residual', 'slope'):
            np.testing.assert_allclose(
                getattr(forwards, part), getattr(expected, part), rtol=1e-9, atol=1e-9
            )


def test_both_backends_agree():
    delays = {**OWN, 'camera.delay': (0.012, 0.001)}
    native, eager = (problem_of(delays, backend=name) for name in ('native', 'eager'))
    generator = np.random.default_rng(6)
    frames = frames_of(2, generator)
    points, parameters = random_columns(native, 4, generator)
    lanes = [frames[k % 2] for k in range(4)]
    one, other = (p.linearize(points, parameters, lanes) for p in (native, eager))
    for part in ('ends', 'transition', 'residual', 'slope'):
        np.testing.assert_allclose(
            getattr(one, part), getattr(other, part), rtol=1e-9, atol=1e-9, err_msg=part
        )


def rolled(delays, state, torques, period):
    """Return the last state [4] by `Simulator`, which delays commands by itself."""
    values = dict(zip(('shoulder.delay', 'elbow.delay'), delays))
    simulator = Simulator(pendulum().model, ('lower.mass',), max_step=0.0005, values=values)
    with torch.no_grad():
        return simulator.rollout(
            torch.from_numpy(state)[:, None],
            [period] * len(torques),
            torch.tensor([[0.8]], dtype=torch.float64),
            torch.from_numpy(torques),
        ).states[-1, :, 0]


@pytest.mark.parametrize('delays', [(0.0, 0.012), (0.06, 0.003), (0.013, 0.013)])
def test_the_motion_is_that_of_the_simulator(delays):
    problem = problem_of(OWN, max_step=0.0005)
    generator = np.random.default_rng(7)
    state, torques = generator.standard_normal(4), generator.standard_normal((20, 2))
    period = 10 * MILLI
    # What comes first acts as if it had always been.
    given = [-10 * period, *range(period, 20 * period, period)]
    commands = tuple(zip(given, torques))
    frames = [Frame(k * period, (k + 1) * period, (), commands) for k in range(20)]
    parameters = np.array([np.log(0.8), *delays])[:, None]
    states = problem.trajectory(state[:, None], parameters, frames)
    expected = rolled(delays, state, torques, 0.01)
    np.testing.assert_allclose(states[-1, :, 0], expected, atol=1e-9)


def test_a_trajectory_is_what_comes_of_walking_frame_by_frame():
    problem, generator = problem_of(OWN), np.random.default_rng(10)
    # Frames of other lengths, and one without anything in it, have other numbers of steps.
    frames = [*frames_of(2, generator), *frames_of(4, generator, 21 * MILLI)[1:]]
    frames = [replace(f, start_ns=e.end_ns) for e, f in zip(frames, frames[1:])]
    frames.insert(0, replace(frames[0], start_ns=0, end_ns=frames[0].start_ns, samples=()))
    points, parameters = random_columns(problem, 5, generator)
    states = problem.trajectory(points, parameters, frames)
    assert len(states) == len(frames) + 1
    for begin, end, frame in zip(states, states[1:], frames):
        found = problem.linearize(begin, parameters, (frame,))
        np.testing.assert_allclose(end, found.ends, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('delays', [OWN, {'camera.delay': (0.012, 0.001)}])
def test_residuals_on_a_trajectory_are_those_of_its_frames(delays):
    problem, generator = problem_of(delays), np.random.default_rng(12)
    # The camera's samples come before the end of a frame; some frames have none.
    frames = frames_of(4, generator)
    frames[1] = replace(frames[1], samples=frames[1].samples[1:])
    frames[2] = replace(frames[2], samples=frames[2].samples[:1])
    points, parameters = random_columns(problem, 5, generator)
    states = problem.trajectory(points, parameters, frames)
    residuals = problem.residuals(states, parameters, frames).reshape(5, len(frames), -1)
    for begin, k in zip(states, range(len(frames))):
        alone = problem.linearize(begin, parameters, (frames[k],)).residual
        found = residuals[:, k]
        np.testing.assert_allclose(found[:, found.any(0)], alone[:, alone.any(0)], atol=1e-7)


def test_a_joint_with_a_delay_of_its_own_has_no_part_in_the_shared_one():
    generator = np.random.default_rng(8)
    state, frames = generator.standard_normal((4, 1)), frames_of(6, generator)

    def end(**delays):
        problem = problem_of({n.replace('_', '.'): (0.0, 0.01) for n in delays})
        parameters = np.array([np.log(0.8), *delays.values()])[:, None]
        return problem.trajectory(state, parameters, frames)[-1]

    own = end(shoulder_delay=0.007, elbow_delay=0.002)
    np.testing.assert_allclose(end(commands_delay=0.007, elbow_delay=0.002), own, atol=1e-12)
    both = end(commands_delay=0.007)
    np.testing.assert_allclose(end(shoulder_delay=0.007, elbow_delay=0.007), both, atol=1e-9)
    assert np.abs(own - both).max() > 1e-4


def test_a_clock_whose_delay_is_known_saw_an_earlier_state():
    generator = np.random.default_rng(9)
    late, early = problem_of(OWN, {'encoders.delay': 0.003}), problem_of(OWN)
    frame = frames_of(1, generator)[0]
    points, parameters = random_columns(late, 3, generator)
    (sample,) = (s for s in frame.samples if s.sensor == 'encoders')
    alone = replace(frame, samples=(sample,))
    then = replace(frame, samples=(replace(sample, stamp_ns=sample.stamp_ns - 3 * MILLI),))
    found, expected = (
        problem.linearize(points, parameters, (one,))
        for problem, one in ((late, alone), (early, then))
    )
    np.testing.assert_allclose(found.residual, expected.residual, atol=1e-6)
    np.testing.assert_allclose(found.slope, expected.slope, atol=1e-4)
    # Stamps that have been set to when samples were taken are right as they are.
    moved = replace(then.samples[0], moved_ns=3 * MILLI)
    found = late.linearize(points, parameters, (replace(frame, samples=(moved,)),))
    np.testing.assert_array_equal(found.residual, expected.residual)


def test_a_delay_of_nothing_is_an_error_that_names_those_there_are():
    with pytest.raises(ConfigError, match="'lower.delay' .*commands.delay, shoulder.delay, elbow"):
        problem_of({'lower.delay': (0.0, 0.01)})
