"""The node of an arm whose torques are measured and whose bodies are seen: all it says of both."""

from dataclasses import replace
import time

import pytest
import seen_arms

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from live import node_process
from sensor_msgs.msg import JointState

from sim2real_estimator.config import to_yaml

SECONDS = 4.0
POSES = 'vicon/elbow/elbow', 'vicon/hand/hand'


def messages(samples):
    """Yield (topic, message) of samples; encoders and efforts come in one message."""
    efforts = {s.stamp_ns: s.values for s in samples if s.sensor == seen_arms.EFFORTS}
    for sample in samples:
        message = JointState() if sample.sensor == seen_arms.ENCODERS else PoseStamped()
        seconds, rest = divmod(sample.stamp_ns, 10**9)
        message.header.stamp.sec, message.header.stamp.nanosec = seconds, rest
        if sample.sensor == seen_arms.ENCODERS:
            message.name, message.position = list(seen_arms.JOINTS), sample.values.tolist()
            message.effort = efforts[sample.stamp_ns].tolist()
            yield 'joint_states', message
        elif sample.sensor in seen_arms.BODIES:
            place, turn = message.pose.position, message.pose.orientation
            place.x, place.y, place.z, turn.w, turn.x, turn.y, turn.z = sample.values.tolist()
            name = sample.sensor.removesuffix('_body')
            yield f'vicon/{name}/{name}', message


def test_what_poses_tell_is_in_the_estimate(client, tmp_path):
    known, file = seen_arms.config(), tmp_path / 'arm.yaml'
    urdf = seen_arms.seven_joints.ROBOT.parents[1] / 'seven_joint_arm.urdf'
    file.write_text(to_yaml(replace(known, model=replace(known.model, urdf=str(urdf)))))
    recording = seen_arms.record(SECONDS, 1)
    with node_process(file, tmp_path / 'output'):
        client.forget()
        client.wait(lambda: client.status('worker'), 'the first diagnostics')
        client.wait(lambda: client.status('worker')[1] == 'running', 'the worker')
        kinds = {'joint_states': JointState, **dict.fromkeys(POSES, PoseStamped)}
        publishers = {topic: client.publisher(kind, topic) for topic, kind in kinds.items()}
        for topic, message in messages(recording.samples()):
            publishers[topic].publish(message)
            if topic == 'joint_states':
                # As fast as it moved: what comes much later than the rest counts as late.
                time.sleep(1 / seen_arms.RATE)
        client.wait(lambda: is_known(client), 'the delay of a clock')


def is_known(client):
    """Tell whether the latest estimate has a delay that is known."""
    return bool(client.estimates) and sd_of(client.estimates[-1], 'hand_body.delay') < 1e-3


def sd_of(message, name):
    """Return the standard deviation of a parameter in an estimate."""
    return message.velocity[list(message.name).index(name)]
