"""`init --listen` over real DDS: a robot that moves gives a config, its description included."""

import pytest

pytest.importorskip('rclpy')

from live import command_process
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from test_init_heard import moved, RATE
from waiting import PATIENCE

from sim2real_estimator.config import load_config
from sim2real_estimator.ros.recording.recorder import NAME


def test_a_robot_that_publishes_best_effort_gives_a_config(client, tmp_path, double_pendulum_urdf):
    angles, torques = moved(double_pendulum_urdf)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    hurried = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
    description = client.node.create_publisher(String, 'robot_description', latched)
    description.publish(String(data=double_pendulum_urdf))
    states = client.node.create_publisher(JointState, 'joint_states', hurried)
    path, output = tmp_path / 'robot.yaml', tmp_path / 'output'
    with command_process(output, 'init', '-o', path, '--listen', '10') as process:

        def is_heard():
            found = client.node.get_subscriptions_info_by_topic('/joint_states')
            return any(info.node_name == NAME for info in found)

        client.wait(is_heard, 'the recorder')
        for k, (q, tau) in enumerate(zip(angles, torques)):
            message = JointState(name=['shoulder', 'elbow'], position=q, effort=tau)
            message.header.stamp.sec, rest = divmod(k, RATE)
            message.header.stamp.nanosec = rest * 10**9 // RATE
            states.publish(message)
            client.wait(lambda: True, 'nothing')
        process.wait(PATIENCE)
    for each in (description, states):
        client.node.destroy_publisher(each)
    assert process.returncode == 0, output.read_text()
    config = load_config(path)
    assert config.model.urdf == 'robot.urdf'
    assert config.joints['elbow'].effort == 'measured'
    assert 'published best effort' in path.read_text()
    assert 'the topics of the robot' in path.read_text()


def test_silence_is_said(client, tmp_path, double_pendulum_urdf):
    (tmp_path / 'robot.urdf').write_text(double_pendulum_urdf)
    output, path = tmp_path / 'output', tmp_path / 'robot.yaml'
    arguments = 'init', tmp_path / 'robot.urdf', '-o', path, '--listen', '1'
    with command_process(output, *arguments) as process:
        assert process.wait(PATIENCE) == 2
    assert 'nothing was heard of the robot' in output.read_text()
    assert not path.exists()
