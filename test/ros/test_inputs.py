"""Messages of every kind that the node listens to, good and bad, over real DDS."""

from collections import Counter
from dataclasses import replace
import math
import time

import pytest
from simulated import CONFIG, config, JOINTS

from sim2real_estimator.config import to_yaml, with_values

pytest.importorskip('rclpy')

from geometry_msgs.msg import (
    PointStamped,
    PoseStamped,
    Transform,
    TransformStamped,
    Twist,
    WrenchStamped,
)
from live import node_process
from rclpy.qos import QoSProfile, ReliabilityPolicy
from recordings import SECOND
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray

BEST_EFFORT, RELIABLE = (
    QoSProfile(depth=100, reliability=each)
    for each in (ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE)
)
# What hangs on the arm by a ball joint.
TOOL = """
  <link name="tool">
    <inertial>
      <origin xyz="0 0 -0.1"/>
      <mass value="0.2"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="wrist" type="continuous">
    <parent link="lower"/>
    <child link="tool"/>
    <origin xyz="0 0 -0.5"/>
  </joint>
</robot>
"""
SETTINGS = {
    'model.urdf': CONFIG.with_suffix('.urdf').read_text().replace('</robot>', TOOL),
    'model.joint_types.wrist': 'spherical',
    'joints.wrist.effort': 'none',
    'joints.shoulder.effort': 'commanded',
    'joints.elbow.effort': 'commanded',
    'efforts.commanded': 'effort_controller/commands',
    'efforts.commanded_type': 'std_msgs/msg/Float64MultiArray',
    'efforts.commanded_joints': ['elbow', 'shoulder'],
    'wrenches.push.topic': 'hand_force',
    'wrenches.push.link': 'lower',
    'cameras.side.scale': 800.0,
}
SENSORS = {
    'upper': {
        'kind': 'link_pose',
        'link': 'upper',
        'position_sd': 0.01,
        'orientation_sd': 0.01,
    },
    'hand': {
        'kind': 'link_pose',
        'message_type': 'geometry_msgs/msg/TransformStamped',
        'link': 'lower',
        'position_sd': 0.01,
    },
    'balls': {
        'kind': 'joint_poses',
        'joints': ['wrist'],
        'orientation_sd': 0.01,
        'angular_velocity_sd': 0.1,
    },
    'tip': {'kind': 'marker', 'link': 'lower', 'point': [0.0, 0.0, -0.3], 'sd': 0.01},
    'pixels': {
        'kind': 'planar_camera',
        'link': 'lower',
        'point': [0.0, 0.0, -0.3],
        'camera': 'side',
        'sd': 0.5,
    },
}


def joints(position=(0.1, 0.2), effort=(0.0, 0.0), names=JOINTS):
    return JointState(name=list(names), position=list(position), effort=list(effort))


def pose(shift=0.1, norm=1.0):
    message = PoseStamped()
    message.pose.position.x, message.pose.orientation.w = shift, norm
    return message


def transform(shift=0.1, norm=1.0):
    message = TransformStamped()
    message.transform.translation.x, message.transform.rotation.w = shift, norm
    return message


def ball(angle=0.0, norm=1.0, name='wrist', has_twist=True):
    turn = Transform()
    turn.rotation.y, turn.rotation.w = norm * math.sin(angle), norm * math.cos(angle)
    twist = [Twist()] if has_twist else []
    return MultiDOFJointState(joint_names=[name], transforms=[turn], twist=twist)


def point(shift=0.1):
    message = PointStamped()
    message.point.x = shift
    return message


def wrench(force=0.1, frame='lower'):
    message = WrenchStamped()
    message.wrench.force.x, message.header.frame_id = force, frame
    return message


def efforts(*data):
    return Float64MultiArray(data=list(data))


