"""Starts of a fit that cannot reach the best are pruned, once another explains the frames."""

from types import SimpleNamespace

import numpy as np
import pytest

from sim2real_estimator.estimation.batch.fit import _PATIENCE, Fits, HopelessStarts

LOWEST, COUNT = 100.0, 3
ALL = np.arange(COUNT)


def resting(cost):
    return Fits(np.zeros((2, 1)), np.zeros((1, 1)), np.array([cost]), np.eye(3)[None])


def found(before, after, left=10, steps=_PATIENCE, explains=True, knows_noise=True):
    """Return which of three starts are pruned after equal steps."""
    objective = SimpleNamespace(knows_noise=knows_noise, is_explained_by=lambda fits: explains)
    starts = HopelessStarts(objective, COUNT)
    starts.note_converged(resting(LOWEST))
    for _ in range(steps):
        pruned = starts.pruned(ALL, np.array(before), np.array(after), left)
    return pruned.tolist()


def test_what_does_not_come_down_in_time_is_pruned():
    # A tenth of the way in each of ten steps arrives; half of that does not, nor what is refused.
    before, after = [1100.0, 1100.0, 1100.0], [1000.0, 1050.0, 1e9]
    assert found(before, after) == [False, True, True]


def test_what_may_be_kept_beside_the_best_goes_on():
    before = [LOWEST + 20.0, LOWEST - 5.0, LOWEST + 40.0]
    assert found(before, before) == [False, False, True]


def test_a_few_short_steps_are_no_reason():
    before = [1100.0] * COUNT
    assert not any(found(before, before, steps=_PATIENCE - 1))
    assert all(found(before, before))


@pytest.mark.parametrize('circumstances', [{'explains': False}, {'knows_noise': False}])
def test_beside_what_may_not_be_the_best_all_go_on(circumstances):
    before = [1e6] * COUNT
    assert not any(found(before, before, **circumstances))


def test_one_long_step_wins_time():
    objective = SimpleNamespace(knows_noise=True, is_explained_by=lambda fits: True)
    starts = HopelessStarts(objective, COUNT)
    starts.note_converged(resting(LOWEST))
    high = np.full(COUNT, 1100.0)
    for number in range(2 * _PATIENCE - 1):
        after = high - 500.0 * (number == _PATIENCE - 1)
        assert not starts.pruned(ALL, high, after, 10).any()
