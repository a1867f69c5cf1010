"""Square-root arithmetic against textbook formulas with dense covariances."""

import numpy as np
import pytest

from sim2real_estimator.estimation.gaussian import log_normalized, measure, predict


@pytest.fixture
def generator():
    return np.random.default_rng(4)


def covariance(roots):
    return roots @ np.swapaxes(roots, -1, -2)


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


@pytest.mark.parametrize('split', [0, 2, 5])
@pytest.mark.parametrize('rows', [1, 4, 5, 9])
def test_few_rows_and_many_are_taken_in_alike(generator, rows, split):
    root = generator.standard_normal((3, 5, 5))
    residual, slope = generator.standard_normal((3, rows)), generator.standard_normal((3, rows, 5))
    update = measure(root, residual, slope, split)
    # Rows of nothing make them as many as it takes for the other way.
    more = [np.concatenate([x, np.zeros((3, 9, *x.shape[2:]))], 1) for x in (residual, slope)]
    other = measure(root, *more)
    np.testing.assert_allclose(covariance(update.root), covariance(other.root), atol=1e-13)
    np.testing.assert_allclose(update.step, other.step, atol=1e-13)
    np.testing.assert_allclose(update.nis, other.nis, atol=1e-12)
    constant = 0.5 * 9 * np.log(2 * np.pi)
    np.testing.assert_allclose(update.log_evidence, other.log_evidence + constant, atol=1e-12)


@pytest.mark.parametrize('rows', [1, 7])
def test_what_a_root_lacks_stays_so(generator, rows):
    root = generator.standard_normal((3, 5, 5))
    root[:, 2:, :2] = 0.0
    residual, slope = generator.standard_normal((3, rows)), generator.standard_normal((3, rows, 5))
    assert not measure(root, residual, slope, 2).root[:, 2:, :2].any()


@pytest.mark.parametrize('size', [1e3, 1e5, 1e8])
def test_rows_that_tell_far_more_than_was_known_leave_the_rest_as_it_was(generator, size):
    slope = np.array([[[size, 0, 0], [0, 1, 0], [0, 0, 0]]])
    update = measure(np.eye(3)[None], np.array([[0.0, 2.0, 3.0]]), slope, 1)
    assert update.nis[0] == pytest.approx(11.0, rel=1e-12)
    np.testing.assert_allclose(update.step[0], [0, -1, 0], atol=1e-12)
    expected = np.diag([1 / (1 + size**2), 0.5, 1])
    np.testing.assert_allclose(covariance(update.root)[0], expected, rtol=1e-7)


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


def test_parameters_that_do_not_move_need_no_columns_of_the_state(generator):
    root = generator.standard_normal((3, 5, 5))
    transition, floor = generator.standard_normal((3, 2, 5)), np.array([0.1, 0.3])
    whole = predict(root, transition, floor)
    assert not whole[:, 2:, :2].any()
    # The first time columns are turned into one another; from then on only those of the state.
    again, walk = predict(whole, transition, floor), np.zeros((3, 1))
    np.testing.assert_array_equal(again[:, 2:], whole[:, 2:])
    turned = predict(whole, transition, floor, walk)
    np.testing.assert_allclose(covariance(again), covariance(turned), rtol=1e-12, atol=1e-12)


def test_parameters_that_walk_are_less_sure(generator):
    root = generator.standard_normal((3, 5, 5))
    transition, walk = np.eye(5)[None, :2], generator.standard_normal((3, 4))
    result = predict(root, transition, np.zeros(2), walk)
    expected = covariance(root)
    expected[:, 2:, 2:] += walk @ walk.T
    np.testing.assert_allclose(covariance(result), expected, atol=1e-12)


def test_log_weights_sum_to_one_however_far_apart():
    weights = np.exp(log_normalized(np.array([-1e4, 0.0, -1e4 - 1])))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[1] == pytest.approx(1.0)