NAN = math.nan
# Source -> topic, class, a good message as function of a number, [(bad message, its status)].
KINDS = {
    'encoders': (
        'joint_states',
        JointState,
        lambda x: joints((x, x)),
        [
            (joints((NAN, NAN)), 'non-finite'),
            (joints((math.inf, 0.0)), 'non-finite'),
            (joints((0.1, NAN)), 'missing joint'),
            (joints((0.1,)), 'missing joint'),
            (joints((0.1, 0.2, 0.3), names=[*JOINTS, 'finger']), 'unknown joint'),
            (joints((), (), names=['finger']), 'unknown joint'),
            (joints(names=[]), 'malformed'),
            (joints(names=['shoulder', 'shoulder']), 'malformed'),
            (joints((0.1, 0.2, 0.3)), 'malformed'),
        ],
    ),
    'commanded_efforts': (
        'effort_controller/commands',
        Float64MultiArray,
        lambda x: efforts(x, x),
        [
            (efforts(), 'malformed'),
            (efforts(1.0), 'malformed'),
            (efforts(1.0, 2.0, 3.0), 'malformed'),
            (efforts(NAN, 1.0), 'missing effort'),
        ],
    ),
    'upper': (
        'vicon/upper/upper',
        PoseStamped,
        pose,
        [(pose(norm=0.0), 'occluded'), (pose(norm=1.1), 'occluded'), (pose(NAN), 'non-finite')],
    ),
    'hand': (
        'vicon/hand/hand',
        TransformStamped,
        transform,
        [(transform(norm=0.0), 'occluded'), (transform(math.inf), 'non-finite')],
    ),
    'balls': (
        'multi_dof_joint_states',
        MultiDOFJointState,
        ball,
        [
            (ball(norm=0.0), 'occluded'),
            (ball(norm=1.1), 'occluded'),
            (ball(NAN), 'non-finite'),
            (MultiDOFJointState(joint_names=['wrist']), 'non-finite'),
            (ball(has_twist=False), 'missing joint'),
            (ball(name='finger'), 'unknown joint'),
        ],
    ),
    'tip': ('vicon/tip', PointStamped, point, [(point(NAN), 'non-finite')]),
    'pixels': ('camera/tip', PointStamped, point, [(point(NAN), 'non-finite')]),
    'push': (
        'hand_force',
        WrenchStamped,
        wrench,
        [(wrench(frame='upper'), 'malformed'), (wrench(NAN), 'missing effort')],
    ),
}


@pytest.fixture(scope='module')
def node(client, tmp_path_factory):
    """Run a node that listens to everything; yield the file of its output."""
    folder, settings = tmp_path_factory.mktemp('node'), dict(SETTINGS)
    for name, sensor in SENSORS.items():
        settings[f'sensors.{name}.topic'] = KINDS[name][0]
        settings |= {f'sensors.{name}.{key}': value for key, value in sensor.items()}
    file, output = folder / 'config.yaml', folder / 'output'
    file.write_text(to_yaml(replace(with_values(config(), settings), source='')))
    # As somebody would who has just turned the body on its link.
    mount = ('-p', 'sensors.upper.mount.rpy_degrees:=[0.0, 0.0, 90.0]')
    with node_process(file, output, *mount) as process:
        client.forget()
        client.wait(
            lambda: client.status('worker') and client.status('worker')[1] == 'running',
            'a running node',
        )
        yield output
        assert process.poll() is None
    assert 'Traceback' not in output.read_text()


def counted(client, source, status):
    return int(client.health[f'samples of {source}'].get(status, 0))


def stamped(message):
    """Return a message of now, where it has a stamp."""
    if hasattr(message, 'header'):
        seconds, rest = divmod(time.time_ns(), SECOND)
        message.header.stamp.sec, message.header.stamp.nanosec = seconds, rest
    return message


@pytest.mark.parametrize('source', KINDS)
def test_what_is_malformed_is_counted_and_nothing_else_happens(node, client, source):
    topic, kind, _, bad = KINDS[source]
    publisher = client.publisher(kind, topic)
    before = {status: counted(client, source, status) for _, status in bad}
    expected = Counter(status for _, status in bad)

    def are_counted():
        # To a reader that is best effort the first may not get through.
        for message, _ in bad:
            publisher.publish(stamped(message))
        return all(
            counted(client, source, status) >= before[status] + number
            for status, number in expected.items()
        )

    client.wait(are_counted, f'{set(expected)} of {source}')
    client.node.destroy_publisher(publisher)


@pytest.mark.parametrize('qos', [RELIABLE, BEST_EFFORT], ids=['reliable', 'best effort'])
def test_drivers_of_either_quality_are_heard(node, client, qos):
    """Only what must not be lost needs a reliable publisher."""
    topics = {topic: (kind, good) for topic, kind, good, _ in KINDS.values()}
    publishers = {
        topic: client.publisher(kind, topic, qos if topic.startswith('vicon') else None)
        for topic, (kind, _) in topics.items()
    }
    before = {source: counted(client, source, 'used') for source in KINDS}
    number = 0

    def are_used():
        nonlocal number
        number += 1
        for topic, (_, good) in topics.items():
            publishers[topic].publish(stamped(good(1e-3 * (number % 1000))))
        return all(counted(client, source, 'used') > before[source] for source in KINDS)

    client.wait(are_used, 'samples of every kind')
    for topic, publisher in publishers.items():
        assert client.health[f'input /{topic}']['incompatible QoS'] == '0'
        client.node.destroy_publisher(publisher)


def test_joints_with_a_quaternion_are_looked_for_by_name(node, client):
    publisher = client.publisher(MultiDOFJointState, 'multi_dof_joint_states')
    for message in (ball(name='finger'), ball()):
        publisher.publish(stamped(message))
    client.forget()
    client.wait(lambda: client.status('input /multi_dof_joint_states'), 'the status')
    assert 'no message has the joints' not in client.status('input /multi_dof_joint_states')[1]
    client.node.destroy_publisher(publisher)


def test_what_has_no_stamp_is_of_when_it_came(node, client):
    assert 'hours' not in client.status('input /effort_controller/commands')[1]
