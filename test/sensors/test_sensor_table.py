"""Every sensor of the table tells the stream what it has to know."""

import inspect

import numpy as np
import pytest
import torch

from sim2real_estimator.config.settings_tree import SensorConfig
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.model.state_coordinates import StateCoordinates
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
def measured(sensor, double_pendulum_urdf):
    """Return (model, observe, state [nx], values [1, .]) of a sensor at a random state."""
    types = BALLS if sensor.message_type.endswith('MultiDOFJointState') else None
    model = load_urdf(double_pendulum_urdf, joint_types=types)
    parameters = Parameters(model, sensor.parameters)
    robot = realize(parameters, dict(zip(parameters, parameters.nominal())))
    rng = np.random.default_rng(3)
    neutral = np.array([*model.neutral_positions(), *[0.0] * model.velocity_size])
    turns = 0.4 * rng.standard_normal((2 * model.velocity_size, 1))
    state = StateCoordinates(model).retract(neutral[:, None], turns)[:, 0]
    values = rng.standard_normal((1, sensor.value_size))
    if sensor.value_size >= 7:
        # Orientations are unit quaternions: of a pose its last four values, else all.
        first = sensor.value_size % 4
        turns = values[:, first:].reshape(-1, 4)
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)

    def observe(state):
        return sensor.observe(
            robot, [*state[: model.position_size]], [*state[model.position_size :]]
        )

    return model, observe, state, values


def test_it_observes_as_many_scalars_as_it_says_over_any_scalar(sensor, measured):
    _, observe, state, _ = measured
    outputs = np.array(observe(state.tolist()), dtype=float)
    assert outputs.shape == (sensor.output_size,)
    lanes = [torch.full((3,), x, dtype=torch.float64) for x in state.tolist()]
    together = [torch.as_tensor(x, dtype=torch.float64).expand(3) for x in observe(lanes)]
    for alone, lane in zip(outputs, together):
        np.testing.assert_allclose(lane.numpy(), alone, rtol=1e-12, atol=1e-13)


def test_derivatives_of_its_rows_are_those_of_differences(sensor, measured):
    model, observe, state, values = measured
    coordinates, step = StateCoordinates(model), 1e-6

    def at(turns):
        point = coordinates.retract(state[:, None], turns[:, None])
        outputs = np.array(observe(point[:, 0].tolist()), dtype=float)
        return point, outputs.reshape(-1, 1)

    here = at(np.zeros(2 * model.velocity_size))
    rows = sensor.rows(*here, values)
    assert rows.values.shape == (1, sensor.row_size)
    for direction in np.eye(2 * model.velocity_size):
        there, back = at(step * direction), at(-step * direction)
        slopes = [(a - b)[:, 0] / (2 * step) for a, b in zip(there, back)]
        given = np.zeros(sensor.row_size)
        for by, slope in zip((rows.by_state, rows.by_outputs), slopes):
            given += 0.0 if by is None else by[0] @ slope
        errors = [sensor.errors(*each, values)[0] for each in (there, back)]
        found = (errors[0] - errors[1]) / (2 * step)
        np.testing.assert_allclose(given, found, rtol=1e-4, atol=1e-3)


def test_rows_of_missing_values_are_zero(sensor, measured):
    _, observe, state, values = measured
    outputs = np.array(observe(state.tolist()), dtype=float)[:, None]
    rows = sensor.rows(state[:, None], outputs, np.full_like(values, np.nan))
    assert not rows.values.any()
    assert rows.by_outputs is None or not rows.by_outputs.any()


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
