"""Every integrator of the table keeps its promises, the order of convergence first of all."""

import math

import numpy as np
import pytest
from rollouts import distance, end_of, spherical_chain, tumbling_body

from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.integrators import INTEGRATORS

STEPS = (20, 40, 80, 160)
MOTIONS = {'tumbling body': (tumbling_body, 0.8), 'chain': (lambda: spherical_chain(2), 0.5)}


@pytest.fixture(scope='module', params=MOTIONS)
def motion(request):
    """Return (robot, q, v, duration [s], state at the end all but exactly)."""
    make, duration = MOTIONS[request.param]
    robot, q, v = make()
    return robot, q, v, duration, end_of(INTEGRATORS['rk4'], robot, q, v, duration, 800)


@pytest.mark.parametrize('name', INTEGRATORS)
def test_the_order_of_convergence_is_the_declared_one(name, motion):
    robot, q, v, duration, exact = motion
    method = INTEGRATORS[name]

    errors = [
        distance(robot, end_of(method, robot, q, v, duration, steps), exact) for steps in STEPS
    ]

    slope, _ = np.polyfit(np.log([duration / n for n in STEPS]), np.log(errors), 1)
    assert slope == pytest.approx(method.order, abs=0.2), errors


@pytest.mark.parametrize('name', INTEGRATORS)
def test_a_step_asks_for_the_declared_number_of_accelerations(name):
    robot, q, v = tumbling_body()
    calls = []

    def acceleration(q_at, v_at):
        calls.append(1)
        return forward_dynamics(robot, q_at, v_at, [0.0] * len(v))

    INTEGRATORS[name].step(robot, q, v, 0.01, acceleration)

    assert len(calls) == INTEGRATORS[name].stages


@pytest.mark.parametrize('name', INTEGRATORS)
def test_quaternions_keep_their_length(name):
    robot, q, v = spherical_chain(2)

    q, _ = end_of(INTEGRATORS[name], robot, q, v, 1.0, 100)

    for body in robot.bodies:
        assert math.hypot(*q[body.moving.positions]) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize('name', INTEGRATORS)
def test_the_table_and_its_members_agree_on_names(name):
    assert INTEGRATORS[name].name == name


def test_semi_implicit_euler_turns_exactly_at_constant_body_rates():
    robot, q, v = tumbling_body()
    v = [*v[:3], 0.7, -1.9, 2.2]

    q, _ = INTEGRATORS['semi_implicit_euler'].step(robot, q, v, 0.5, lambda *_: [0.0] * 6)

    speed = math.hypot(*v[3:])
    expected = [math.cos(speed / 4), *(math.sin(speed / 4) * w / speed for w in v[3:])]
    assert q[3:] == pytest.approx(expected, abs=1e-15)
    assert q[:3] == pytest.approx([0.5 * x for x in v[:3]], abs=1e-15)
