import numpy as np
import pytest
from ros_like import point_stamped, pose_stamped, transform_stamped

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.records import Status
from sim2real_estimator.sensors import SENSORS

STAMP = 1_700_000_000_000_000_001
MESSAGES = {
    'geometry_msgs/msg/PoseStamped': pose_stamped,
    'geometry_msgs/msg/TransformStamped': transform_stamped,
}


@pytest.fixture
def model(double_pendulum_urdf):
    return load_urdf(double_pendulum_urdf)


@pytest.fixture(params=MESSAGES)
def sensor_and_message(request, model):
    sensor = SENSORS['link_pose']('hand', model, 'lower', 1e-3, 1e-2, message_type=request.param)
    return sensor, MESSAGES[request.param]


def test_quaternions_are_turned_to_w_first(sensor_and_message):
    sensor, message = sensor_and_message
    decoded = sensor.decode(message(STAMP, (1.0, 2.0, 3.0), (0.5, -0.5, 0.1, 0.7)))
    (sample,) = decoded.samples
    assert (sample.sensor, sample.stamp_ns) == ('hand', STAMP)
    np.testing.assert_array_equal(sample.values, [1.0, 2.0, 3.0, 0.5, -0.5, 0.1, 0.7])
    assert decoded.statuses == ()


@pytest.mark.parametrize('quaternion', [(0, 0, 0, 0), (1.002, 0, 0, 0), (0.5, 0.5, 0.5, 0.49)])
def test_without_a_proper_quaternion_a_pose_is_occluded(sensor_and_message, quaternion):
    sensor, message = sensor_and_message
    decoded = sensor.decode(message(STAMP, (0.0, 0.0, 0.0), quaternion))
    assert decoded.samples == ()
    assert decoded.statuses == (Status.OCCLUDED,)


@pytest.mark.parametrize('quaternion', [(1e200, 0, 0, 0), (0.5, 0.5, -1e308, 0.5)])
def test_numbers_that_have_no_square_are_no_quaternion(sensor_and_message, quaternion):
    sensor, message = sensor_and_message
    decoded = sensor.decode(message(STAMP, (0.0, 0.0, 0.0), quaternion))
    assert decoded.statuses == (Status.OCCLUDED,)


def test_rounding_of_a_quaternion_is_let_pass(sensor_and_message):
    sensor, message = sensor_and_message
    assert sensor.decode(message(STAMP, (0.0, 0.0, 0.0), (0.9995, 0, 0, 0))).samples


@pytest.mark.parametrize('bad', [np.nan, np.inf])
@pytest.mark.parametrize('place', range(7))
def test_a_pose_with_a_value_that_is_not_finite_is_left_out(sensor_and_message, bad, place):
    sensor, message = sensor_and_message
    values = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    values[place] = bad
    decoded = sensor.decode(message(STAMP, values[:3], values[3:]))
    assert decoded.samples == ()
    assert decoded.statuses == (Status.NON_FINITE,)


def test_a_pose_of_which_nothing_is_measured_is_refused(model):
    with pytest.raises(ConfigError, match="'hand': measures nothing; give a position_sd"):
        SENSORS['link_pose']('hand', model, 'lower')


def test_poses_are_expected_first(model):
    sensor = SENSORS['link_pose']('hand', model, 'lower', 1e-3)
    assert sensor.message_type == 'geometry_msgs/msg/PoseStamped'
    assert np.isinf(sensor.scale[3:]).all()


def test_points_are_taken_for_markers(model):
    sensor = SENSORS['marker']('tip', model, 'lower', (0, 0, -0.5), 1e-3)
    (sample,) = sensor.decode(point_stamped(STAMP, (1.0, 2.0, 3.0))).samples
    np.testing.assert_array_equal(sample.values, [1.0, 2.0, 3.0])
    assert sample.stamp_ns == STAMP


def test_a_link_moves_with_the_joints_below_it(model, gripper_urdf):
    assert set(SENSORS['link_pose']('a', model, 'lower', 1e-3).joints) == {'shoulder', 'elbow'}
    assert SENSORS['link_pose']('a', model, 'upper', 1e-3).joints == ('shoulder',)
    gripper = load_urdf(gripper_urdf)
    assert SENSORS['marker']('a', gripper, 'right_finger', (0, 0, 0), 1e-3).joints == ('left',)
