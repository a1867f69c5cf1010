"""What wanders off together: dissipation, efforts with all that they move, everything else."""

import numpy as np
from problems import seven_joints
import pytest
from robots import pendulum, PENDULUM_PRIORS, priors

from sim2real_estimator.dynamics.system import System
from sim2real_estimator.parameters.drifting import drifting
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.sensors import JointPositions

STRONGER, EFFORTS = 0.01, [3.0, -1.5]


def chart_of(deviations, **more):
    parameters = pendulum()
    sensors = (JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3),)
    chosen = priors(parameters, deviations)
    return parameters.model, choose_parametrization(parameters, sensors, chosen | more)


def test_what_is_estimated_by_itself_is_of_one_kind():
    deviations = {'lower.mass': 0.3, 'elbow.damping': 0.7, 'shoulder.gain': 0.1}
    model, parametrization = chart_of(deviations, **{'commands.delay': Prior(0.0, 0.004, False)})
    found = drifting(parametrization, model)
    lone = np.diag([1.0, 1.0, 1.0, 0.004])
    np.testing.assert_allclose(found['dissipation'], lone[:, [1]])
    np.testing.assert_allclose(found['efforts'], lone[:, [2]])
    np.testing.assert_allclose(found['others'], lone[:, [0, 3]])


def test_stronger_efforts_move_a_robot_like_a_lighter_one():
    model, parametrization = chart_of(PENDULUM_PRIORS)
    moves = drifting(parametrization, model)['efforts']
    assert moves.shape == (len(parametrization.labels), 1)
    lighter, as_it_is = (parametrization.to_named(x * moves)[:, 0] for x in (-STRONGER, 0.0))
    system = System(pendulum(), parametrization.names)

    def accelerations(values, efforts):
        robot = system.robot(dict(zip(parametrization.names, values.tolist())))
        return [float(a) for a in system.acceleration(robot, [0.4, 1.1], [0.7, -0.5], efforts)[0]]

    stronger = [effort / (1 - STRONGER) for effort in EFFORTS]
    expected = accelerations(as_it_is, stronger)
    # What changes by parts of parts is not told.
    assert accelerations(lighter, EFFORTS) == pytest.approx(expected, rel=3 * STRONGER**2)
    assert accelerations(as_it_is, EFFORTS) != pytest.approx(expected, rel=3 * STRONGER**2)


def test_of_bodies_about_their_links_first_moments_take_part():
    problem = Pipeline.from_config(seven_joints.config()).problem
    parametrization = problem.parametrization
    moves = problem.drifting['efforts'][:, 0]
    # All that torques are linear in is about itself, whatever it is about.
    np.testing.assert_allclose(
        moves, parametrization.combinations @ parametrization.inner.prior.mean, rtol=1e-6
    )
    columns = seven_joints.torque_columns(problem)
    torques = columns @ parametrization.inner.prior.mean
    more = columns @ (parametrization.basis @ moves)
    np.testing.assert_allclose(more, torques, atol=1e-6 * np.abs(torques).max())


def test_where_nothing_is_commanded_no_effort_wanders():
    model, parametrization = chart_of({'lower.mass': 0.3})
    assert drifting(parametrization, model)['efforts'].shape == (1, 1)

    class Passive:
        commands = ()

    assert drifting(parametrization, Passive)['efforts'].shape == (1, 0)
