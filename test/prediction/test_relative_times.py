"""Delays of which only differences show leave no trace in what an estimator sees."""

import numpy as np
import pytest
from robots import MILLI, pendulum, random_columns

from sim2real_estimator.parameters.parametrization import (
    DirectParametrization,
    Prior,
    TimedParametrization,
)
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem
from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.sensors import JointPositions, Marker

JOINTS = ('shoulder', 'elbow')
CLOCKS = ('encoders.delay', 'camera.delay')


def problem_of(names, actuator='effort', fixed=None, reference=0):
    """Return a `RobotProblem` of a double pendulum that two clocks see, with unknown delays."""
    parameters = pendulum(actuator)
    sensors = (
        JointPositions('encoders', parameters.model, JOINTS, sd=1e-3),
        Marker('camera', parameters.model, 'lower', (0.0, 0.0, -0.4), sd=1e-3),
    )
    delays = {name: Prior(0.001 * k, 0.002, False) for k, name in enumerate(names, 1)}
    physical = DirectParametrization({'lower.mass': Prior(0.8, 0.2, True)}, fixed)
    parametrization, options = (
        TimedParametrization(physical, delays),
        ProblemOptions(max_step=0.004),
    )
    return RobotProblem(parameters, sensors, parametrization, options, reference=reference)


def frame_of(problem, generator):
    """Return a frame with a sample of each clock."""
    acting = generator.standard_normal((4, len(problem.model.commands)))
    samples = (
        Sample('camera', 3 * MILLI, generator.standard_normal(3)),
        Sample('encoders', 7 * MILLI, generator.standard_normal(2)),
    )
    commands = tuple(((k - 2) * 3 * MILLI, row) for k, row in enumerate(acting))
    return Frame(0, 7 * MILLI, samples, commands if acting.size else ())


def seen_along(problem, direction):
    """Return how far samples and the motion move along delays, name -> by how much."""
    generator = np.random.default_rng(3)
    points, parameters = random_columns(problem, 2, generator)
    found = problem.linearize(points, parameters, (frame_of(problem, generator),))
    rows = [problem.tangent_size + problem.labels.index(name) for name in direction]
    by = np.array(list(direction.values()))
    return max(np.abs(part[..., rows] @ by).max() for part in (found.slope, found.transition))


def test_where_every_clock_and_command_may_be_late_nothing_shows_when_it_was():
    problem = problem_of((*CLOCKS, 'commands.delay'))
    together = {'encoders.delay': 1.0, 'camera.delay': 1.0, 'commands.delay': -1.0}
    assert seen_along(problem, together) < 1e-10
    assert all(seen_along(problem, {name: 1.0}) > 1e-3 for name in together)


def test_clocks_of_a_robot_without_commands_show_their_difference_only():
    problem = problem_of(CLOCKS, 'passive')
    assert seen_along(problem, dict.fromkeys(CLOCKS, 1.0)) < 1e-10
    assert seen_along(problem, {'camera.delay': 1.0}) > 1e-3


@pytest.mark.parametrize(
    ('names', 'actuator', 'fixed'),
    [
        (CLOCKS, 'effort', None),
        (('camera.delay', 'commands.delay'), 'effort', None),
        (('encoders.delay',), 'passive', {'camera.delay': 0.001}),
    ],
)
def test_where_something_tells_the_time_delays_show(names, actuator, fixed):
    assert seen_along(problem_of(names, actuator, fixed), dict.fromkeys(names, 1.0)) > 1e-3


def test_the_time_is_that_of_the_reference():
    for reference, other in ((0, 'camera'), (1, 'encoders')):
        problem = problem_of(CLOCKS, 'passive', reference=reference)
        expected = np.zeros(len(problem.labels))
        expected[problem.labels.index(f'{other}.delay')] = 1.0
        expected[problem.labels.index(CLOCKS[reference])] = -1.0
        assert problem.late_sensors[other].tolist() == expected.tolist()
    plain = problem_of(CLOCKS).late_sensors['camera']
    assert plain.tolist() == [0.0, 0.0, 1.0]
