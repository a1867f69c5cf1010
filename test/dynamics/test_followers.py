"""Joints that follow others: their own physics acts through the coupling."""

import math

import pytest

from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.energy import kinetic_energy
from sim2real_estimator.dynamics.joint_forces import all_efforts
from sim2real_estimator.dynamics.mass_matrix import mass_matrix
from sim2real_estimator.dynamics.regressor import regressor, regressor_parameters
from sim2real_estimator.dynamics.rnea import inverse_dynamics
from sim2real_estimator.model.actuators import ACTUATORS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.tree import Inertial, Joint, JointPhysics, Link, Mimic, Model

RATIO = -0.5
LEADER = JointPhysics(damping=0.3, friction=0.2, armature=0.1)
FOLLOWER = JointPhysics(damping=0.7, friction=0.4, armature=0.6, stiffness=5.0, rest=0.02)


@pytest.fixture
def gripper():
    """Return a robot of two fingers on slides across gravity, the second led by the first."""
    sphere = (0.001, 0.001, 0.001, 0.0, 0.0, 0.0)
    fingers = [Link(n, Inertial(m, (0.0, 0.0, 0.0), sphere)) for n, m in (('a', 1.5), ('b', 0.8))]
    slide = JOINTS['prismatic']((1.0, 0.0, 0.0))
    joints = (
        Joint('lead', slide, 'hand', 'a', physics=LEADER, actuator=ACTUATORS['effort']),
        Joint('follow', slide, 'hand', 'b', physics=FOLLOWER, mimic=Mimic('lead', RATIO)),
    )
    model = Model('gripper', (Link('hand'), *fingers), joints)
    return realize(Parameters(model), {})


def test_the_acceleration_is_that_of_the_coupled_fingers(gripper):
    q, v, force = 0.03, 0.4, 2.0
    mass = 1.5 + 0.1 + RATIO**2 * (0.8 + 0.6)
    own = force - 0.3 * v - 0.2 * math.tanh(v / 0.01)
    speed, place = RATIO * v, RATIO * q
    led = -0.7 * speed - 0.4 * math.tanh(speed / 0.01) - 5.0 * (place - 0.02)
    (acceleration,) = forward_dynamics(gripper, [q], [v], [force])
    assert acceleration == pytest.approx((own + RATIO * led) / mass, rel=1e-13)
    assert mass_matrix(gripper, [q])[0][0] == pytest.approx(mass, rel=1e-14)
    assert kinetic_energy(gripper, [q], [v]) == pytest.approx(0.5 * mass * v * v, rel=1e-14)


def test_inverse_dynamics_and_regressor_know_the_follower(gripper):
    q, v, force = [0.0], [0.4], [2.0]
    acceleration = forward_dynamics(gripper, q, v, force)
    needed = inverse_dynamics(gripper, q, v, acceleration)
    assert needed == pytest.approx(all_efforts(gripper, q, v, force), rel=1e-13)
    columns = regressor(gripper, q, v, acceleration)
    product = sum(c[0] * p for c, p in zip(columns, regressor_parameters(gripper)))
    # The regressor has no springs; the follower's pulls by -5 (0 - 0.02) through the ratio.
    assert product == pytest.approx(force[0] + RATIO * 5.0 * 0.02, rel=1e-13)
