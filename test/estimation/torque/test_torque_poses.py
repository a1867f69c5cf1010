"""Kinematics from points: a toy arm in a plane, of known truth."""

from dataclasses import replace

import numpy as np
import pytest

from sim2real_estimator.estimation.protocol import Gaussian
from sim2real_estimator.estimation.torque import poses as pose_regression

# Two lengths [m], the zeros of two encoders [rad] and the delay of the clock [s].
TRUTH = np.array([0.52, 0.37, 0.02, -0.015, 0.007])
PRIOR = Gaussian(np.array([0.5, 0.4, 0.0, 0.0, 0.0]), np.diag([0.03, 0.03, 0.02, 0.02, 0.01]))
SD, RATE = 1e-3, 100.0


def tip(kinematics, q):
    """Return where the tip is [N, 2], and its slopes by kinematics [N, 2, 4] and by q."""
    first, second = q[:, 0] + kinematics[2], (q + kinematics[2:4]).sum(1)
    along = [np.stack([np.cos(a), np.sin(a)], 1) for a in (first, second)]
    across = [np.stack([-np.sin(a), np.cos(a)], 1) for a in (first, second)]
    of_second = kinematics[1] * across[1]
    by_q = np.stack([kinematics[0] * across[0] + of_second, of_second], 2)
    place = kinematics[0] * along[0] + kinematics[1] * along[1]
    return place, np.concatenate([np.stack(along, 2), by_q], 2), by_q


class Planar:
    """A point at the tip of two links."""

    sensors, parts, places = ('tip',), ((0, slice(0, 3)),), np.arange(5)

    def delays(self, kinematics):
        """Return the delay and its slope."""
        return kinematics[4:], np.eye(5)[4:]

    def residuals(self, kinematics, number, positions, velocities, values):
        """Return predicted less measured and slopes, in deviations."""
        place, by_kinematics, by_q = tip(kinematics, positions)
        error, slope = np.zeros((len(place), 3)), np.zeros((len(place), 3, 5))
        error[:, :2] = (place - values) / SD
        slope[:, :2, :4] = by_kinematics / SD
        slope[:, :2, 4] = -(by_q @ velocities[..., None])[..., 0] / SD
        return error, slope


def positions_at(seconds):
    """Return how the arm swings, [N, 2]."""
    t = np.asarray(seconds)[:, None]
    return np.sin(2 * np.pi * t * [0.4, 0.7] + [0.0, 1.0]) * [0.9, 1.2]


def followed(seconds, rng=None, spoilt=lambda stamp, value: value, state=None, begin=0.0):
    """Return the `PoseState` after some seconds, renewed twice in each."""
    model, rng = Planar(), rng or np.random.default_rng(0)
    state = state or pose_regression.begin(model, PRIOR)
    for start in np.arange(begin, begin + seconds, 0.5):
        taken = start + np.arange(round(0.5 * RATE)) / RATE
        values = tip(TRUTH, positions_at(taken))[0] + SD * rng.standard_normal((len(taken), 2))
        entries = tuple(
            (0, round(1e9 * (t + TRUTH[4])), spoilt(t, y)) for t, y in zip(taken, values)
        )
        state = replace(state, waiting=(*state.waiting, *entries))
        until = round(1e9 * (start + 0.5))
        known = lambda stamps: positions_at(1e-9 * stamps)  # noqa: E731
        bounds = -(10**9), until + 10**8
        state = pose_regression.placed(model, state, until, known, bounds)
        state = pose_regression.renewed(model, state, until)
    return state


def off(state):
    """Return how far the truth is off, in deviations squared by coordinate."""
    away = np.linalg.solve(state.fit.root, state.fit.mean - TRUTH)
    return away @ away / len(away)


