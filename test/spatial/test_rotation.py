"""Rotations against transforms3d."""

import numpy as np
import pytest
from transforms3d import axangles, euler, quaternions

from sim2real_estimator.spatial.quaternion import Quaternion
from sim2real_estimator.spatial.rotation import Rotation
from sim2real_estimator.spatial.vector import Vec3

AXES = [(1, 0, 0), (0, -1, 0), (0, 0, 1), (0.6, 0.8, 0), (0, 0.6, -0.8), (2 / 3, -1 / 3, 2 / 3)]
ANGLES = [0.0, 0.4, -1.1, np.pi / 2, 3.1, 7.0]


def matrix(rotation):
    return np.array([tuple(row) for row in rotation.rows])


def drawn(seed):
    """Return a Rotation and the same as a matrix of transforms3d."""
    angles = np.random.default_rng(seed).uniform(-3, 3, 3)
    return Rotation.from_roll_pitch_yaw(*map(float, angles)), euler.euler2mat(*angles, 'sxyz')


@pytest.mark.parametrize('angle', ANGLES)
@pytest.mark.parametrize('axis', AXES)
def test_turns_about_an_axis(axis, angle):
    axis = tuple(map(float, axis))

    found = Rotation.about(Vec3(*axis), angle)

    assert matrix(found) == pytest.approx(axangles.axangle2mat(axis, angle), abs=1e-15)


@pytest.mark.parametrize('seed', range(10))
def test_roll_pitch_yaw_are_turns_about_fixed_axes_in_that_order(seed):
    found, expected = drawn(seed)

    assert matrix(found) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize('seed', range(10))
def test_matrices_of_quaternions(seed):
    vector = np.random.default_rng(seed).normal(size=4)
    unit = vector / np.linalg.norm(vector)

    found = Rotation.from_quaternion(Quaternion(*unit))

    assert matrix(found) == pytest.approx(quaternions.quat2mat(unit), abs=1e-15)


@pytest.mark.parametrize('seed', range(5))
def test_products_inverses_and_columns(seed):
    (a, a_matrix), (b, b_matrix) = drawn(seed), drawn(seed + 100)
    vector = np.random.default_rng(seed).normal(size=3)

    assert matrix(a * b) == pytest.approx(a_matrix @ b_matrix, abs=1e-15)
    assert matrix(a.transposed()) == pytest.approx(a_matrix.T, abs=1e-15)
    assert tuple(a * Vec3(*vector)) == pytest.approx(a_matrix @ vector, abs=1e-15)
    assert tuple(a.column(1)) == pytest.approx(a_matrix[:, 1], abs=1e-15)


def test_half_a_turn_about_z_in_halves_is_half_a_turn():
    quarter = Rotation.about(Vec3.unit(2), np.pi / 2)

    assert matrix(quarter * quarter) == pytest.approx(np.diag([-1.0, -1.0, 1.0]), abs=1e-15)
