"""Every sensor of the table tells the stream what it has to know."""

import inspect

import numpy as np
import pytest

from sim2real_estimator.config.settings_tree import SensorConfig
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.sensors import AbstractSensor, SENSORS, View

SETTINGS = {
    'joint_poses': {'joints': ['shoulder', 'elbow'], 'orientation_sd': 1e-2},
    'joint_positions': {'joints': ['shoulder', 'elbow'], 'sd': 1e-3},
    'link_pose': {'link': 'lower', 'position_sd': 1e-3, 'orientation_sd': 1e-2},
    'marker': {'link': 'lower', 'point': (0, 0, 0.1), 'sd': 1e-3},
    'planar_camera': {
        'link': 'lower',
        'point': (0, 0, 0.1),
        'sd': 0.5,
        'camera': View('side', 800.0),
    },
}
BALLS = {'shoulder': 'spherical', 'elbow': 'spherical'}


@pytest.fixture(params=SENSORS)
def sensor(request, double_pendulum_urdf):
    types = BALLS if request.param == 'joint_poses' else None
    model = load_urdf(double_pendulum_urdf, joint_types=types)
    return SENSORS[request.param]('some', model, **SETTINGS[request.param])


@pytest.fixture
def state_size(sensor, double_pendulum_urdf):
    types = BALLS if sensor.message_type.endswith('MultiDOFJointState') else None
    return load_urdf(double_pendulum_urdf, joint_types=types).state_size


def test_it_says_what_its_samples_are(sensor):
    assert isinstance(sensor, AbstractSensor)
    assert sensor.name == 'some'
    assert np.shape(sensor.scale) == (sensor.value_size,)
    assert (sensor.scale > 0).all()
    assert set(sensor.joints) == {'shoulder', 'elbow'}


def test_what_sees_links_needs_them_simulated_and_encoders_see_none(sensor):
    assert sensor.sees_links == (sensor.output_size > 0) != sensor.measures_joints


def test_it_reads_the_first_of_its_message_types_unless_told(sensor):
    assert sensor.message_type == sensor.message_types[0]
    assert all(kind.count('/msg/') == 1 for kind in sensor.message_types)


def test_it_says_what_its_residual_rows_are_about(sensor, state_size):
    signals = sensor.signals
    assert len(signals) == sensor.row_size == len({signal.label for signal in signals})
    assert all(signal.unit and signal.sd > 0 for signal in signals)
    # A quaternion of no turn, whatever else it stands beside.
    states, outputs = np.ones((state_size, 1)), np.eye(3).ravel()
    outputs = np.concatenate([np.zeros(3), outputs])[: sensor.output_size, None]
    values = np.full((1, sensor.value_size), 0.5)
    before = sensor.rows(states, outputs, values).values[0]
    for row, signal in enumerate(signals):
        if signal.place is None:
            assert signal.unit == 'rad'
            continue
        moved = values.copy()
        moved[:, signal.place] += 0.25 * signal.sd
        change = sensor.rows(states, outputs, moved).values[0] - before
        np.testing.assert_allclose(change, np.where(np.arange(len(signals)) == row, -0.25, 0))


@pytest.mark.parametrize('kind', SENSORS)
def test_whatever_it_takes_can_be_set(kind):
    takes = list(inspect.signature(SENSORS[kind]).parameters)
    assert takes[:2] == ['name', 'model']
    assert set(takes[2:]) <= {*vars(SensorConfig()), 'capture'}
