"""Turns between rotations, against transforms3d and differences."""

import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import axangle2quat, mat2quat, qconjugate, qmult, quat2axangle

from sim2real_estimator.sensors.turns import turns_from_quaternions

STEP = 1e-6
AXIS = np.array([0.6, -0.48, 0.64])
START = 1.7 * axangle2quat([0.3, 0.5, -0.8], 1.1)


def end_of(angle, more=(0.0, 0.0, 0.0)):
    """Return the start as a matrix, turned by an angle about the axis and then by a little."""
    length = np.linalg.norm(more)
    little = axangle2mat(more, length) if length else np.eye(3)
    return axangle2mat([0.3, 0.5, -0.8], 1.1) @ axangle2mat(AXIS, angle) @ little


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-5, 9e-4, 1.1e-3, 0.1, 2.0, 3.1, 3.13])
def test_a_turn_and_what_moves_it(angle):
    end = end_of(angle)
    turn, slope = turns_from_quaternions(START[None], end.reshape(1, 9))
    np.testing.assert_allclose(turn[0], angle * AXIS, atol=1e-12)
    for k, direction in enumerate(np.eye(3)):
        ends = np.array([end_of(angle, sign * STEP * direction).ravel() for sign in (1, -1)])
        turns = turns_from_quaternions(np.tile(START, (2, 1)), ends)[0]
        moved = (ends[0] - ends[1]) / (2 * STEP)
        np.testing.assert_allclose(
            slope[0] @ moved, (turns[0] - turns[1]) / (2 * STEP), atol=1e-6, err_msg=str(k)
        )


def test_many_are_turned_as_they_are_alone():
    generator = np.random.default_rng(2)
    starts = generator.standard_normal((5, 4))
    ends = np.array([axangle2mat(axis, 1.0) for axis in generator.standard_normal((5, 3))])
    turns, slopes = turns_from_quaternions(starts, ends.reshape(5, 9))
    for k in range(5):
        unit = starts[k] / np.linalg.norm(starts[k])
        axis, angle = quat2axangle(qmult(qconjugate(unit), mat2quat(ends[k])))
        angle -= 2 * np.pi * (angle > np.pi)
        np.testing.assert_allclose(turns[k], angle * axis, atol=1e-9)
        alone = turns_from_quaternions(starts[k : k + 1], ends[k].reshape(1, 9))
        np.testing.assert_allclose(slopes[k], alone[1][0], rtol=1e-12, atol=1e-12)


def test_where_nothing_is_measured_nothing_is_told():
    turns, _ = turns_from_quaternions(np.full((1, 4), np.nan), np.eye(3).reshape(1, 9))
    assert np.isnan(turns).all()
