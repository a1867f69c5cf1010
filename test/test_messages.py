"""Message classes of either kind say the same."""

import sys

import numpy as np
import pytest

from sim2real_estimator.errors import DataError
from sim2real_estimator.messages import (
    message_class,
    ros_class,
    typestore,
    typestore_class,
)
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.sensors import SENSORS

JOINT_STATE, POSE = 'sensor_msgs/msg/JointState', 'geometry_msgs/msg/PoseStamped'
STAMP_NS = 1_700_000_000_123_456_789


def header(kind):
    """Return a header made of the classes that `kind` returns."""
    seconds, nanoseconds = divmod(STAMP_NS, 10**9)
    stamp = kind('builtin_interfaces/msg/Time')(sec=seconds, nanosec=nanoseconds)
    return kind('std_msgs/msg/Header')(stamp=stamp, frame_id='map')


def joint_state(kind):
    return kind(JOINT_STATE)(
        header=header(kind),
        name=['pivot'],
        position=np.array([0.25]),
        velocity=np.array([-1.5]),
        effort=np.array([0.125]),
    )


def pose(kind):
    point = kind('geometry_msgs/msg/Point')(x=1.0, y=-2.0, z=0.5)
    turn = kind('geometry_msgs/msg/Quaternion')(x=0.6, y=0.0, z=0.0, w=0.8)
    return kind(POSE)(
        header=header(kind), pose=kind('geometry_msgs/msg/Pose')(position=point, orientation=turn)
    )


@pytest.fixture
def sensors(pendulum_urdf):
    model = load_urdf(pendulum_urdf)
    encoders = SENSORS['joint_positions']('encoders', model, ['pivot'], 0.001, velocity_sd=0.1)
    return {JOINT_STATE: encoders, POSE: SENSORS['link_pose']('rod', model, 'rod', 0.001, 0.01)}


@pytest.mark.parametrize(('name', 'make'), [(JOINT_STATE, joint_state), (POSE, pose)])
def test_sensors_read_both_alike(sensors, name, make):
    pytest.importorskip('rclpy')
    (of_ros,) = sensors[name].decode(make(ros_class)).samples
    (of_bags,) = sensors[name].decode(make(typestore_class)).samples
    assert of_ros.stamp_ns == of_bags.stamp_ns == STAMP_NS
    np.testing.assert_array_equal(of_ros.values, of_bags.values)


@pytest.mark.parametrize(('name', 'make'), [(JOINT_STATE, joint_state), (POSE, pose)])
def test_what_one_writes_the_other_reads(name, make):
    serialization = pytest.importorskip('rclpy.serialization')
    written = typestore().serialize_cdr(make(typestore_class), name)
    assert serialization.deserialize_message(bytes(written), ros_class(name)) == make(ros_class)


def test_with_ros_the_classes_are_those_of_rclpy():
    messages = pytest.importorskip('sensor_msgs.msg')
    assert message_class(JOINT_STATE) is messages.JointState


def test_without_ros_they_come_from_the_typestore(monkeypatch):
    monkeypatch.setitem(sys.modules, 'sensor_msgs', None)
    monkeypatch.setitem(sys.modules, 'sensor_msgs.msg', None)
    with pytest.raises(ImportError):
        ros_class(JOINT_STATE)
    assert message_class(JOINT_STATE) is typestore_class(JOINT_STATE)


@pytest.mark.parametrize('name', ['JointState', 'sensor_msgs/msg/JointStates'])
@pytest.mark.parametrize('kind', [message_class, typestore_class])
def test_an_unknown_type_is_named(kind, name):
    with pytest.raises(DataError, match=f"no message type '{name}'"):
        kind(name)
