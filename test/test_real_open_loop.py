"""How held-out motion of real arms is simulated, on an arm of two joints."""

from pathlib import Path
import sys

import numpy as np
import pytest

pin = pytest.importorskip('pinocchio')
sys.path.append(str(Path(__file__).resolve().parents[1] / 'benchmark'))

from real.open_loop import Plant  # noqa: E402

STEP, FREE = 1e-3, np.full(2, np.nan)
USUAL = dict.fromkeys(
    (
        *('armature', 'damping', 'friction', 'torque_offset', 'load_friction', 'stribeck'),
        *('coupled_armature', 'coupled_damping', 'coupled_friction'),
    ),
    np.zeros(2),
) | {'gain': np.ones(2), 'friction_velocity': np.full(2, 0.02)}


def plant(couple=(), **values):
    """Return a `Plant` of two links of 1 kg and .4 m, with some values for both joints."""
    model = pin.Model()
    for parent, place in enumerate((0.0, 0.4)):
        placement = pin.SE3(np.eye(3), np.array([0.0, 0.0, -place]))
        joint = model.addJoint(parent, pin.JointModelRY(), placement, f'joint_{parent}')
        body = pin.Inertia(1.0, np.array([0.0, 0.0, -0.2]), np.diag([0.01, 0.01, 0.001]))
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
    return Plant(model, USUAL | {word: np.full(2, v) for word, v in values.items()}, couple)


def run(robot, seconds, q, v, torques=(0.0, 0.0), step=STEP, given=FREE):
    """Return the positions and speeds after some time."""
    for _ in range(round(seconds / step)):
        faster = robot.accelerated(q + step / 2 * v, v, np.array(torques), step, given)
        q, v = q + step / 2 * (v + faster), faster
    return q, v


def test_it_accelerates_as_forward_dynamics_says():
    robot, q, v = plant(), np.array([0.3, -0.8]), np.array([1.0, -0.5])
    wanted = pin.aba(robot.model, robot.data, q, v, np.array([0.4, -0.1]))
    faster = robot.accelerated(q, v, np.array([0.4, -0.1]), STEP, FREE)
    assert (faster - v) / STEP == pytest.approx(wanted, rel=1e-9)


def test_energy_is_kept_where_nothing_resists():
    robot, q, v = plant(), np.array([0.9, 0.2]), np.zeros(2)
    before = pin.computeMechanicalEnergy(robot.model, robot.data, q, v)
    after = pin.computeMechanicalEnergy(robot.model, robot.data, *run(robot, 1.0, q, v))
    assert after == pytest.approx(before, abs=2e-2)


def test_friction_stops_a_joint_and_does_not_turn_it_around():
    robot = plant(friction=5.0)
    for step in (1e-4, 1e-3, 1e-2):
        v = np.array([2.0, -3.0])
        q = np.zeros(2)
        for _ in range(round(0.5 / step)):
            faster = robot.accelerated(q, v, np.zeros(2), step, FREE)
            q, v = q + step * faster, faster
        assert np.abs(v).max() < 0.02


def test_a_torque_is_measured_with_its_gain_and_offset():
    q, v = np.zeros(2), np.zeros(2)
    plain = plant().accelerated(q, v, np.array([1.0, 0.5]), STEP, FREE)
    other = plant(gain=0.5, torque_offset=0.25)
    measured = (np.array([1.0, 0.5]) + 0.25) / 0.5
    assert other.accelerated(q, v, measured, STEP, FREE) == pytest.approx(plain)


def test_a_joint_of_unknown_torque_moves_as_it_is_told():
    robot, q, v = plant(armature=0.1), np.array([0.3, 0.1]), np.zeros(2)
    given = np.array([2.0, np.nan])
    faster = robot.accelerated(q, v, np.array([0.0, 0.3]), STEP, given) / STEP
    assert faster[0] == pytest.approx(2.0)
    torque = pin.rnea(robot.model, robot.data, q, v, faster) + 0.1 * faster
    assert torque[1] == pytest.approx(0.3)


def test_what_two_joints_share_acts_on_both():
    robot, q, v = plant((0, 1), coupled_armature=0.2), np.array([0.3, 0.1]), np.zeros(2)
    faster = robot.accelerated(q, v, np.array([0.4, -0.2]), STEP, FREE) / STEP
    torque = pin.rnea(robot.model, robot.data, q, v, faster) + 0.2 * faster.sum()
    assert torque == pytest.approx([0.4, -0.2])
