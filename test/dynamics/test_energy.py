"""Energy and momentum change by what acts from outside, and closed forms are met."""

import math

import numpy as np
import pytest
from rollouts import end_of, moved, roll, spherical_chain, tumbling_body
from trees import build_model, draw_kinds, draw_state, draw_tree, let_follow

from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.energy import kinetic_energy, momentum, potential_energy
from sim2real_estimator.dynamics.integrators import INTEGRATORS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.urdf.load import load_urdf

RK4 = INTEGRATORS['rk4']
H = 1e-5


def energy(robot, q, v):
    return kinetic_energy(robot, q, v) + potential_energy(robot, q)


def rate_of(function, robot, q, v, acceleration):
    """Return the time derivative of function(robot, q, v) by central differences."""

    def at(duration):
        speeds = [x + a * duration for x, a in zip(v, acceleration)]
        return np.array(function(robot, moved(robot, q, v, duration), speeds))

    return (at(H) - at(-H)) / (2 * H)


@pytest.mark.parametrize('has_followers', [False, True])
@pytest.mark.parametrize('seed', range(6))
def test_energy_grows_by_the_power_of_the_drives(seed, has_followers):
    rng = np.random.default_rng(seed)
    spec = draw_tree(rng, 'tree', draw_kinds(rng, JOINTS, 5), physics=('stiffness', 'rest'))
    model = build_model(let_follow(rng, spec) if has_followers else spec)
    robot, state = realize(Parameters(model), {}), draw_state(rng, model)
    q, v, effort = state['q'], state['v'], state['effort']

    growth = rate_of(energy, robot, q, v, forward_dynamics(robot, q, v, effort))

    assert growth == pytest.approx(np.dot(effort, v), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize('seed', range(6))
def test_momentum_of_a_floating_robot_changes_by_its_weight_only(seed):
    rng = np.random.default_rng(seed)
    spec = draw_tree(rng, 'tree', draw_kinds(rng, JOINTS, 4), is_floating=True)
    spec['joints'][0].pop('armature', None)  # a rotor in the base would push against the world
    model = build_model(spec)
    robot, state = realize(Parameters(model), {}), draw_state(rng, model)
    q, v, effort = state['q'], state['v'], [0.0] * 6 + state['effort'][6:]

    linear, angular = rate_of(
        lambda *at: [tuple(p) for p in momentum(*at)],
        robot, q, v, forward_dynamics(robot, q, v, effort),
    )  # fmt: skip

    mass = sum(link['mass'] for link in spec['links'])
    weight = np.array([0.0, 0.0, -mass * robot.gravity])
    assert linear == pytest.approx(weight, rel=1e-6, abs=1e-6)
    assert angular == pytest.approx(np.cross(centre(robot, q), weight), rel=1e-6, abs=1e-6)


def centre(robot, q):
    """Return the centre of mass, from the angular momentum when all slides along x or y."""
    mass = momentum(robot, q, [1.0, *[0.0] * (velocities(robot) - 1)])[0].x
    along = [
        momentum(robot, q, [float(k == i) for k in range(velocities(robot))])[1] for i in (0, 1)
    ]
    # p x m e_x = m (0, z, -y) and p x m e_y = m (-z, 0, x).
    return np.array([along[1].z, -along[0].z, along[0].y]) / mass


def velocities(robot):
    return max(body.moving.velocities.stop for body in robot.bodies)


@pytest.mark.parametrize('make', [tumbling_body, lambda: spherical_chain(2)])
def test_undamped_motion_keeps_its_energy(make):
    robot, q, v = make()
    start = energy(robot, q, v)

    drift = [abs(energy(robot, *state) - start) for state in roll(RK4, robot, q, v, 0.5, 500)]

    assert max(drift) < 1e-8 * kinetic_energy(robot, q, v)


def test_a_thrown_body_keeps_its_spin_and_falls():
    robot, q, v = tumbling_body()
    linear, angular = momentum(robot, q, v)

    q, v = end_of(RK4, robot, q, v, 0.5, 500)

    fallen, turned = momentum(robot, q, v)
    weight = robot.bodies[0].inertia.mass * robot.gravity
    assert tuple(fallen) == pytest.approx((linear.x, linear.y, linear.z - weight * 0.5), rel=1e-12)
    # The spin is the angular momentum about the body itself, which weight cannot change.
    position = np.array(q[:3])
    spin = np.array(tuple(turned)) - np.cross(position, tuple(fallen))
    assert spin == pytest.approx(np.array(tuple(angular)), rel=1e-9, abs=1e-9)


def test_a_symmetric_body_precesses_as_euler_found():
    body = {'name': 'top', 'mass': 1.0, 'com': [0.0] * 3, 'inertia': [0.2, 0.2, 0.3, 0, 0, 0]}
    joint = {'name': 'ball', 'type': 'spherical', 'parent': 'base', 'child': 'top'}
    joint.update(axis=[0.0, 0.0, 1.0], rpy=[0.4, 0.2, 0.1], origin=[0.0] * 3)
    model = build_model({'name': 'top', 'links': [body], 'joints': [joint]})
    robot = realize(Parameters(model), {})

    _, v = end_of(RK4, robot, [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 4.0], 2.0, 1000)

    phase = (0.3 - 0.2) / 0.2 * 4.0 * 2.0
    assert v == pytest.approx([math.cos(phase), math.sin(phase), 4.0], abs=1e-9)


def test_a_pendulum_accelerates_as_the_formula_says(pendulum_urdf):
    parameters = Parameters(load_urdf(pendulum_urdf))
    robot = realize(parameters, {})
    angle, speed, effort = 0.7, -1.2, 0.4

    (acceleration,) = forward_dynamics(robot, [angle], [speed], [effort])

    friction = 0.05 * math.tanh(speed / 0.01)
    torque = effort - 0.1 * speed - friction - 9.81 * 0.5 * math.sin(angle)
    assert acceleration == pytest.approx(torque / (0.084 + 0.25), rel=1e-14)


def test_a_pendulum_swings_with_the_period_of_the_elliptic_integral(pendulum_urdf):
    parameters = Parameters(load_urdf(pendulum_urdf))
    robot = realize(parameters, {'pivot.damping': 0.0, 'pivot.friction': 0.0})
    amplitude = 2.0
    a, b = 1.0, math.cos(amplitude / 2)
    while a - b > 1e-15:
        a, b = (a + b) / 2, math.sqrt(a * b)
    period = 2 * math.pi * math.sqrt((0.084 + 0.25) / (9.81 * 0.5)) / a

    q, v = end_of(RK4, robot, [amplitude], [0.0], period, 1000)

    assert [*q, *v] == pytest.approx([amplitude, 0.0], abs=1e-8)
