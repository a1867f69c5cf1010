"""Encoders whose stamps are off: positions of what moves are the less certain, the faster."""

import numpy as np
import pytest

from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.sensors import SENSORS

SD, OFF = 1e-3, 2e-4


@pytest.fixture
def model(double_pendulum_urdf):
    return load_urdf(double_pendulum_urdf)


def rows(model, state, **settings):
    sensor = SENSORS['joint_positions']('encoders', model, ['shoulder', 'elbow'], SD, **settings)
    values = np.array([[0.3, -0.2, *[0.1, 0.2][: 2 * ('velocity_sd' in settings)]]])
    return sensor.rows(np.array(state)[:, None], None, values)


def test_a_position_is_as_uncertain_as_noise_and_speed_times_stamps_make_it(model):
    state = [0.31, -0.18, 5.0, -2.0]
    found, exact = rows(model, state, stamp_sd=OFF), rows(model, state)
    wider = np.hypot(SD, OFF * np.array([5.0, 2.0])) / SD
    np.testing.assert_allclose(found.values * wider, exact.values)
    np.testing.assert_allclose(found.by_state * wider[:, None], exact.by_state)


def test_what_does_not_move_is_as_certain_as_ever(model):
    state = [0.31, -0.18, 0.0, 0.0]
    np.testing.assert_array_equal(
        rows(model, state, stamp_sd=OFF).values, rows(model, state).values
    )


def test_velocities_do_not_hang_on_it_and_no_speed_makes_all_errors_small(model):
    state = [0.31, -0.18, 1e6, -1e6]
    found = rows(model, state, stamp_sd=OFF, velocity_sd=0.01).values[0]
    exact = rows(model, state, velocity_sd=0.01).values[0]
    np.testing.assert_allclose(found[2:], exact[2:])
    np.testing.assert_allclose(exact[:2] / found[:2], np.sqrt(10))
