"""What disturbs a robot: efforts that last, and near reversal what nobody knows of friction."""

from dataclasses import replace
from functools import cache

import numpy as np
from problems import p2
import pytest

from sim2real_estimator.estimation.disturbances import (
    Disturbance,
    Disturbances,
    Kind,
    NO_DISTURBANCE,
)
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.prediction.robot_problem import ProblemOptions

_FRICTION = Disturbance(Kind.FRICTION, 0.003)
ASSUMED = Disturbances.of([NO_DISTURBANCE, _FRICTION, _FRICTION, Disturbance(Kind.FORCE, 0.3)])
SIZES = ASSUMED.sizes
# Of shoulder and elbow, in four columns: only the elbow has friction.
SPEEDS = np.array([[0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 2.0, 0.0]])
# A disturbance of one is so many times the friction.
ALL_FRICTION = 0.3


@cache
def problem():
    options = ProblemOptions(max_step=0.005, disturbance_time=0.2)
    return p2.make_problem(options, {'elbow.friction': Prior(0.05, 0.5, True)})


def expected(count):
    """Return the coordinates of the robot as it is expected to be, so many times."""
    return np.repeat(problem().prior.mean[:, None], count, 1)


def points(speeds):
    result = np.repeat(problem().neutral[:, None], speeds.shape[1], 1)
    result[2:4] = speeds
    return result


def test_at_reversal_disturbances_may_be_as_large_as_friction():
    found = problem().disturbances(ASSUMED, expected(4), points(SPEEDS))
    np.testing.assert_array_equal(found[:, 0], SIZES)
    assert found[0, 1] == 0.0
    assert found[1, 1] == pytest.approx(np.hypot(SIZES[1], ALL_FRICTION))
    assert found[2, 1] == pytest.approx(SIZES[2], rel=0.01)
    # What is larger pushes the robot wherever it goes.
    assert found[3, 1] == SIZES[3]


def test_the_slower_a_joint_the_larger_its_disturbances():
    speeds = np.stack([np.zeros(20), np.linspace(-0.2, 0.2, 20)])
    found = problem().disturbances(
        Disturbances.of([Disturbance(Kind.FRICTION, 0.001)] * 20), expected(20), points(speeds)
    )[:, 1]
    assert (np.diff(found)[:9] > 0).all()
    np.testing.assert_allclose(found, found[::-1])


def test_a_joint_with_more_friction_than_expected_is_disturbed_more():
    parameters = expected(3)
    row = problem().labels.index('elbow.friction')
    parameters[row] += 0.05 * np.exp(0.5**2 / 2) * np.array([0.0, 1.0, 99.0])
    found = problem().disturbances(
        Disturbances.of([Disturbance(Kind.FORCE, 0.03)] * 3), parameters, points(np.ones((2, 3)))
    )
    # Of an estimate that has gone astray so much is believed.
    np.testing.assert_allclose(found[:, 1], [0.03, 0.06, 0.15])
    np.testing.assert_array_equal(found[:, 0], 0.03)
    frame = p2.draw(5, 0.1)[1][1]
    still = 2 * [points(np.ones((2, 3)))]
    floor = problem().process_noise(
        (frame,), Disturbances.of([Disturbance(Kind.FORCE, 0.03)] * 3), parameters, still
    )[0]
    np.testing.assert_allclose(floor[:, 5] / floor[0, 5], [1.0, 2.0, 5.0])


def test_what_comes_at_reversal_is_gone_in_the_next_frame():
    frame = p2.draw(5, 0.1)[1][1]
    parameters = expected(4)
    found = problem().linearize(points(SPEEDS), parameters, (frame,), ASSUMED)
    kept = found.transition[:, range(4, 6), range(4, 6)]
    left = np.exp(-0.01 / 0.2)
    # Of the shoulder all that there is lasts, of the elbow not what is of friction.
    lasting = SIZES[1] ** 2 / (SIZES[1] ** 2 + ALL_FRICTION**2)
    np.testing.assert_allclose(kept[:, 0], left)
    assert kept[1, 1] == pytest.approx(left * lasting)
    assert kept[2, 1] == pytest.approx(left, rel=0.01)
    np.testing.assert_allclose(kept[[0, 3], 1], left)


def test_after_a_frame_disturbances_are_as_uncertain_as_where_the_robot_then_is():
    frame = p2.draw(5, 0.1)[1][1]
    starts, ends = points(SPEEDS), points(SPEEDS[:, ::-1])
    parameters = expected(4)
    found = problem().linearize(starts, parameters, (frame,), ASSUMED)
    before = problem().disturbances(ASSUMED, parameters, starts)
    kept = found.transition[:, range(4, 6), range(4, 6)] * before
    floor = problem().process_noise((frame,), ASSUMED, parameters, (starts, ends))[0, :, 4:]
    after = problem().disturbances(ASSUMED, parameters, ends)
    np.testing.assert_allclose(np.hypot(kept, floor), after, rtol=1e-12)


def test_what_frames_add_is_what_each_of_them_adds():
    frames, parameters = p2.draw(5, 0.1)[1][1:4], expected(4)
    # One of them knows of no effort.
    inputs = tuple((at, np.full(2, np.nan)) for at, _ in frames[1].inputs)
    frames = frames[0], replace(frames[1], inputs=inputs), frames[2]
    states = np.stack([points(speed * SPEEDS) for speed in (1.0, 0.5, -2.0, 0.1)])
    together = problem().process_noise(frames, ASSUMED, parameters, states)
    assert together.shape == (3, 4, problem().tangent_size)
    for k, frame in enumerate(frames):
        alone = problem().process_noise((frame,), ASSUMED, parameters, states[k : k + 2])[0]
        np.testing.assert_allclose(together[k], alone, rtol=1e-13)
    assert (together[1, :, 2:4] > 10 * together[0, :, 2:4]).all()
