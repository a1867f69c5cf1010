"""Where the robot is and where it goes next, as far as the posterior knows."""

import numpy as np
import pytest
from robots import pendulum, PENDULUM_PRIORS, priors

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.parametrization import DirectParametrization
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.prediction.forecast import forecast, link_ends, link_paths, mean_state
from sim2real_estimator.prediction.robot_problem import ProblemOptions, RobotProblem
from sim2real_estimator.sensors import JointPositions

EFFORTS = (0.3, -0.1)
SD = 0.05


@pytest.fixture(scope='module')
def problem():
    """Return a pendulum with torques, of which some parameters cannot be told apart."""
    parameters = pendulum()
    sensors = (JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3),)
    parametrization = choose_parametrization(
        parameters, sensors, priors(parameters, PENDULUM_PRIORS)
    )
    return RobotProblem(parameters, sensors, parametrization, ProblemOptions(backend='eager'))


@pytest.fixture
def mixture(problem):
    """Return two components, the second of them heavier."""
    size = len(problem.labels)
    root = np.diag([*[SD] * problem.tangent_size, *[0.0] * size])
    points = np.array([[0.2, 0.4], [-0.1, 0.3], [1.0, 0.5], [-1.0, 0.2]])
    means = np.zeros((size, 2))
    return Mixture(np.log([0.25, 0.75]), points, means, np.stack([root, root]))


def forecast_of(problem, mixture, **more):
    return forecast(problem, mixture, EFFORTS, np.random.default_rng(0), **more)


def test_the_first_motion_is_the_simulators(problem, mixture):
    future = forecast_of(problem, mixture, count=3, seconds=0.4, instants=8)
    simulator = Simulator(problem.model, max_step=0.01, backend='eager')
    expected = simulator.rollout(
        np.array(mixture.points[:, 1:]).tolist(), [0.05] * 8, controls=[EFFORTS] * 8
    ).states
    assert future.times.tolist() == pytest.approx([0.05 * k for k in range(9)])
    np.testing.assert_allclose(future.states[:, :, 0], expected[..., 0], rtol=1e-9, atol=1e-12)


def test_the_others_are_draws_of_the_mixture(problem, mixture):
    now = forecast_of(problem, mixture, count=4000, seconds=0.01, instants=1).states[0]
    assert now.shape == (4, 4000)
    np.testing.assert_allclose(now.mean(1), mixture.points @ [0.25, 0.75], atol=0.02)
    apart = mixture.points[:, 1] - mixture.points[:, 0]
    expected = np.sqrt(SD**2 + 0.25 * 0.75 * apart**2)
    np.testing.assert_allclose(now.std(1), expected, rtol=0.05)


def test_the_same_generator_gives_the_same_draws(problem, mixture):
    first, second = (forecast_of(problem, mixture, count=4, seconds=0.1) for _ in range(2))
    np.testing.assert_array_equal(first.states, second.states)


def test_an_unknown_effort_counts_as_none(problem, mixture):
    generators = (np.random.default_rng(0) for _ in range(2))
    unknown, none = (
        forecast(problem, mixture, efforts, next(generators), 2, 0.2, 4)
        for efforts in ((np.nan, 0.2), (0.0, 0.2))
    )
    np.testing.assert_array_equal(unknown.states, none.states)


def test_paths_are_those_of_the_ends_of_links(problem, mixture):
    future = forecast_of(problem, mixture, count=3, seconds=0.2, instants=4)
    (name,) = paths = link_paths(problem, future)
    upper, lower = future.states[:, 0].T, future.states[:, 1].T
    # Two hinges about y, links of 0.5 m and 0.4 m that hang down at zero.
    x = -0.5 * np.sin(upper) - 0.4 * np.sin(upper + lower)
    z = -0.5 * np.cos(upper) - 0.4 * np.cos(upper + lower)
    assert name == 'tip'
    np.testing.assert_allclose(paths[name], np.stack([x, 0 * x, z], -1), atol=1e-12)


def test_the_end_of_a_link_is_where_its_estimated_length_says(double_pendulum_urdf):
    parameters = Parameters(load_urdf(double_pendulum_urdf))
    rule = parameters.length_rules['lower']
    (nominal,) = link_ends(parameters, {}).values()
    (longer,) = link_ends(parameters, {'lower.length': 2 * rule.nominal}).values()
    assert [*nominal] == pytest.approx([0, 0.04, -0.6])
    assert [*longer] == pytest.approx([2 * x for x in nominal])


def test_paths_follow_the_estimated_lengths(double_pendulum_urdf):
    parameters = Parameters(load_urdf(double_pendulum_urdf))
    parametrization = DirectParametrization(priors(parameters, {'upper.length': 0.1}))
    problem = RobotProblem(parameters, (), parametrization, ProblemOptions(backend='eager'))
    ends = []
    for length in (0.8, 1.6):
        mean, root = np.array([[np.log(length)]]), np.zeros((1, 5, 5))
        mixture = Mixture(np.zeros(1), problem.neutral[:, None], mean, root)
        future = forecast_of(problem, mixture, count=1, seconds=0.01, instants=1)
        ends.append(link_paths(problem, future)['lower'][0, 0])
    np.testing.assert_allclose(ends[1] - ends[0], [0, 0, -0.8], atol=1e-12)


def test_the_mean_state_weighs_the_components(problem, mixture):
    np.testing.assert_allclose(mean_state(problem, mixture), mixture.points @ [0.25, 0.75])


def test_the_mean_of_turns_is_a_turn(pendulum_urdf):
    model = load_urdf(pendulum_urdf, joint_types={'pivot': 'spherical'})
    parameters = Parameters(model)
    parametrization = DirectParametrization(priors(parameters, {'rod.mass': 0.1}))
    problem = RobotProblem(parameters, (), parametrization, ProblemOptions(backend='eager'))
    turns = np.zeros((6, 2))
    turns[1] = 0.3, -0.1
    points = problem.retract(np.repeat(problem.neutral[:, None], 2, 1), turns)
    mixture = Mixture(np.log([0.5, 0.5]), points, np.zeros((1, 2)), np.zeros((2, 7, 7)))
    state = mean_state(problem, mixture)
    assert np.linalg.norm(state[:4]) == pytest.approx(1.0)
    assert 2 * np.arcsin(state[2]) == pytest.approx(0.1)
