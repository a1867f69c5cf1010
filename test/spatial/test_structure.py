"""Structural zeros and ones are folded away: what is known to vanish is never computed."""

import math

import pytest
import torch

from sim2real_estimator.spatial import scalar
from sim2real_estimator.spatial.inertia import ArticulatedInertia, BodyInertia
from sim2real_estimator.spatial.motion import Force
from sim2real_estimator.spatial.rotation import Rotation
from sim2real_estimator.spatial.scalar import is_zero
from sim2real_estimator.spatial.vector import Vec3

X = torch.tensor([2.0, -3.0], dtype=torch.float64)


@pytest.mark.parametrize('zero', [0.0, 0])
def test_zero_is_neutral_in_sums_and_wins_in_products(zero):
    assert scalar.add(zero, X) is X and scalar.add(X, zero) is X and scalar.sub(X, zero) is X
    assert torch.equal(scalar.sub(zero, X), -X)
    assert is_zero(scalar.mul(zero, X)) and is_zero(scalar.mul(X, zero))
    assert is_zero(scalar.div(zero, X)) and is_zero(scalar.square(zero))


@pytest.mark.parametrize('one', [1.0, 1])
def test_one_is_neutral_in_products(one):
    assert scalar.mul(one, X) is X and scalar.mul(X, one) is X
    assert torch.equal(scalar.mul(-one, X), -X) and torch.equal(scalar.mul(X, -one), -X)


def test_negating_zero_gives_no_negative_zero():
    assert math.copysign(1.0, scalar.neg(0.0)) == 1.0
    assert math.copysign(1.0, scalar.mul(-1.0, 0.0)) == 1.0


def test_a_tensor_of_zeros_is_a_number_and_not_structure():
    zeros = torch.zeros(2, dtype=torch.float64)

    assert not is_zero(zeros)
    assert scalar.mul(zeros, X).shape == (2,) and scalar.add(zeros, X) is not X


def test_sums_of_nothing_and_of_zeros_are_zero():
    assert is_zero(scalar.sum_of([])) and is_zero(scalar.sum_of([0.0, 0.0]))
    assert scalar.sum_of([0.0, X, 0.0]) is X


@pytest.mark.parametrize('index', range(3))
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_turns_about_a_coordinate_axis_keep_their_zeros_and_ones(index, sign):
    rows = Rotation.about(Vec3.unit(index) * sign, X).rows

    for i in range(3):
        for j in range(3):
            if index in (i, j):
                assert rows[i][j] == (1.0 if i == j else 0.0)
            else:
                assert isinstance(rows[i][j], torch.Tensor)


def test_vectors_along_axes_multiply_to_structure():
    x, y = Vec3.unit(0), Vec3.unit(1)

    assert list(x.cross(y)) == [0.0, 0.0, 1.0] and is_zero(x.dot(y))
    assert (Vec3(X, 0.0, 0.0) + Vec3(0.0, X, 0.0)).z == 0.0
    assert list(Rotation.identity() * Vec3(X, 0.0, X)) == [X, 0.0, X]


def test_no_body_is_structurally_nothing():
    body = BodyInertia.zero().rotated(Rotation.about(Vec3.unit(0), X)).moved(Vec3(X, X, X))

    assert body.is_zero()
    assert not BodyInertia.from_centre(X, Vec3.zero(), BodyInertia.zero().rotational).is_zero()


def test_an_eliminated_axis_leaves_zeros_in_its_row_and_column():
    body = BodyInertia(X, Vec3(X, X, X), BodyInertia.zero().rotational)
    inertia = ArticulatedInertia.of_body(body)
    response = Force(Vec3(*(inertia.rows[i][3] for i in range(3))), Vec3(X, 0.0, 0.0))

    rows = inertia.eliminated(response, 1.0 / X, 3).rows

    assert all(is_zero(x) for x in rows[3]) and all(is_zero(row[3]) for row in rows)
