"""Readings become messages that the sensors decode."""

import math

import numpy as np
import pytest

from sim2real_estimator.app.synthetic.readings import (
    EffortValues,
    JointPoseValues,
    JointValues,
    message_of,
    PointValues,
    PoseValues,
    Reading,
)
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.records import Status
from sim2real_estimator.sensors import JointEfforts, SENSORS

STAMP = 1_700_000_000_123_456_789
JOINTS = JointValues(('elbow', 'shoulder'), (0.1, 0.2), (0.3, 0.4), (math.nan, 0.6))
POSE = PoseValues((1.0, 2.0, 3.0), (0.5, 0.5, -0.5, 0.5))


@pytest.fixture
def decoded(double_pendulum_urdf):
    """Return a function that decodes the message of a reading by a sensor."""
    model = load_urdf(double_pendulum_urdf)

    def decode(kind, content, message_type=None, **settings):
        sensor = SENSORS[kind]('it', model, message_type=message_type, **settings)
        return sensor.decode(message(content, sensor.message_type))

    return decode


def message(content, message_type):
    return message_of(Reading('topic', message_type, 0, 0, STAMP, content))


def test_joint_states(decoded, double_pendulum_urdf):
    settings = {'joints': ['shoulder', 'elbow'], 'sd': 1e-3, 'velocity_sd': 1e-2}
    (sample,) = decoded('joint_positions', JOINTS, **settings).samples
    assert sample.stamp_ns == STAMP
    np.testing.assert_array_equal(sample.values, [0.2, 0.1, 0.4, 0.3])
    efforts = JointEfforts('efforts', load_urdf(double_pendulum_urdf), ['shoulder', 'elbow'])
    (sample,) = efforts.decode(message(JOINTS, efforts.message_type)).samples
    np.testing.assert_array_equal(sample.values, [0.6, math.nan])


def test_joints_with_a_quaternion(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf, joint_types={'elbow': 'free'})
    deviations = ('position_sd', 'orientation_sd', 'velocity_sd', 'angular_velocity_sd')
    sensor = SENSORS['joint_poses']('it', model, ['elbow'], **dict.fromkeys(deviations, 0.1))
    parts = ((1.0, 2.0, 3.0), (0.5, 0.5, -0.5, 0.5), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0))
    content = JointPoseValues(('elbow',), *((part,) for part in parts))
    (sample,) = sensor.decode(message(content, sensor.message_type)).samples
    np.testing.assert_array_equal(sample.values, [x for part in parts for x in part])


def test_efforts_alone(double_pendulum_urdf):
    model, kind = load_urdf(double_pendulum_urdf), 'std_msgs/msg/Float64MultiArray'
    efforts = JointEfforts('efforts', model, ['elbow'], kind, ['shoulder', 'elbow'])
    made = message(EffortValues((1.0, 2.0)), kind)
    assert not hasattr(made, 'header')
    (sample,) = efforts.decode(made, STAMP).samples
    np.testing.assert_array_equal(sample.values, [2.0])


@pytest.mark.parametrize('name', ['PoseStamped', 'TransformStamped'])
def test_poses_seen_and_hidden(decoded, name):
    settings = {'link': 'lower', 'position_sd': 1e-3}
    settings['message_type'] = f'geometry_msgs/msg/{name}'
    (sample,) = decoded('link_pose', POSE, **settings).samples
    np.testing.assert_array_equal(sample.values, [1.0, 2.0, 3.0, 0.5, 0.5, -0.5, 0.5])
    hidden = PoseValues((0.0,) * 3, (0.0,) * 4)
    assert decoded('link_pose', hidden, **settings).statuses == (Status.OCCLUDED,)


def test_points_seen_and_hidden(decoded):
    settings = {'link': 'lower', 'point': (0.0, 0.0, 0.0), 'sd': 1e-3}
    (sample,) = decoded('marker', PointValues((1.0, 2.0, 3.0)), **settings).samples
    np.testing.assert_array_equal(sample.values, [1.0, 2.0, 3.0])
    hidden = PointValues((math.nan,) * 3)
    assert decoded('marker', hidden, **settings).statuses == (Status.NON_FINITE,)
