"""The ready arm keeps within what its description allows while it is moved about."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from sim2real_estimator.app.synthetic.settings import load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.setup.sources import build_model

ROBOTS = Path(__file__).resolve().parents[2] / 'config' / 'synthetic'
ROBOT, PENDULUM = ROBOTS / 'seven_joint_arm.yaml', ROBOTS / 'double_pendulum.yaml'


def test_the_arm_moves_all_its_joints_and_keeps_within_their_limits():
    robot = SyntheticRobot(load_synthetic(ROBOT))
    readings = [each for each in robot.run(4.0) if each.topic == 'joint_states']
    joints = [each.joint for each in build_model(robot.config).moving_joints]
    assert readings[0].content.names == tuple(joint.name for joint in joints)
    positions, velocities, efforts = (
        np.array([getattr(each.content, field) for each in readings])
        for field in ('position', 'velocity', 'effort')
    )
    for k, joint in enumerate(joints):
        limits = joint.limits
        assert limits.lower < positions[:, k].min() < positions[:, k].max() < limits.upper
        assert np.ptp(positions[:, k]) > 0.5
        assert np.abs(velocities[:, k]).max() < limits.velocity
        assert np.abs(efforts[:, k]).max() <= limits.effort


def test_as_long_as_a_robot_rests_no_sine_of_effort_acts():
    robot = SyntheticRobot(replace(load_synthetic(PENDULUM), rest=0.5))
    states = [r.content for r in robot.run(1.0) if r.topic == 'joint_states']
    efforts = np.array([state.effort for state in states])
    count = len(efforts) // 2
    assert (efforts[: count - 1] == 0).all() and (np.abs(efforts[count + 1 :]) > 0).any()


def test_the_arm_is_held_where_it_begins_as_long_as_it_rests():
    robot = SyntheticRobot(replace(load_synthetic(ROBOT), rest=2.0))
    readings = [each for each in robot.run(3.0) if each.topic == 'joint_states']
    positions = np.array([each.content.position for each in readings])
    settled, moving = positions[1500:2000], positions[2000:]
    assert np.ptp(settled, axis=0).max() < 0.02
    assert np.ptp(moving, axis=0).min() > 0.05
