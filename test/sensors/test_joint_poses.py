"""Joints with a quaternion: their messages, and what a state differs from them by."""

import numpy as np
import pytest
from ros_like import multi_dof_joint_state
from transforms3d.quaternions import axangle2quat, qmult, rotate_vector

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.records import Status
from sim2real_estimator.sensors import SENSORS

STAMP = 1_700_000_000_123_456_789
IDENTITY, NOTHING = (1.0, 0.0, 0.0, 0.0), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
TURN = (0.5, -0.5, 0.1, 0.7)
NAN, INF = np.nan, np.inf
HEAVY_BASE = """
  <link name="base">
    <inertial>
      <mass value="3"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
"""


@pytest.fixture
def model(double_pendulum_urdf):
    """Return a floating robot with a ball joint and a hinge."""
    urdf = double_pendulum_urdf.replace('<link name="base"/>', HEAVY_BASE)
    return load_urdf(urdf, base='floating', joint_types={'shoulder': 'spherical'})


@pytest.fixture
def make(model):
    """Return a function from settings to the sensor of both joints."""

    def make_sensor(joints=('shoulder', 'floating_base'), **settings):
        return SENSORS['joint_poses']('poses', model, joints, **settings)

    return make_sensor


def message(**poses):
    return multi_dof_joint_state(STAMP, poses, poses.values())


def test_joints_are_taken_by_name_and_quaternions_turned_to_w_first(make):
    sensor = make(position_sd=0.01, orientation_sd=0.02)
    decoded = sensor.decode(
        message(floating_base=((1.0, 2.0, 3.0), TURN), shoulder=((0.0,) * 3, IDENTITY))
    )
    (sample,) = decoded.samples
    assert (sample.sensor, sample.stamp_ns, decoded.statuses) == ('poses', STAMP, ())
    np.testing.assert_array_equal(sample.values, [*IDENTITY, 1.0, 2.0, 3.0, *TURN])
    np.testing.assert_array_equal(sensor.scale, [0.01] * 4 + [0.01] * 3 + [0.01] * 4)


def test_a_quaternion_of_either_sign_is_the_same_sample(make):
    sensor = make(['shoulder'], orientation_sd=0.02)
    flipped = tuple(-x for x in TURN)
    (a,), (b,) = (
        sensor.decode(message(shoulder=((0.0,) * 3, turn))).samples for turn in (TURN, flipped)
    )
    np.testing.assert_array_equal(a.values, b.values)


def test_velocities_are_used_where_asked_for(make):
    poses, twists = [((0.0,) * 3, IDENTITY)], [((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))]
    text = multi_dof_joint_state(STAMP, ['floating_base'], poses, twists)
    both = make(['floating_base'], velocity_sd=0.1, angular_velocity_sd=0.2)
    np.testing.assert_array_equal(both.decode(text).samples[0].values, [1, 2, 3, 4, 5, 6])
    none = make(['floating_base'], orientation_sd=0.1)
    np.testing.assert_array_equal(none.decode(text).samples[0].values, IDENTITY)
    text.twist = []
    sensor = make(['floating_base'], orientation_sd=0.1, velocity_sd=0.1)
    decoded = sensor.decode(text)
    np.testing.assert_array_equal(decoded.samples[0].values, [*IDENTITY, NAN, NAN, NAN])
    assert decoded.statuses == (Status.MISSING_JOINT,)


@pytest.mark.parametrize(
    ('pose', 'outcome'),
    [
        (((0.0,) * 3, (0.0,) * 4), Status.OCCLUDED),
        (((0.0,) * 3, (1.002, 0.0, 0.0, 0.0)), Status.OCCLUDED),
        (((0.0,) * 3, (NAN, 0.0, 0.0, 0.0)), Status.NON_FINITE),
        (((INF, 0.0, 0.0), IDENTITY), Status.NON_FINITE),
    ],
)
def test_what_is_no_pose_is_counted_and_the_other_joint_used(make, pose, outcome):
    sensor = make(['shoulder'], orientation_sd=0.02)
    decoded = sensor.decode(message(shoulder=pose))
    assert (decoded.samples, decoded.statuses) == ((), (Status.MISSING_JOINT, outcome))
    decoded = make(orientation_sd=0.02).decode(
        message(shoulder=pose, floating_base=((0.0,) * 3, TURN))
    )
    np.testing.assert_array_equal(decoded.samples[0].values, [NAN] * 4 + [*TURN])
    assert decoded.statuses == (Status.MISSING_JOINT,)


def test_names_without_poses_and_unknown_names_are_counted(make):
    sensor = make(['shoulder'], orientation_sd=0.02)
    decoded = sensor.decode(multi_dof_joint_state(STAMP, ['shoulder'], []))
    assert decoded.statuses == (Status.MISSING_JOINT, Status.NON_FINITE)
    decoded = sensor.decode(message(finger=((0.0,) * 3, IDENTITY)))
    assert (decoded.samples, decoded.statuses) == ((), (Status.UNKNOWN_JOINT,))


