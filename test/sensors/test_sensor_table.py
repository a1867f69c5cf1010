"""Every sensor of the table tells the stream what it has to know."""

import inspect

import numpy as np
import pytest

from sim2real_estimator.config.tree import SensorConfig
from sim2real_estimator.model.urdf import load_urdf
from sim2real_estimator.sensors import AbstractSensor, SENSORS

SETTINGS = {
    'joint_poses': {'joints': ['shoulder', 'elbow'], 'orientation_sd': 1e-2},
    'joint_positions': {'joints': ['shoulder', 'elbow'], 'sd': 1e-3},
    'link_pose': {'link': 'lower', 'position_sd': 1e-3, 'orientation_sd': 1e-2},
    'marker': {'link': 'lower', 'point': (0, 0, 0.1), 'sd': 1e-3},
}
BALLS = {'shoulder': 'spherical', 'elbow': 'spherical'}


@pytest.fixture(params=SENSORS)
def sensor(request, double_pendulum_urdf):
    types = BALLS if request.param == 'joint_poses' else None
    model = load_urdf(double_pendulum_urdf, joint_types=types)
    return SENSORS[request.param]('some', model, **SETTINGS[request.param])


def test_it_says_what_its_samples_are(sensor):
    assert isinstance(sensor, AbstractSensor)
    assert sensor.name == 'some'
    assert np.shape(sensor.scale) == (sensor.value_size,)
    assert (sensor.scale > 0).all()
    assert set(sensor.joints) == {'shoulder', 'elbow'}


def test_it_reads_the_first_of_its_message_types_unless_told(sensor):
    assert sensor.message_type == sensor.message_types[0]
    assert all(kind.count('/msg/') == 1 for kind in sensor.message_types)


@pytest.mark.parametrize('kind', SENSORS)
def test_whatever_it_takes_can_be_set(kind):
    takes = list(inspect.signature(SENSORS[kind]).parameters)
    assert takes[:2] == ['name', 'model']
    assert set(takes[2:]) <= {*vars(SensorConfig()), 'capture'}
