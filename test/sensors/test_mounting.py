"""How bodies of motion capture are mounted, and where its world lies, from the config."""

import math

import numpy as np
import pytest
from simulated import CONFIG, config
from transforms3d.affines import compose
from transforms3d.euler import euler2mat
from transforms3d.quaternions import quat2mat

from sim2real_estimator.config import with_values
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.sensors import Placement
from sim2real_estimator.sensors.mounting import placement
from sim2real_estimator.setup.build import build_parts
from sim2real_estimator.setup.sources import build_model, build_sensors
from sim2real_estimator.spatial.rotation import Rotation

ANGLES = (0.3, -1.1, 2.5)


def settings(**more):
    """Return the shipped config with a body on the forearm and a marker, and more."""
    values = {
        'model.urdf': str(CONFIG.with_suffix('.urdf')),
        'sensors.hand.kind': 'link_pose',
        'sensors.hand.topic': 'hand',
        'sensors.hand.link': 'lower',
        'sensors.hand.position_sd': 0.001,
        'sensors.hand.orientation_sd': 0.01,
        'sensors.tip.kind': 'marker',
        'sensors.tip.topic': 'tip',
        'sensors.tip.link': 'lower',
        'sensors.tip.point': [0.0, 0.0, -0.3],
        'sensors.tip.sd': 0.001,
    }
    return with_values(config(), values | more)


def seen(wished, q):
    """Return by name what sensors see of the robot as it is described, at angles q."""
    model = build_model(wished)
    sensors = {sensor.name: sensor for sensor in build_sensors(wished, model)}
    parameters = Parameters(model, [p for s in sensors.values() for p in s.parameters])
    robot = realize(parameters, {})
    return {name: np.array(s.observe(robot, q, [0.0, 0.0])) for name, s in sensors.items()}


def as_matrix(pose):
    return compose(pose[:3], pose[3:].reshape(3, 3), np.ones(3))


def test_angles_are_those_of_urdf_in_either_unit():
    placed = Placement.of(rpy=ANGLES)
    degrees = Placement.of(rpy_degrees=[math.degrees(angle) for angle in ANGLES])
    np.testing.assert_allclose(placed.turn, degrees.turn, rtol=1e-14)
    matrix = [list(row) for row in Rotation.from_roll_pitch_yaw(*ANGLES).rows]
    np.testing.assert_allclose(matrix, matrix_of(placed), atol=1e-14)


def matrix_of(placed):
    """Return the matrix of a placement by way of a robot that knows it."""

    class Knowing:
        more = {f'it.{axis}': x for axis, x in zip(('rx', 'ry', 'rz'), placed.turn)}

    return [list(row) for row in placement(Knowing, 'it')[0].rows]


@pytest.mark.parametrize('sign', [1, -1])
@pytest.mark.parametrize('wxyz', [(0.5, -0.5, 0.1, 0.7), (0.0, 0.6, 0.0, 0.8), (-0.8, 0, 0.6, 0)])
def test_quaternions_have_w_last_and_either_sign(sign, wxyz):
    w, x, y, z = (sign * number for number in wxyz)
    placed = Placement.of(quaternion=[x, y, z, w])
    np.testing.assert_allclose(matrix_of(placed), quat2mat(wxyz), atol=1e-14)
    assert np.linalg.norm(placed.turn) <= np.pi + 1e-12


@pytest.mark.parametrize('q', [(0.0, 0.0), (0.4, -1.2)])
def test_a_body_is_seen_where_it_is_mounted_in_the_world_of_motion_capture(q):
    mount = {'sensors.hand.mount.position': [0.1, -0.2, 0.3], 'sensors.hand.mount.rpy': ANGLES}
    world = {'mocap.position': [2.0, 1.0, -0.5], 'mocap.rpy_degrees': [0.0, 10.0, 90.0]}
    plain, placed = seen(settings(), q), seen(settings(**mount, **world), q)
    around = compose([2.0, 1.0, -0.5], euler2mat(*np.radians([0, 10, 90]), 'sxyz'), np.ones(3))
    on_link = compose([0.1, -0.2, 0.3], euler2mat(*ANGLES, 'sxyz'), np.ones(3))
    np.testing.assert_allclose(
        as_matrix(placed['hand']), around @ as_matrix(plain['hand']) @ on_link, atol=1e-14
    )
    np.testing.assert_allclose(placed['tip'], (around @ [*plain['tip'], 1.0])[:3], atol=1e-14)


def test_a_pose_is_seen_at_another_scale():
    world = {'mocap.position': [2.0, 1.0, -0.5]}
    model = build_model(settings(**world))
    sensor = next(s for s in build_sensors(settings(**world), model) if s.name == 'hand')
    parameters = Parameters(model, sensor.parameters)
    place = {}
    for scale in (1.0, 0.979):
        robot = realize(parameters, {'hand.scale': scale})
        place[scale] = np.array(sensor.observe(robot, [0.4, -1.2], [0.0, 0.0]))
    np.testing.assert_allclose(place[0.979][:3], 0.979 * place[1.0][:3], rtol=1e-12)
    np.testing.assert_allclose(place[0.979][3:], place[1.0][3:])


def test_what_is_given_is_where_an_estimate_begins():
    wished = settings(
        **{
            'sensors.hand.mount.position': [0.1, 0.0, 0.0],
            'sensors.hand.mount.rpy_degrees': [0.0, 0.0, 90.0],
            'mocap.position': [2.0, 0.0, 0.0],
            'estimate.hand.mount.*.sd': 0.01,
            'estimate.mocap.x.sd': 0.5,
        }
    )
    problem, *_ = build_parts(wished)
    values = problem.parametrization.to_named(problem.prior.mean[:, None])[:, 0]
    named = dict(zip(problem.parametrization.names, values))
    assert named['hand.mount.x'] == pytest.approx(0.1)
    assert named['hand.mount.rz'] == pytest.approx(np.pi / 2)
    assert named['mocap.x'] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        (
            {'sensors.hand.mount.rpy': [0, 0, 1], 'sensors.hand.mount.quaternion': [0, 0, 0, 1]},
            'sensors.hand.mount.quaternion: is given, but rpy as well; give one of them',
        ),
        ({'sensors.hand.mount.rpy': [0, 1]}, 'sensors.hand.mount.rpy: .*give 3 numbers'),
        ({'mocap.position': [1.0]}, 'mocap.position: .*give 3 numbers'),
        ({'mocap.quaternion': [1, 1, 0, 0]}, 'mocap.quaternion: has a length of 1.41; give a uni'),
        ({'sensors.tip.mount.rpy': [0, 0, 1]}, 'sensors.tip.mount: a marker has no use for it'),
        ({'sensors.encoders.mount.position': [0, 0, 1]}, 'sensors.encoders.mount: .*no use'),
    ],
)
def test_what_is_no_pose_is_refused_with_its_key(values, words):
    wished = settings(**values)
    with pytest.raises(ConfigError, match=words):
        build_sensors(wished, build_model(wished))
