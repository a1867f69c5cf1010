"""Efforts in messages without names and stamps."""

import numpy as np
import pytest
from ros_like import joint_state, numbers
from simulated import CONFIG, config

from sim2real_estimator.config import with_values
from sim2real_estimator.errors import ConfigError, DataError
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.records import Status
from sim2real_estimator.sensors import JointEfforts
from sim2real_estimator.setup.sources import build_efforts, build_model

STAMP = 1_700_000_000_123_456_789
NUMBERS = 'std_msgs/msg/Float64MultiArray'


@pytest.fixture
def make(double_pendulum_urdf):
    """Return a function from joints and an order to `JointEfforts`."""
    model = load_urdf(double_pendulum_urdf)

    def make_efforts(joints, order, message_type=NUMBERS):
        return JointEfforts('efforts', model, joints, message_type, order)

    return make_efforts


@pytest.mark.parametrize('offset', [0, 2])
def test_numbers_are_of_the_joints_in_their_order(make, offset):
    efforts = make(['shoulder', 'elbow'], ['elbow', 'shoulder'])
    message = numbers([9.0] * offset + [1.0, 2.0], offset)
    (sample,) = efforts.decode(message, STAMP).samples
    assert (sample.sensor, sample.stamp_ns) == ('efforts', STAMP)
    np.testing.assert_array_equal(sample.values, [2.0, 1.0])


def test_joints_whose_effort_comes_from_elsewhere_are_left_out(make):
    efforts = make(['elbow'], ['shoulder', 'elbow'])
    (sample,) = efforts.decode(numbers([1.0, 2.0]), STAMP).samples
    np.testing.assert_array_equal(sample.values, [2.0])


@pytest.mark.parametrize('data', [[], [1.0], [1.0, 2.0, 3.0]])
def test_too_few_or_too_many_numbers_are_counted(make, data):
    decoded = make(['elbow'], ['shoulder', 'elbow']).decode(numbers(data), STAMP)
    assert (decoded.samples, decoded.statuses) == ((), (Status.MALFORMED,))


def test_what_has_no_stamp_needs_the_time_of_its_arrival(make):
    with pytest.raises(DataError, match='has no stamp; say when it came'):
        make(['elbow'], ['elbow']).decode(numbers([1.0]))


def test_a_stamp_counts_more_than_the_arrival(make):
    efforts = make(['elbow'], [], None)
    (sample,) = efforts.decode(joint_state(STAMP, ['elbow'], effort=[1.0]), 5).samples
    assert sample.stamp_ns == STAMP


@pytest.mark.parametrize(
    ('order', 'message_type', 'words'),
    [
        (['shoulder'], NUMBERS, "names 'elbow' 0 times"),
        (['elbow', 'elbow'], NUMBERS, "names 'elbow' 2 times"),
        (['elbow', 'wrist'], NUMBERS, "'wrist' is no joint of the robot"),
        (['elbow'], None, 'has names; take it out'),
        ([], 'sensor_msgs/msg/Imu', NUMBERS),
    ],
)
def test_an_order_that_says_not_enough_is_refused(make, order, message_type, words):
    with pytest.raises(ConfigError, match=words):
        make(['elbow'], order, message_type)


def test_the_config_says_type_and_order_of_commanded_efforts_only():
    changes = {
        'model.urdf': str(CONFIG.with_suffix('.urdf')),
        'joints.shoulder.effort': 'measured',
        'joints.elbow.effort': 'commanded',
        'efforts.commanded_type': NUMBERS,
        'efforts.commanded_joints': ['shoulder', 'elbow'],
    }
    wished = with_values(config(), changes)
    measured, commanded = build_efforts(wished, build_model(wished))
    assert (measured.message_type, measured.order) == ('sensor_msgs/msg/JointState', ())
    assert (commanded.message_type, commanded.order) == (NUMBERS, ('shoulder', 'elbow'))