@pytest.mark.parametrize('seed', range(4))
def test_lengths_zeros_and_the_delay_are_found(seed):
    state = followed(6.0, np.random.default_rng(seed))
    assert off(state) < 2.5
    assert (np.sqrt((state.fit.root**2).sum(1)) < [1e-3, 1e-3, 2e-3, 2e-3, 5e-4]).all()
    # Of three rows of a point the third is always right here.
    assert state.fit.variance == pytest.approx(2 / 3, rel=0.25)


def test_sums_of_what_is_no_longer_kept_tell_the_same(monkeypatch):
    summed = followed(30.0)
    assert summed.sums.number[0] > 100
    assert len(summed.kept.sensors) <= pose_regression._MOST_KEPT
    monkeypatch.setattr(pose_regression, '_MOST_KEPT', 10**6)
    whole = followed(30.0)
    assert not whole.sums.number.any()
    sds = [np.sqrt((each.fit.root**2).sum(1)) for each in (summed, whole)]
    assert sds[0] == pytest.approx(sds[1], rel=0.15)
    assert (np.abs(summed.fit.mean - whole.fit.mean) < 0.5 * sds[1]).all()


@pytest.mark.parametrize('size', [0.03, 3.0])
def test_what_follows_another_marker_moves_nothing(size):
    def spoilt(taken, value):
        return value + size if 0.3 < taken % 1.0 < 0.5 else value

    clean, state = followed(8.0), followed(8.0, spoilt=spoilt)
    sds = np.sqrt((clean.fit.root**2).sum(1))
    assert off(state) < 2.5
    assert (np.abs(state.fit.mean - clean.fit.mean) < 2 * sds).all()
    assert state.fit.share == pytest.approx(0.8, abs=0.1)


def test_poses_without_a_known_motion_are_left_out():
    model, state = Planar(), pose_regression.begin(Planar(), PRIOR)
    state = replace(state, waiting=((0, 10**9, np.zeros(2)), (0, 3 * 10**9, np.zeros(2))))
    state = pose_regression.placed(model, state, 2 * 10**9)
    assert state.kept is None and [stamp for _, stamp, _ in state.waiting] == [3 * 10**9]
    assert pose_regression.renewed(model, state, 2 * 10**9) is state


def test_an_arm_at_rest_is_looked_at_once_in_a_second():
    model, state = Planar(), pose_regression.begin(Planar(), PRIOR)
    entries = tuple((0, round(1e7 * k), np.array([0.9, 0.0])) for k in range(1000))
    state = replace(state, waiting=entries)
    still = lambda stamps: np.zeros((len(stamps), 2))  # noqa: E731
    state = pose_regression.placed(model, state, 10**10, still, (-(10**9), 2 * 10**10))
    assert len(state.kept.sensors) == 10


def test_the_rest_of_a_normal_distribution_given_what_poses_tell_stays():
    rng, places = np.random.default_rng(0), np.array([1, 3])
    root = np.linalg.qr(rng.standard_normal((5, 5)), 'r').T
    known = Gaussian(rng.standard_normal(5), root)
    fit = pose_regression.begin(Planar(), PRIOR).fit
    fit = replace(fit, mean=np.array([0.3, -0.2]), root=np.array([[0.1, 0.0], [0.02, 0.05]]))
    found = pose_regression.conditioned(known, places, fit)
    assert found.mean[places] == pytest.approx(fit.mean)
    assert found.covariance[np.ix_(places, places)] == pytest.approx(fit.root @ fit.root.T)
    others, before, after = np.array([0, 2, 4]), known.covariance, found.covariance
    of_places = before[np.ix_(places, places)]
    slope = before[np.ix_(others, places)] @ np.linalg.inv(of_places)
    left = before[np.ix_(others, others)] - slope @ before[np.ix_(places, others)]
    assert after[np.ix_(others, others)] == pytest.approx(left)
    assert after[np.ix_(others, places)] == pytest.approx(0)
    moved = slope @ (fit.mean - known.mean[places])
    assert found.mean[others] == pytest.approx(known.mean[others] + moved)
    assert np.triu(found.root, 1) == pytest.approx(0)
