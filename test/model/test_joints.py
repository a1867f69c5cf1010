"""Every joint type of the table keeps the promises of its base class."""

import numpy as np
import pytest

from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.spatial.rotation import Rotation

AXES = [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (2 / 3, -1 / 3, 2 / 3)]
H = 1e-6


@pytest.fixture(params=JOINTS)
def name(request):
    return request.param


@pytest.fixture(params=AXES, ids=str)
def kind(request, name):
    return JOINTS[name](request.param)


def matrix(rotation):
    return np.array([tuple(row) for row in rotation.rows])


def drawn(kind, seed):
    """Return random coordinates and velocities."""
    rng = np.random.default_rng(seed)
    away, v = ([float(x) for x in rng.normal(size=kind.velocity_size)] for _ in range(2))
    return kind.advance(kind.neutral(), away, 1.0), v


def test_sizes_and_name(name, kind):
    q, v = drawn(kind, 0)

    assert kind.type_name == name
    assert len(q) == len(kind.neutral()) == kind.position_size
    assert len(v) == kind.velocity_size == sum(len(group.axes) for group in kind.groups)
    assert len(kind.rate(q, v)) == kind.position_size
    assert len(kind.displacement(q, 0.0)) == kind.velocity_size


def test_the_child_coincides_with_the_joint_frame_at_neutral(kind):
    rotation, shift = kind.placement(kind.neutral())

    assert matrix(rotation) == pytest.approx(matrix(Rotation.identity()), abs=1e-16)
    assert tuple(shift) == (0.0, 0.0, 0.0)


def test_the_rate_is_the_derivative_of_advancing(kind):
    q, v = drawn(kind, 1)

    ahead, behind = kind.advance(q, v, H), kind.advance(q, v, -H)

    assert kind.rate(q, v) == pytest.approx((np.array(ahead) - behind) / (2 * H), abs=1e-8)


def test_the_groups_say_how_the_placement_moves(kind):
    q, v = drawn(kind, 2)
    (ahead, shift_ahead), (behind, shift_behind) = (
        kind.placement(kind.advance(q, v, h)) for h in (H, -H)
    )
    turn = (matrix(ahead) - matrix(behind)) / (2 * H)

    speeds = iter(v)
    angular, linear = np.zeros(3), np.zeros(3)
    for group in kind.groups:
        moved = sum(np.array(tuple(axis)) * next(speeds) for axis in group.axes)
        if group.is_rotation:
            angular += moved
        else:
            linear += moved

    # Rotations turn about axes of the child, so R' = R [w]; translations go along the parent's.
    body_rates = matrix(kind.placement(q)[0]).T @ turn
    found = [body_rates[2, 1], body_rates[0, 2], body_rates[1, 0]]
    assert found == pytest.approx(angular, abs=1e-8)
    assert tuple((shift_ahead - shift_behind) * (0.5 / H)) == pytest.approx(linear, abs=1e-8)


def test_the_difference_leads_from_start_to_end(kind):
    (start, _), (end, _) = drawn(kind, 3), drawn(kind, 4)

    found = kind.advance(start, kind.difference(start, end), 1.0)

    # As placements, since q and -q are the same turn.
    (rotation, shift), (rotation_end, shift_end) = kind.placement(found), kind.placement(end)
    assert matrix(rotation) == pytest.approx(matrix(rotation_end), abs=1e-14)
    assert tuple(shift) == pytest.approx(tuple(shift_end), abs=1e-14)


def test_normalizing_keeps_what_is_on_the_manifold(kind):
    q, _ = drawn(kind, 5)

    assert kind.normalized(q) == pytest.approx(q, abs=1e-15)


def test_the_displacement_is_the_slope_of_the_spring(kind):
    q, v = drawn(kind, 6)

    energies = [kind.spring_shape(kind.advance(q, v, h), 0.0) for h in (H, -H)]

    slope = (energies[0] - energies[1]) / (2 * H)
    assert np.dot(kind.displacement(q, 0.0), v) == pytest.approx(slope, abs=1e-8)