@pytest.mark.parametrize(
    ('joints', 'settings', 'words'),
    [
        (['elbow'], {'orientation_sd': 0.1}, "'elbow' is neither spherical nor free; .*shoulder"),
        (['wrist'], {'orientation_sd': 0.1}, "'wrist' is neither"),
        (['shoulder'], {}, "measures nothing of joint 'shoulder'; give an orientation_sd"),
        (['shoulder'], {'orientation_sd': 0.1, 'position_sd': 0.1}, 'position_sd is of free'),
        (['shoulder', 'floating_base'], {'position_sd': 0.1}, "nothing of joint 'shoulder'"),
    ],
)
def test_what_cannot_be_measured_is_refused(make, joints, settings, words):
    with pytest.raises(ConfigError, match=words):
        make(joints, **settings)


def states(model, *turns):
    """Return states [nx, B]: the shoulder turned by quaternions, the rest random; more follows."""
    result = np.random.default_rng(0).standard_normal((model.state_size + 2, len(turns)))
    (shoulder,) = [m for m in model.moving_joints if m.joint.name == 'shoulder']
    result[shoulder.positions] = np.array(turns).T
    return result


@pytest.mark.parametrize('angle', [0.0, 1e-7, 0.4, 3.0, np.pi, 3.3])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_error_is_the_angle_between_the_two_over_its_deviation(make, model, angle, sign):
    sensor = make(['shoulder'], orientation_sd=0.02)
    axis, measured = np.array([0.6, 0.0, 0.8]), np.array(TURN)
    predicted = sign * qmult(measured, axangle2quat(axis, angle))
    rows = sensor.rows(states(model, predicted), np.zeros((0, 1)), measured[None])
    turned = angle if angle <= np.pi else angle - 2 * np.pi
    errors = 0.02 * rows.values[0]
    # Half a turn is the same either way round.
    errors = errors * np.sign(errors @ axis) if angle == np.pi else errors
    np.testing.assert_allclose(errors, turned * axis, rtol=1e-6, atol=1e-12)


def test_slopes_are_those_of_small_turns_and_shifts(make, model):
    sensor = make(position_sd=0.1, orientation_sd=0.02, velocity_sd=0.3, angular_velocity_sd=0.4)
    chance = np.random.default_rng(1)

    def unit():
        q = chance.standard_normal(4)
        return q / np.linalg.norm(q)

    batch, size = 3, 1e-6
    x = chance.standard_normal((model.state_size, batch))
    measured = chance.standard_normal((batch, sensor.value_size))
    turns = [m.positions for m in model.moving_joints if m.joint.name == 'shoulder']
    turns += [
        slice(m.positions.start + 3, m.positions.stop)
        for m in model.moving_joints
        if m.joint.name == 'floating_base'
    ]
    starts = np.cumsum([0, *(part.size for part in sensor.parts)])
    for lane in range(batch):
        for turn in turns:
            x[turn, lane] = unit()
        for part, start in zip(sensor.parts, starts):
            if part.is_quaternion:
                measured[lane, start : start + 4] = unit()
    rows = sensor.rows(x, np.zeros((0, batch)), measured)
    directions = np.eye(model.state_size)
    for k, direction in enumerate(directions):
        ends = [x + side * size * direction[:, None] for side in (1, -1)]
        # By the turns alone: the length of a quaternion is no coordinate.
        high, low = (sensor.rows(end, np.zeros((0, batch)), measured).values for end in ends)
        np.testing.assert_allclose(
            rows.by_state[:, :, k], (high - low) / (2 * size), rtol=1e-5, atol=1e-5
        )


def test_what_is_missing_leaves_its_rows_empty(make, model):
    sensor = make(orientation_sd=0.02)
    values = np.array([[*TURN, NAN, NAN, NAN, NAN]])
    rows = sensor.rows(states(model, IDENTITY), np.zeros((0, 1)), values)
    assert (rows.values[:, :3] != 0).all() and (rows.values[:, 3:] == 0).all()
    assert rows.by_state.shape == (1, 6, model.state_size)
    assert (rows.by_state[:, 3:] == 0).all() and rows.by_state[:, :3].any()


def test_turns_are_in_the_frame_of_the_child(make, model):
    sensor = make(['shoulder'], orientation_sd=1.0)
    small = 1e-4
    x = states(model, qmult(TURN, axangle2quat([0, 0, 1], small)))
    rows = sensor.rows(x, np.zeros((0, 1)), np.array([TURN]))
    np.testing.assert_allclose(rows.values[0], [0, 0, small], atol=1e-9)
    # In the frame of the parent the axis is another.
    assert abs(rotate_vector([0, 0, 1], TURN)[2]) < 0.9
