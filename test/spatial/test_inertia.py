"""Inertias of bodies and of articulated bodies against explicit 3x3 and 6x6 matrices."""

import numpy as np
import pytest

from sim2real_estimator.spatial.inertia import (
    ArticulatedInertia,
    BodyInertia,
    complement_of_trace,
    Symmetric3,
    SYMMETRIC_ENTRIES,
)
from sim2real_estimator.spatial.motion import Force, Motion
from sim2real_estimator.spatial.rotation import Rotation
from sim2real_estimator.spatial.vector import Vec3

SEEDS = range(6)


def skew(vector):
    x, y, z = vector
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def matrix(rows_of):
    rows = rows_of.rows if isinstance(rows_of, Rotation) else rows_of.rows()
    return np.array([tuple(row) for row in rows])


def symmetric(array):
    return Symmetric3(*(float(array[i, j]) for i, j in SYMMETRIC_ENTRIES))


def spatial(mass, first, rotational):
    """Return the 6x6 inertia, angular part first."""
    return np.block([[rotational, skew(first)], [-skew(first), mass * np.eye(3)]])


def spatial_of(body):
    return spatial(body.mass, tuple(body.first_moment), matrix(body.rotational))


class Case:
    """A random body as points with mass, and as our BodyInertia."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.masses, self.points = rng.uniform(0.1, 2.0, 8), rng.normal(size=(8, 3))
        self.body = self.of_points(self.points)
        self.offset, self.omega = rng.normal(size=3), rng.normal(size=3)
        self.rotation = Rotation.from_roll_pitch_yaw(*map(float, rng.uniform(-3, 3, 3)))
        self.motion = rng.normal(size=6)

    def of_points(self, points):
        """Return the BodyInertia of the masses at other points, by its definition."""
        rotational = sum(-m * skew(p) @ skew(p) for m, p in zip(self.masses, points))
        first = self.masses @ points
        return BodyInertia(float(self.masses.sum()), Vec3(*first), symmetric(rotational))


@pytest.fixture(params=SEEDS)
def case(request):
    return Case(request.param)


def test_rotated_is_the_body_of_rotated_points(case):
    turned = case.of_points(case.points @ matrix(case.rotation).T)

    assert list(case.body.rotated(case.rotation)) == pytest.approx(list(turned), abs=1e-12)


def test_moved_is_the_body_of_shifted_points(case):
    shifted = case.of_points(case.points + case.offset)

    assert list(case.body.moved(Vec3(*case.offset))) == pytest.approx(list(shifted), abs=1e-12)


def test_from_centre_is_the_body_of_its_points(case):
    body = case.body
    mass, centre = body.mass, np.array(tuple(body.first_moment)) / body.mass
    central = matrix(body.rotational) + mass * skew(centre) @ skew(centre)

    found = BodyInertia.from_centre(mass, Vec3(*centre), symmetric(central))

    assert list(found) == pytest.approx(list(body), abs=1e-12)


def test_sums_are_those_of_the_matrices(case):
    other = case.body.moved(Vec3(*case.offset))

    assert spatial_of(case.body + other) == pytest.approx(
        spatial_of(case.body) + spatial_of(other)
    )


def test_force_is_the_sum_of_the_forces_on_the_points(case):
    alpha, a = case.motion[:3], case.motion[3:]
    accelerations = [
        a + np.cross(alpha, p) + np.cross(case.omega, np.cross(case.omega, p)) for p in case.points
    ]
    forces = [m * x for m, x in zip(case.masses, accelerations)]
    moment = sum(np.cross(p, f) for p, f in zip(case.points, forces))

    found = case.body.force(Motion(Vec3(*alpha), Vec3(*a)), Vec3(*case.omega))

    assert list(found) == pytest.approx([*moment, *sum(forces)], abs=1e-11)
    at_rest = case.body.force(Motion.zero(), Vec3(*case.omega))
    assert list(case.body.bias(Vec3(*case.omega))) == pytest.approx(list(at_rest), abs=1e-12)


def test_articulated_inertia_of_a_body_is_its_matrix(case):
    inertia = ArticulatedInertia.of_body(case.body)

    assert np.array(inertia.rows) == pytest.approx(spatial_of(case.body), abs=1e-15)
    product = inertia * Motion(Vec3(*case.motion[:3]), Vec3(*case.motion[3:]))
    assert list(product) == pytest.approx(spatial_of(case.body) @ case.motion, abs=1e-12)


def random_articulated(seed):
    root = np.random.default_rng(seed).normal(size=(6, 8))
    full = root @ root.T
    return full, ArticulatedInertia([[float(x) for x in row] for row in full])


@pytest.mark.parametrize('seed', SEEDS)
def test_carried_is_the_congruence_with_the_shift(seed):
    full, inertia = random_articulated(seed)
    offset = np.random.default_rng(seed + 50).normal(size=3)
    # Force carried by r: the moment gains r x f.
    shift = np.block([[np.eye(3), skew(offset)], [np.zeros((3, 3)), np.eye(3)]])

    found = np.array(inertia.carried(Vec3(*offset)).rows)

    assert found == pytest.approx(shift @ full @ shift.T, abs=1e-12)
    assert (found == found.T).all()


@pytest.mark.parametrize('pivot', [None, 4])
@pytest.mark.parametrize('seed', SEEDS)
def test_eliminated_gives_way_along_the_motion(seed, pivot):
    full, inertia = random_articulated(seed)
    motion = np.random.default_rng(seed).normal(size=6) if pivot is None else np.eye(6)[pivot]
    u = full @ motion

    response = inertia * Motion(Vec3(*motion[:3]), Vec3(*motion[3:]))
    found = inertia.eliminated(response, 1.0 / float(motion @ u), pivot)

    expected = full - np.outer(u, u) / (motion @ u)
    assert np.array(found.rows) == pytest.approx(expected, abs=1e-12)
    assert np.array(found.rows) @ motion == pytest.approx(np.zeros(6), abs=1e-12)


def test_articulated_sum(case):
    one, other = ArticulatedInertia.of_body(case.body), random_articulated(1)

    total = one + other[1]

    assert np.array(total.rows) == pytest.approx(spatial_of(case.body) + other[0], abs=1e-14)


def test_second_moments_and_inertia_give_each_other(case):
    moments = sum(m * np.outer(p, p) for m, p in zip(case.masses, case.points))

    found = complement_of_trace(case.body.rotational)

    assert matrix(found) == pytest.approx(moments, abs=1e-12)
    back = Symmetric3.scaled_identity(found.trace()) - found
    assert list(back) == pytest.approx(list(case.body.rotational), abs=1e-12)


def test_power_does_not_depend_on_the_reference_point(case):
    motion = Motion(Vec3(*case.motion[:3]), Vec3(*case.motion[3:]))
    force, offset = Force(Vec3(*case.omega), Vec3(*case.offset)), Vec3(0.3, -0.2, 0.9)

    # The force about the moved point is the force carried by the way back.
    there = force.carried(-offset)

    assert motion.moved(offset).dot(there) == pytest.approx(motion.dot(force), rel=1e-12)
    assert force.dot(motion) == motion.dot(force)
