"""What is held fixed, and may be wrong, among the unknowns of an augmented problem."""

import numpy as np
import pytest
from robots import MILLI, pendulum, PENDULUM_PRIORS, priors, random_columns

from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.protocol import Gaussian
from sim2real_estimator.parameters.parametrization import (
    DirectParametrization,
    Prior,
    TimedParametrization,
)
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.parameters.priors import Chosen, nuisances
from sim2real_estimator.prediction.robot_problem import (
    augmented_parametrization,
    ProblemOptions,
    RobotProblem,
)
from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.sensors import JointPositions, Marker

JOINTS = ('shoulder', 'elbow')
MASS = {'lower.mass': Prior(0.8, 0.2, True)}
DELAY = {'commands.delay': Prior(0.001, 0.002, False)}
NUISANCES = {'elbow.damping': Prior(0.04, 0.7, True), 'camera.delay': Prior(0.0, 0.005, False)}


def sensors_of(model):
    return (
        JointPositions('encoders', model, JOINTS, sd=1e-3),
        Marker('camera', model, 'lower', (0.0, 0.0, -0.4), sd=1e-3),
    )


@pytest.fixture(scope='module')
def problem():
    parameters = pendulum()
    return RobotProblem(
        parameters,
        sensors_of(parameters.model),
        TimedParametrization(DirectParametrization(MASS), DELAY),
        ProblemOptions(max_step=0.004),
        nuisances=NUISANCES,
    )


def test_friction_and_clocks_are_nuisances_unless_the_config_names_them():
    parameters = pendulum()
    sensors, told = sensors_of(parameters.model), Chosen(MASS, {}, {})
    names = {'shoulder.damping', 'elbow.damping', 'commands.delay', 'camera.delay'}
    found = nuisances(parameters, sensors, told, 'encoders')
    assert set(found) == names
    assert found['elbow.damping'].mean == 0.04 and found['camera.delay'].mean == 0.0
    fixed = Chosen(MASS | DELAY, {'elbow.damping': 0.05}, {'camera.delay': 'a reason'})
    assert set(nuisances(parameters, sensors, fixed, 'encoders')) == {'shoulder.damping'}
    own = Chosen(MASS, {'elbow.delay': 0.003}, {})
    assert 'commands.delay' not in nuisances(parameters, sensors, own, 'camera')


def test_where_combinations_are_estimated_there_are_no_nuisances():
    parameters = pendulum()
    sensors = sensors_of(parameters.model)
    parametrization = choose_parametrization(
        parameters, sensors, priors(parameters, PENDULUM_PRIORS)
    )
    assert augmented_parametrization(parametrization, NUISANCES) is None
    assert augmented_parametrization(DirectParametrization(MASS), {}) is None
    given = ProblemOptions(max_step=0.004), None, None, 0, NUISANCES
    assert RobotProblem(parameters, sensors, parametrization, *given).nuisances == {}


def test_a_problem_tells_what_may_join_its_unknowns(problem):
    assert problem.nuisances == NUISANCES and set(NUISANCES) < set(
        problem.augmented.parametrization.names
    )


def test_nuisances_held_at_their_means_change_nothing(problem):
    augmented, generator = problem.augmented, np.random.default_rng(2)
    assert augmented.labels == ('log(lower.mass)', 'log(elbow.damping)', *DELAY, 'camera.delay')
    assert augmented.augmented is None
    samples = (Sample('camera', 3 * MILLI, np.ones(3)), Sample('encoders', 7 * MILLI, np.ones(2)))
    frames = (Frame(0, 7 * MILLI, samples, ((0, np.array([0.3, -0.2])),)),)
    points, parameters = random_columns(problem, 3, generator)
    more = np.repeat(augmented.prior.mean[:, None], 3, 1)
    more[[0, 2]] = parameters
    one, other = (
        problem.linearize(points, parameters, frames),
        augmented.linearize(points, more, frames),
    )
    size = problem.tangent_size
    np.testing.assert_allclose(other.ends, one.ends, atol=1e-12)
    np.testing.assert_allclose(other.residual, one.residual, atol=1e-9)
    kept = [*range(size), size, size + 2]
    np.testing.assert_allclose(other.transition[..., kept], one.transition, atol=1e-9)


def test_the_augmented_problem_has_the_prior_of_the_other_unknowns(problem):
    mean, root = np.array([0.3, -0.001]), np.array([[0.1, 0.0], [2e-4, 1e-3]])
    before = problem.prior
    problem.prior = Gaussian(mean, root)
    augmented = problem.augmented.prior
    problem.prior = before
    assert augmented.mean[[0, 2]].tolist() == mean.tolist()
    np.testing.assert_allclose(augmented.covariance[np.ix_([0, 2], [0, 2])], root @ root.T)
    assert augmented.mean[1] == np.log(0.04)
    np.testing.assert_allclose(problem.augmented.prior.mean[[0, 2]], before.mean)


def test_the_marginal_leaves_nuisances_out(problem):
    generator, size = np.random.default_rng(4), problem.tangent_size
    n = size + 4
    roots = np.tril(generator.standard_normal((2, n, n)))
    points = np.repeat(problem.neutral[:, None], 2, 1)
    means, lasting = generator.standard_normal((4, 2)), generator.standard_normal((4, 3))
    mixture = Mixture(np.log([0.3, 0.7]), points, means, roots, lasting=lasting)
    found, kept = problem.marginal(mixture), [*range(size), size, size + 2]
    assert found.means.tolist() == mixture.means[[0, 2]].tolist()
    assert found.lasting.tolist() == lasting[[0, 2]].tolist()
    for ours, theirs in zip(found.roots, roots):
        assert ours.shape == (size + 2, size + 2)
        expected = (theirs @ theirs.T)[np.ix_(kept, kept)]
        np.testing.assert_allclose(ours @ ours.T, expected, atol=1e-12)
