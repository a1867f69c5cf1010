"""Wanted motion: what lies between points, and which motions are refused."""

import numpy as np
import pytest

from sim2real_estimator.control.trajectory import checked, Trajectory
from sim2real_estimator.errors import DataError
from sim2real_estimator.model.tree import Limits

JOINTS = ('shoulder', 'elbow')
LIMITS = {'shoulder': Limits(-2.0, 2.0), 'elbow': Limits()}
HERE = np.array([0.1, -0.1])


def points(*rows):
    """Return points of (time, positions), without velocities."""
    return [(time, list(positions), [], []) for time, positions in rows]


def of(rows, names=JOINTS):
    return checked(JOINTS, names, rows, LIMITS, HERE)


def test_between_points_position_velocity_and_acceleration_agree_and_nothing_jumps():
    generator = np.random.default_rng(2)
    values = generator.standard_normal((3, 4, 2))
    trajectory = Trajectory(np.array([0.0, 0.5, 1.5, 1.7]), *values)
    times, step = np.linspace(0.01, 1.69, 400), 1e-6
    for time in times:
        before, now, after = (trajectory.target(time + k * step) for k in (-1, 0, 1))
        slope = (after.positions - before.positions) / (2 * step)
        np.testing.assert_allclose(slope, now.velocities, atol=1e-4)
        bend = (after.velocities - before.velocities) / (2 * step)
        np.testing.assert_allclose(bend, now.accelerations, atol=2e-3)
    for k, time in enumerate(trajectory.times[:-1]):
        np.testing.assert_allclose(trajectory.target(time).positions, values[0, k])
        np.testing.assert_allclose(trajectory.target(time).velocities, values[1, k])


def test_after_the_last_point_the_robot_is_held_there():
    trajectory = of(points((0.0, HERE), (1.0, (0.5, 0.5))))
    target = trajectory.target(7.0)
    np.testing.assert_allclose(target.positions, 0.5)
    assert not target.velocities.any() and not target.accelerations.any()


def test_a_first_point_that_is_not_at_once_is_gone_to_from_where_the_robot_is():
    trajectory = of(points((2.0, (1.0, 1.0))))
    np.testing.assert_allclose(trajectory.target(0.0).positions, HERE)
    np.testing.assert_allclose(trajectory.target(1.0).positions, 0.5 * (HERE + 1.0))


def test_joints_come_in_any_order():
    trajectory = of(points((1.0, (0.3, 0.7))), ('elbow', 'shoulder'))
    np.testing.assert_allclose(trajectory.target(1.0).positions, (0.7, 0.3))


@pytest.mark.parametrize(
    ('rows', 'names', 'why'),
    [
        ([], JOINTS, 'no points'),
        (points((1.0, (0.0,))), ('shoulder',), 'it is of shoulder'),
        (points((1.0, (0.0,))), JOINTS, 'not as many positions'),
        ([(1.0, [0.0, 0.0], [1.0], [])], JOINTS, 'not as many velocities'),
        (points((1.0, (0.0, 0.0)), (1.0, (0.0, 0.0))), JOINTS, 'do not increase'),
        (points((-1.0, (0.0, 0.0))), JOINTS, 'do not increase'),
        (points((1.0, (0.0, np.inf))), JOINTS, 'not finite'),
        (points((1.0, (3.0, 0.0))), JOINTS, 'shoulder would leave its range, -2 to 2'),
        (points((0.0, (1.0, 0.0))), JOINTS, 'from where shoulder is'),
    ],
)
def test_what_cannot_be_followed_is_refused_with_the_reason(rows, names, why):
    with pytest.raises(DataError, match=why):
        of(rows, names)
