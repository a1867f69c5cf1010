"""Square-root arithmetic against textbook formulas with dense covariances."""

import numpy as np
import pytest

from sim2real_estimator.inference.gaussian import log_normalized, measure, predict


@pytest.fixture
def generator():
    return np.random.default_rng(4)


def test_a_measurement_is_that_of_the_kalman_filter(generator):
    root = generator.standard_normal((3, 5, 5))
    slope = generator.standard_normal((3, 2, 5))
    residual = generator.standard_normal((3, 2))
    update = measure(root, residual, slope)
    for k in range(3):
        covariance = root[k] @ root[k].T
        innovation = slope[k] @ covariance @ slope[k].T + np.eye(2)
        gain = covariance @ slope[k].T @ np.linalg.inv(innovation)
        np.testing.assert_allclose(update.step[k], -gain @ residual[k], atol=1e-10)
        after = covariance - gain @ slope[k] @ covariance
        np.testing.assert_allclose(update.root[k] @ update.root[k].T, after, atol=1e-10)
        nis = residual[k] @ np.linalg.solve(innovation, residual[k])
        assert update.nis[k] == pytest.approx(nis, rel=1e-10)
        log_evidence = -0.5 * (nis + np.linalg.slogdet(2 * np.pi * innovation)[1])
        assert update.log_evidence[k] == pytest.approx(log_evidence, rel=1e-10)


def test_a_measurement_without_rows_changes_nothing(generator):
    root = generator.standard_normal((2, 4, 4))
    update = measure(root, np.zeros((2, 0)), np.zeros((2, 0, 4)))
    assert not update.step.any() and not update.nis.any() and not update.log_evidence.any()
    np.testing.assert_allclose(update.root, root)


def test_a_perfect_measurement_leaves_a_root_that_is_no_wider(generator):
    root = 1e3 * generator.standard_normal((1, 4, 4))
    slope = np.zeros((1, 1, 4))
    slope[0, 0, 0] = 1e7
    update = measure(root, np.zeros((1, 1)), slope)
    variance = (update.root @ np.swapaxes(update.root, 1, 2))[0, 0, 0]
    assert 0 < variance < 1.1e-14


def test_prediction_moves_the_state_and_adds_the_floor(generator):
    root = generator.standard_normal((3, 5, 5))
    transition = generator.standard_normal((3, 2, 5))
    floor = np.array([0.1, 0.3])
    result = predict(root, transition, floor)
    for k in range(3):
        full = np.vstack([transition[k], np.hstack([np.zeros((3, 2)), np.eye(3)])])
        expected = full @ root[k] @ root[k].T @ full.T
        expected[:2, :2] += np.diag(floor**2)
        np.testing.assert_allclose(result[k] @ result[k].T, expected, atol=1e-10)


def test_log_weights_sum_to_one_however_far_apart():
    weights = np.exp(log_normalized(np.array([-1e4, 0.0, -1e4 - 1])))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[1] == pytest.approx(1.0)
