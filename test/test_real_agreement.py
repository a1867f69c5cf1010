"""How real arms are compared with least squares: standard errors, and what is off."""

from pathlib import Path
import sys

import numpy as np
import pytest

pytest.importorskip('pinocchio')
sys.path.append(str(Path(__file__).resolve().parents[1] / 'benchmark'))

from real.agreement import Compared, information_of  # noqa: E402


def covariance_of(matrix, residuals, lags):
    information, squares = information_of(matrix, residuals, lags)
    inverse = np.linalg.inv(information)
    return inverse @ squares @ inverse


def test_white_residuals_have_the_covariance_of_weighted_least_squares():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(4000, 2, 3))
    residuals = rng.normal(size=(4000, 2)) * [0.5, 2.0]
    weighted = matrix / residuals.std(0)[:, None]
    wanted = np.linalg.inv(np.einsum('tjp,tjq->pq', weighted, weighted))
    found = covariance_of(matrix, residuals, 5)
    assert np.diag(found) == pytest.approx(np.diag(wanted), rel=0.15)


def test_correlated_residuals_widen_what_is_as_slow_as_they_are():
    rng, count, memory = np.random.default_rng(0), 20000, 0.9
    residuals, now = np.zeros((count, 1)), 0.0
    for k in range(count):
        now = memory * now + rng.normal()
        residuals[k] = now
    alternating = (-1.0) ** np.arange(count)
    matrix = np.stack([np.ones(count), alternating], 1)[:, None]
    found = np.diag(covariance_of(matrix, residuals, 200))
    # Of a sum of such residuals, and of one whose signs alternate.
    wanted = [1 / (1 - memory) ** 2 / count, 1 / (1 + memory) ** 2 / count]
    assert found == pytest.approx(wanted, rel=0.3)


def test_an_armature_below_zero_is_read_as_zero_and_told():
    below = Compared('elbow.armature', 'identified', 0.01, 0.01, -0.09, 0.01, 1.0)
    assert below.is_below and not below.is_outside
    assert below.score == pytest.approx(0.707, abs=1e-3)
    assert below.plain_score == pytest.approx(7.07, abs=1e-2)


def test_intervals_that_do_not_meet_are_apart():
    apart = Compared('elbow.damping', 'identified', 1.0, 0.1, 0.5, 0.1, 1.0)
    assert apart.is_outside and not apart.is_below
    assert not Compared('elbow.damping', 'identified', 1.0, 0.1, 0.7, 0.1, 1.0).is_outside
    offset = Compared('elbow.torque_offset', 'identified', 0.0, 0.1, -1.0, 0.1, 1.0)
    assert not offset.is_wanted and offset.score == offset.plain_score
