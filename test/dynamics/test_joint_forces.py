"""Damping, friction and springs against the documented formulas, written out in numpy."""

import numpy as np
import pytest
import torch
from trees import build_model, draw_axis

from sim2real_estimator.dynamics.joint_forces import all_efforts
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import FRICTION_VELOCITY, Parameters
from sim2real_estimator.model.robot import realize

MOVING = sorted(set(JOINTS) - {'fixed'})
# Where the translations and the rotations of a joint of several degrees of freedom lie in v.
GROUPS = {'spherical': [[0, 1, 2]], 'planar': [[0, 1], [2]], 'free': [[0, 1, 2], [3, 4, 5]]}


def one_joint(rng, kind, **physics):
    """Return (model, robot) of one body on one joint."""
    link = {'name': 'body', 'mass': 2.0, 'com': [0.1, 0.0, 0.2], 'inertia': [1, 1, 1, 0, 0, 0]}
    joint = {'name': 'joint', 'type': kind, 'parent': 'base', 'child': 'body', **physics}
    joint.update(axis=draw_axis(rng), rpy=[0.3, -0.2, 0.9], origin=[0.1, 0.2, 0.3])
    model = build_model({'name': 'one', 'links': [link], 'joints': [joint]})
    return model, realize(Parameters(model), {})


def drawn_position(rng, model):
    """Return random coordinates of the only joint."""
    kind = model.moving_joints[0].joint.kind
    return kind.advance(kind.neutral(), list(rng.normal(size=kind.velocity_size)), 1.0)


def expected_friction(kind, v, friction):
    """Return friction * tanh(|v| / v_f) along v, group by group."""
    result = np.zeros(len(v))
    for group in GROUPS.get(kind, [[0]]):
        speed = np.linalg.norm(v[group])
        result[group] = friction * np.tanh(speed / FRICTION_VELOCITY) * v[group] / speed
    return result


@pytest.mark.parametrize('speed', [3e-3, 0.02, 1.5])
@pytest.mark.parametrize('kind', MOVING)
def test_damping_and_friction_resist(kind, speed):
    rng = np.random.default_rng(1)
    model, robot = one_joint(rng, kind, damping=0.7, friction=1.3)
    q, command = drawn_position(rng, model), rng.normal(size=model.velocity_size)
    v = speed * rng.normal(size=model.velocity_size)

    efforts = all_efforts(robot, q, list(v), list(command))

    expected = command - 0.7 * v - expected_friction(kind, v, 1.3)
    assert np.allclose(efforts, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('kind', MOVING)
def test_friction_vanishes_at_rest_with_a_finite_slope(kind):
    rng = np.random.default_rng(2)
    model, robot = one_joint(rng, kind, friction=1.3)
    v = [torch.zeros(1, dtype=torch.float64, requires_grad=True)
         for _ in range(model.velocity_size)]  # fmt: skip

    efforts = all_efforts(robot, drawn_position(rng, model), v, [0.0] * len(v))

    assert all(effort.item() == 0 for effort in efforts)
    for effort, speed in zip(efforts, v):
        (slope,) = torch.autograd.grad(effort.sum(), speed, retain_graph=True)
        assert float(slope) == pytest.approx(-1.3 / FRICTION_VELOCITY, rel=1e-9)


@pytest.mark.parametrize('kind', ['revolute', 'continuous', 'prismatic'])
def test_a_spring_pulls_the_physical_position_towards_its_rest(kind):
    rng = np.random.default_rng(3)
    model, robot = one_joint(rng, kind, stiffness=5.0, rest=0.2, offset=0.05)

    efforts = all_efforts(robot, [0.7], [0.0], [0.0])

    assert efforts == pytest.approx([-5.0 * (0.7 + 0.05 - 0.2)])


def test_a_spring_in_a_ball_joint_pulls_by_the_sine_of_the_angle():
    rng = np.random.default_rng(4)
    _, robot = one_joint(rng, 'spherical', stiffness=5.0)
    axis, angle = np.array([0.6, 0.0, -0.8]), 0.9
    q = [np.cos(angle / 2), *np.sin(angle / 2) * axis]

    efforts = all_efforts(robot, [float(x) for x in q], [0.0] * 3, [0.0] * 3)

    assert np.allclose(efforts, -5.0 * np.sin(angle) * axis, rtol=1e-12, atol=1e-14)


def test_a_spring_in_a_planar_joint_pulls_to_zero():
    rng = np.random.default_rng(5)
    _, robot = one_joint(rng, 'planar', stiffness=5.0)

    efforts = all_efforts(robot, [0.1, -0.2, 0.3], [0.0] * 3, [0.0] * 3)

    assert efforts == pytest.approx([-0.5, 1.0, -1.5])
