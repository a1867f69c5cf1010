"""Quaternions against transforms3d, and the exponential and logarithm against one another."""

import math

import numpy as np
import pytest
import torch
from transforms3d import quaternions

from sim2real_estimator.spatial.quaternion import Quaternion
from sim2real_estimator.spatial.vector import Vec3

DIRECTIONS = [(1.0, 0.0, 0.0), (0.6, 0.0, -0.8), (2 / 3, -1 / 3, 2 / 3), (0.0, -1.0, 0.0)]
ANGLES = [0.0, 1e-12, 1e-6, 0.3, 1.5, 3.0, math.pi - 1e-6, math.pi - 1e-12]


def random_unit(rng):
    vector = rng.normal(size=4)
    return vector / np.linalg.norm(vector)


def turn(direction, angle):
    return Vec3(*(angle * d for d in direction))


@pytest.mark.parametrize('seed', range(10))
def test_products_and_inverses_are_those_of_transforms3d(seed):
    rng = np.random.default_rng(seed)
    a, b = random_unit(rng), random_unit(rng)

    product = Quaternion(*a) * Quaternion(*b)
    inverse = Quaternion(*a).conjugate()

    assert list(product) == pytest.approx(quaternions.qmult(a, b), abs=1e-15)
    assert list(inverse) == pytest.approx(quaternions.qinverse(a), abs=1e-15)


@pytest.mark.parametrize('angle', ANGLES)
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_exponential_is_the_turn_about_the_vector(direction, angle):
    found = Quaternion.exp(turn(direction, angle))

    expected = quaternions.axangle2quat(direction, angle)
    assert list(found) == pytest.approx(expected, abs=2e-15)


def test_the_exponential_of_4_rad_lacks_only_the_first_term_left_out():
    found = Quaternion.exp(turn(DIRECTIONS[1], 4.0))

    expected = quaternions.axangle2quat(DIRECTIONS[1], 4.0)
    assert list(found) == pytest.approx(expected, abs=1.2 * 2.0**22 / math.factorial(22))


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('angle', ANGLES)
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_logarithm_undoes_the_exponential(direction, angle, sign):
    vector = turn(direction, angle)

    found = Quaternion.exp(vector).scaled(sign).log()

    assert list(found) == pytest.approx(list(vector), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize('seed', range(10))
def test_the_exponential_undoes_the_logarithm(seed):
    unit = random_unit(np.random.default_rng(seed))
    unit *= math.copysign(1.0, unit[0])

    assert list(Quaternion.exp(Quaternion(*unit).log())) == pytest.approx(unit, abs=1e-14)


def test_the_logarithm_of_half_a_turn_has_its_length():
    half_turn = Quaternion(0.0, 0.6, 0.0, -0.8)

    found = np.array(list(half_turn.log()))

    assert found == pytest.approx(math.pi * np.array([0.6, 0.0, -0.8]), rel=1e-15)


@pytest.mark.parametrize('angle', [0.0, 1e-9, 0.5])
def test_gradients_of_the_exponential_are_finite_and_right(angle):
    vector = (torch.tensor([0.6, 0.0, -0.8], dtype=torch.float64) * angle).requires_grad_()

    def components(x):
        return torch.stack(list(Quaternion.exp(Vec3(*x))))

    jacobian = torch.autograd.functional.jacobian(components, vector)

    if angle < 1e-6:
        expected = np.vstack([np.zeros(3), 0.5 * np.eye(3)])
        assert jacobian.numpy() == pytest.approx(expected, abs=1e-9)
    assert torch.autograd.gradcheck(components, vector, eps=1e-6, atol=1e-8)


@pytest.mark.parametrize('angle', [0.0, 1e-9, 0.5, 3.0])
def test_gradients_of_the_logarithm_are_finite_and_right(angle):
    start = torch.tensor([*Quaternion.exp(turn((0.6, 0.0, -0.8), angle))], dtype=torch.float64)

    def vector(components):
        return torch.stack(list(Quaternion(*components).log()))

    jacobian = torch.autograd.functional.jacobian(vector, start)

    assert torch.isfinite(jacobian).all()
    # Along the unit sphere exp(log(q)) = q, so the two Jacobians are inverse of one another.
    log = vector(start).detach().requires_grad_()
    back = torch.autograd.functional.jacobian(
        lambda x: torch.stack(list(Quaternion.exp(Vec3(*x)))), log
    )
    assert (jacobian @ back).numpy() == pytest.approx(np.eye(3), abs=1e-6)


@pytest.mark.parametrize('seed', range(5))
def test_the_rate_is_the_derivative_along_body_rates(seed):
    rng = np.random.default_rng(seed)
    unit, omega, h = Quaternion(*random_unit(rng)), Vec3(*rng.normal(size=3)), 1e-6

    ahead, behind = unit * Quaternion.exp(omega * h), unit * Quaternion.exp(omega * -h)

    expected = [(a - b) / (2 * h) for a, b in zip(ahead, behind)]
    assert list(unit.rate(omega)) == pytest.approx(expected, abs=1e-9)


def test_normalizing_scales_to_unit_length():
    found = Quaternion(2.0, 0.0, -1.0, 2.0).normalized()

    assert list(found) == pytest.approx([2 / 3, 0.0, -1 / 3, 2 / 3], rel=1e-15)


def test_batches_are_computed_as_single_ones():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5, 3))

    batch = Quaternion.exp(Vec3(*torch.tensor(vectors).T)).log()

    for k, vector in enumerate(vectors):
        single = Quaternion.exp(Vec3(*map(float, vector))).log()
        assert [float(x[k]) for x in batch] == pytest.approx(list(single), abs=1e-15)
