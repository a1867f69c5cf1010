"""The misfit of windows with first states of their own, against what is exact of a linear one."""

from linear_gaussian import Exact, LinearProblem, PRIOR, simulate
import numpy as np
import pytest

from sim2real_estimator.estimation.batch.trajectory_misfit import TrajectoryMisfit
from sim2real_estimator.estimation.optimizers import OPTIMIZERS

TRUTH = np.array([0.9, 0.3])
# Whitened parameters, in standard deviations of the prior.
FAR = np.array([[2.0, -1.5], [-2.5, 3.0], [0.5, 0.5]]).T


def windows(count=3):
    """Return windows of the same point that begin at other places."""
    return [simulate(30, seed, truth=TRUTH).frames for seed in range(count)]


def exact(parts):
    """Return (mean [2], covariance [2, 2]) of the parameters from windows of unknown states."""
    before = np.linalg.inv(PRIOR.covariance)
    information, weighted = before.copy(), before @ PRIOR.mean
    for frames in parts:
        mean, covariance = Exact(frames).at_bound(0)
        own = np.linalg.inv(covariance[2:, 2:])
        information += own - before
        weighted += own @ mean[2:] - before @ PRIOR.mean
    covariance = np.linalg.inv(information)
    return covariance @ weighted, covariance


@pytest.fixture(scope='module')
def misfit():
    return TrajectoryMisfit(LinearProblem(), windows())


@pytest.mark.parametrize('name', OPTIMIZERS)
def test_every_optimizer_finds_the_exact_posterior_mean(misfit, name):
    found = OPTIMIZERS[name]().minimize(misfit, FAR)
    mean, covariance = exact(windows())
    off = misfit.parameters(found.points) - mean[:, None]
    squared = np.einsum('ib,ij,jb->b', off, np.linalg.inv(covariance), off)
    assert squared.min() < 1e-3
    # Adam has not converged everywhere, and says so.
    assert (squared[found.converged] < 1e-3).all()
    assert name == 'adam' or found.converged.all()


def test_the_curvature_at_the_optimum_is_the_exact_information(misfit):
    _, slopes = misfit.jacobian(misfit.points(exact(windows())[0][:, None]))
    root = PRIOR.root @ np.linalg.inv(np.linalg.cholesky(slopes[0].T @ slopes[0])).T
    np.testing.assert_allclose(root @ root.T, exact(windows())[1], rtol=1e-6)


def test_values_residuals_and_gradients_belong_together(misfit):
    values, gradient = misfit.gradient(FAR)
    np.testing.assert_allclose(misfit.value(FAR), values, rtol=1e-9)
    np.testing.assert_allclose(0.5 * (misfit.residuals(FAR) ** 2).sum(-1), values, rtol=1e-9)
    for k, move in enumerate(1e-5 * np.eye(2)):
        step = move[:, None]
        change = (misfit.value(FAR + step) - misfit.value(FAR - step)) / 2e-5
        np.testing.assert_allclose(gradient[k], change, rtol=1e-4, atol=1e-4)


def test_noise_alone_leaves_residuals_of_about_one(misfit):
    best = misfit.points(exact(windows())[0][:, None])
    assert misfit.misfit(best)[0] == pytest.approx(1.0, abs=0.15)
    assert misfit.misfit(FAR).max() > 5


def test_points_and_parameters_are_inverse_to_each_other(misfit):
    np.testing.assert_allclose(misfit.points(misfit.parameters(FAR)), FAR, atol=1e-12)


class Lost(LinearProblem):
    """The same, but for a large acceleration nothing can be simulated."""

    def trajectory(self, points, parameters, frames):
        """Return the states at the bounds of frames."""
        lost = np.where(parameters[0] > 3.0, np.nan, 1.0)
        return lost * super().trajectory(points, parameters, frames)


def test_columns_without_a_number_do_not_disturb_the_others():
    misfit, whole = (TrajectoryMisfit(each, windows(2)) for each in (Lost(), LinearProblem()))
    points = np.array([[9.0, 0.1], [0.0, 0.2]])
    assert misfit.value(points)[0] == np.inf
    np.testing.assert_allclose(misfit.value(points)[1], whole.value(points)[1])
    rows, slopes = misfit.jacobian(points)
    assert np.isnan(rows[0]).any() and np.isnan(slopes[0]).any()
    np.testing.assert_allclose(slopes[1], whole.jacobian(points)[1][1], atol=1e-12)
    found = OPTIMIZERS['basin_hopping'](hops=0).minimize(misfit, points)
    assert np.isinf(found.values[0]) and found.values[1] < misfit.value(points)[1]
    assert not np.isfinite(misfit.value(points[:, :1])).any()
    assert np.isnan(misfit.residuals(points[:, :1])).any()
