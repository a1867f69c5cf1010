"""Joints that share a motor: its inertia and its friction act on both."""

import math

import numpy as np
import pytest
import torch

from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.energy import kinetic_energy
from sim2real_estimator.dynamics.joint_forces import all_efforts
from sim2real_estimator.dynamics.mass_matrix import mass_matrix
from sim2real_estimator.dynamics.rnea import inverse_dynamics
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.urdf.load import load_urdf

WIDTH = 0.3
MOTOR = {
    'elbow.coupled_armature': 0.4,
    'elbow.coupled_damping': 0.7,
    'elbow.coupled_friction': 0.5,
    'elbow.friction_velocity': WIDTH,
}
Q, V, A, COMMANDS = [0.3, -0.5], [0.6, -0.2], [1.5, -4.0], [2.0, -1.0]


@pytest.fixture
def parameters(double_pendulum_urdf):
    return Parameters(load_urdf(double_pendulum_urdf).with_couplings({'elbow': 'shoulder'}))


def test_the_motor_turns_at_the_sum_of_both_velocities(parameters):
    plain = realize(parameters, {'elbow.friction_velocity': WIDTH})
    robot = realize(parameters, MOTOR)
    speed, lost = 0.4, 0.7 * 0.4 + 0.5 * math.tanh(0.4 / WIDTH)

    needed = np.subtract(inverse_dynamics(robot, Q, V, A), inverse_dynamics(plain, Q, V, A))
    assert needed == pytest.approx([0.4 * (1.5 - 4.0)] * 2, rel=1e-12)
    efforts = np.subtract(all_efforts(robot, Q, V, COMMANDS), all_efforts(plain, Q, V, COMMANDS))
    assert efforts == pytest.approx([-lost] * 2, rel=1e-12)
    matrix = np.subtract(mass_matrix(robot, Q), mass_matrix(plain, Q))
    assert matrix == pytest.approx(np.full((2, 2), 0.4), rel=1e-12)
    energy = kinetic_energy(robot, Q, V) - kinetic_energy(plain, Q, V)
    assert energy == pytest.approx(0.5 * 0.4 * speed**2, rel=1e-12)


def test_friction_alone_needs_no_dense_matrix_and_the_same_accelerations(parameters):
    lossy = {**MOTOR, 'elbow.coupled_armature': 0.0}
    heavy = {**MOTOR, 'elbow.coupled_armature': torch.zeros(1, dtype=torch.float64)}
    by_tree = forward_dynamics(realize(parameters, lossy), Q, V, COMMANDS)
    by_matrix = forward_dynamics(realize(parameters, heavy), Q, V, COMMANDS)
    assert all(isinstance(a, float) for a in by_tree)
    assert [float(a) for a in by_matrix] == pytest.approx(by_tree, rel=1e-12)


def test_a_joint_whose_motion_is_prescribed_turns_the_motor_too(parameters):
    driven = Parameters(parameters.model.with_actuators({'elbow': 'driven'}))
    robot = realize(driven, MOTOR)

    accelerations = forward_dynamics(robot, Q, V, COMMANDS)

    assert accelerations[1] == COMMANDS[1]
    needed = inverse_dynamics(robot, Q, V, accelerations)
    assert needed[0] == pytest.approx(all_efforts(robot, Q, V, COMMANDS)[0], rel=1e-12)
