import numpy as np
import pytest
from ros_like import joint_state

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.records import Status
from sim2real_estimator.sensors import JointEfforts, SENSORS

STAMP = 1_700_000_000_123_456_789


@pytest.fixture
def model(double_pendulum_urdf):
    return load_urdf(double_pendulum_urdf)


@pytest.fixture
def encoders(model):
    return SENSORS['joint_positions']('encoders', model, ['shoulder', 'elbow'], 1e-3)


@pytest.fixture
def efforts(model):
    return JointEfforts('efforts', model, ['elbow', 'shoulder'])


def test_joints_are_taken_by_name(encoders):
    decoded = encoders.decode(joint_state(STAMP, ['elbow', 'shoulder'], [1.0, 2.0]))
    (sample,) = decoded.samples
    assert (sample.sensor, sample.stamp_ns) == ('encoders', STAMP)
    np.testing.assert_array_equal(sample.values, [2.0, 1.0])
    assert decoded.statuses == ()


def test_each_message_is_read_by_its_own_names(encoders, efforts):
    def read(names, numbers):
        message = joint_state(STAMP, names, numbers, effort=numbers)
        return [[each.values.tolist() for each in s.decode(message).samples] for s in both]

    both = encoders, efforts
    for _ in range(2):
        assert read(['elbow', 'shoulder'], [1.0, 2.0]) == [[[2.0, 1.0]], [[1.0, 2.0]]]
        assert read(['shoulder', 'elbow'], [1.0, 2.0]) == [[[1.0, 2.0]], [[2.0, 1.0]]]
        assert read(['elbow', 'elbow'], [1.0, 2.0]) == [[], []]


def test_velocities_follow_positions_where_they_are_measured(model):
    sensor = SENSORS['joint_positions']('encoders', model, ['shoulder', 'elbow'], 1e-3, 1e-2)
    message = joint_state(STAMP, ['elbow', 'shoulder'], [1.0, 2.0], [3.0, 4.0])
    np.testing.assert_array_equal(sensor.decode(message).samples[0].values, [2.0, 1.0, 4.0, 3.0])
    np.testing.assert_array_equal(sensor.scale, [1e-3, 1e-3, 1e-2, 1e-2])


def test_missing_joints_are_nan_and_counted(encoders):
    decoded = encoders.decode(joint_state(STAMP, ['elbow'], [1.0]))
    np.testing.assert_array_equal(decoded.samples[0].values, [np.nan, 1.0])
    assert decoded.statuses == (Status.MISSING_JOINT,)


def test_missing_fields_are_nan(encoders):
    decoded = encoders.decode(joint_state(STAMP, ['shoulder', 'elbow']))
    assert np.isnan(decoded.samples[0].values).all()


@pytest.mark.parametrize(
    ('position', 'velocity'),
    [([1.0, np.nan], [3.0, 4.0]), ([1.0], [3.0, 4.0]), ([1.0, 2.0], [3.0, np.nan])],
)
def test_a_joint_without_a_number_is_missing_too(model, position, velocity):
    sensor = SENSORS['joint_positions']('encoders', model, ['shoulder', 'elbow'], 1e-3, 1e-2)
    decoded = sensor.decode(joint_state(STAMP, ['shoulder', 'elbow'], position, velocity))
    assert np.isnan(decoded.samples[0].values).sum() == 1
    assert decoded.statuses == (Status.MISSING_JOINT,)


def test_unknown_joints_are_counted_and_left_out(encoders):
    names = ['shoulder', 'finger', 'elbow', 'thumb']
    decoded = encoders.decode(joint_state(STAMP, names, [1.0, 7.0, 2.0, 8.0]))
    np.testing.assert_array_equal(decoded.samples[0].values, [1.0, 2.0])
    assert decoded.statuses == (Status.UNKNOWN_JOINT,) * 2


def test_joints_of_the_robot_that_a_sensor_does_not_measure_are_no_fault(model):
    sensor = SENSORS['joint_positions']('encoder', model, ['elbow'], 1e-3)
    assert sensor.decode(joint_state(STAMP, ['shoulder', 'elbow'], [1.0, 2.0])).statuses == ()


def test_a_message_about_other_joints_is_no_sample(encoders, efforts):
    message = joint_state(STAMP, ['finger'], [1.0], effort=[1.0])
    for sensor in (encoders, efforts):
        decoded = sensor.decode(message)
        assert decoded.samples == ()
        assert decoded.statuses == (Status.UNKNOWN_JOINT,)


@pytest.mark.parametrize(
    ('names', 'numbers'),
    [
        ([], []),
        ([], [1.0, 2.0]),
        (['shoulder', 'shoulder'], [1.0, 2.0]),
        (['shoulder', 'elbow'], [1.0, 2.0, 3.0]),
    ],
)
def test_numbers_of_nobody_knows_whom_are_malformed(encoders, efforts, names, numbers):
    message = joint_state(STAMP, names, numbers, effort=numbers)
    for sensor in (encoders, efforts):
        decoded = sensor.decode(message)
        assert (decoded.samples, decoded.statuses) == ((), (Status.MALFORMED,))


def test_efforts_are_taken_by_name(efforts):
    message = joint_state(STAMP, ['shoulder', 'elbow'], [0.0, 0.0], effort=[3.0, 4.0])
    (sample,) = efforts.decode(message).samples
    np.testing.assert_array_equal(sample.values, [4.0, 3.0])
    assert efforts.places == (1, 0)
    assert efforts.limits == (20, 20)


@pytest.mark.parametrize('effort', [[], [5.0]])
def test_missing_efforts_are_nan_never_zero(efforts, effort):
    (sample,) = efforts.decode(joint_state(STAMP, ['elbow', 'shoulder'], effort=effort)).samples
    expected = effort + [np.nan] * (2 - len(effort))
    np.testing.assert_array_equal(sample.values, expected)


def test_efforts_need_joints_that_take_them(model):
    with pytest.raises(ConfigError, match="'wrist' takes no single effort.*shoulder, elbow"):
        JointEfforts('efforts', model, ['wrist'])


def test_a_message_type_that_cannot_be_read_is_refused(model):
    with pytest.raises(ConfigError, match='sensor_msgs/msg/JointState'):
        SENSORS['joint_positions'](
            'encoders', model, ['elbow'], 1e-3, message_type='sensor_msgs/msg/Imu'
        )


def test_encoders_move_with_the_joints_they_measure(encoders):
    assert encoders.joints == ('shoulder', 'elbow')
    assert encoders.measures_joints
