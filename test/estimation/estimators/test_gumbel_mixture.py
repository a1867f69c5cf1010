"""The paper's estimator: its gradients, its learning, and what it is known not to do."""

from dataclasses import replace

import numpy as np
from problems import p1
import pytest
import torch

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.estimation.estimators.gumbel_mixture import _RelaxedSamples, GumbelState
from sim2real_estimator.estimation.optimizers import Moments
from sim2real_estimator.estimation.protocol import Gaussian
from sim2real_estimator.records import Frame
from sim2real_estimator.reported_events import Happened

GumbelMixture = ESTIMATORS['gumbel_mixture']
FRAME = Frame(0, 1, ())


class Bowl:
    """A problem of two parameters without a robot: the loss is the distance to a target."""

    point_size = tangent_size = 1
    prior = Gaussian(np.zeros(2), np.diag([0.5, 1.0]))
    neutral = np.zeros(1)
    target = np.array([[0.7], [-0.4]])

    def __init__(self, edge=np.inf):
        self.edge = edge

    def first_state(self, frames):
        return np.ones(1), np.eye(1)

    def trajectory(self, points, parameters, frames):
        return np.repeat(points[None], len(frames) + 1, 0)

    def huber_loss(self, points, parameters, frames, delta):
        away = parameters - self.target
        losses = 0.5 * len(frames) * (away**2).sum(0)
        return np.where(parameters[0] > self.edge, np.nan, losses), len(frames) * away


def trained(estimator, problem, frames):
    state = estimator.init(problem)
    for frame in frames:
        state, report = estimator.update(problem, state, frame)
    return state, report


def random_state(kernels=3, size=2):
    learned = np.random.default_rng(0).standard_normal((kernels, 1 + 2 * size))
    return GumbelState(learned, Moments.like(learned[..., None]))


def test_the_choice_of_a_kernel_is_relaxed_as_in_the_paper():
    samples = _RelaxedSamples(random_state(), 2 / 3, 4000, np.random.default_rng(1))
    assert (samples.gamma > 0).all()
    np.testing.assert_allclose(samples.gamma.sum(1), 1.0)
    # The largest entry of a Gumbel-Softmax is where a draw of the categorical would be.
    share = np.bincount(samples.gamma.argmax(1), minlength=3) / 4000
    np.testing.assert_allclose(share, np.exp(random_state().log_phi), atol=0.03)
    sharp = _RelaxedSamples(random_state(), 1e-3, 100, np.random.default_rng(1))
    assert (sharp.gamma.max(1) > 0.99).mean() > 0.9


def test_gradients_through_the_samples_are_those_of_autograd():
    state, temperature = random_state(), 2 / 3
    samples = _RelaxedSamples(state, temperature, 5, np.random.default_rng(2))
    weights = np.random.default_rng(3).standard_normal(samples.theta.shape)
    # The same draws again, in torch.
    rng = np.random.default_rng(2)
    gumbel = -np.log(-np.log(rng.random((5, 3))))
    noise = torch.tensor(rng.standard_normal((5, 3, 2)))
    learned = torch.tensor(state.learned, requires_grad=True)
    logits = torch.log_softmax(learned[:, 0], 0) + torch.tensor(gumbel)
    gamma = torch.softmax(logits / temperature, 1)
    kernels = learned[:, 1:3] + learned[:, 3:].exp() * noise
    theta = (gamma[..., None] * kernels).sum(1)
    (theta * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(samples.theta, theta.detach().numpy())
    np.testing.assert_allclose(samples.gradient(weights), learned.grad.numpy(), atol=1e-12)


def test_before_data_the_kernels_are_as_wide_as_the_prior():
    mixture = GumbelMixture(kernels=2000).mixture(Bowl(), GumbelMixture(kernels=2000).init(Bowl()))
    np.testing.assert_allclose(mixture.weights, 1 / 2000)
    np.testing.assert_allclose(mixture.means.std(1), [0.5, 1.0], rtol=0.06)
    np.testing.assert_allclose(mixture.parameter_covariances()[7], np.diag([0.25, 1.0]))


def test_means_find_the_target_and_widths_shrink_as_long_as_training_goes_on():
    problem = Bowl()
    short, _ = trained(GumbelMixture(), problem, [FRAME] * 10)
    long, report = trained(GumbelMixture(epochs=60), problem, [FRAME] * 10)
    assert report.events == (Happened.FITTED,) and report.stage == 'batch'
    np.testing.assert_allclose(long.mu, np.tile(Bowl.target.T, (3, 1)), atol=0.15)
    first = GumbelMixture().init(problem)
    assert (short.sigma < 0.5 * first.sigma).all()
    assert (long.sigma < 0.5 * short.sigma).all()
    assert long.epochs == 600 and len(long.frames) == 10


def test_states_are_values_and_a_seed_gives_the_same_bits():
    problem, estimator = Bowl(), GumbelMixture(seed=4)
    state = estimator.init(problem)
    kept = state.learned.copy()
    first, _ = estimator.update(problem, state, FRAME)
    again, _ = estimator.update(problem, state, FRAME)
    np.testing.assert_array_equal(state.learned, kept)
    np.testing.assert_array_equal(first.learned, again.learned)
    other, _ = replace(estimator, seed=5).update(problem, state, FRAME)
    assert np.abs(other.learned - first.learned).max() > 1e-3


def test_draws_without_a_trajectory_are_left_out_and_none_at_all_is_refused():
    some, report = trained(GumbelMixture(), Bowl(edge=0.3), [FRAME] * 3)
    assert np.isfinite(some.learned).all() and report.events == (Happened.FITTED,)
    none, report = trained(GumbelMixture(), Bowl(edge=-np.inf), [FRAME] * 3)
    assert report.events == (Happened.UPDATE_REFUSED,)
    np.testing.assert_array_equal(none.learned, GumbelMixture().init(Bowl()).learned)


def test_the_loss_of_a_robot_has_the_gradient_of_finite_differences():
    problem, (truth, frames) = p1.make_problem(), p1.draw(0, count=4)
    rng = np.random.default_rng(0)
    parameters = problem.prior.mean[:, None] + 0.1 * rng.standard_normal((3, 2))
    points = np.repeat(truth.states[0][:, None], 2, 1)
    for delta in (1e6, 2.0):

        def loss(x, delta=delta):
            return problem.huber_loss(points, x, frames[1:], delta)

        losses, gradient = loss(parameters)
        for k, move in enumerate(1e-6 * np.eye(3)[:, :, None]):
            change = (loss(parameters + move)[0] - loss(parameters - move)[0]) / 2e-6
            np.testing.assert_allclose(gradient[k], change, rtol=1e-4)
    residuals = problem.residuals(
        problem.trajectory(points, parameters, frames[1:]), parameters, frames[1:]
    )
    squares = problem.huber_loss(points, parameters, frames[1:], 1e6)[0]
    np.testing.assert_allclose(squares, 0.5 * (residuals**2).sum(1))
    size = np.abs(residuals)
    expected = np.where(size < 2, 0.5 * size**2, 2 * (size - 1)).sum(1)
    np.testing.assert_allclose(losses, expected)


def test_a_missing_part_of_a_sample_adds_nothing_to_the_loss():
    problem, (truth, frames) = p1.make_problem(), p1.draw(0, count=2)
    empty = [replace(s, values=np.full(7, np.nan)) for s in frames[1].samples]
    blind = replace(frames[1], samples=tuple(empty))
    points, parameters = truth.states[:1].T, problem.prior.mean[:, None]
    losses, gradient = problem.huber_loss(points, parameters, (blind,), 1.0)
    assert losses == 0 and (gradient == 0).all()


@pytest.fixture(scope='module')
def chains():
    """Return relative errors and standard deviations [m] of three chains at 120 epochs."""
    problem, errors, deviations = p1.make_problem(), [], []
    for seed in range(3):
        truth, frames = p1.draw(seed, count=10)
        estimator = GumbelMixture(point=truth.states[0], seed=seed)
        state, _ = trained(estimator, problem, frames[1:])
        assert state.epochs == 120
        mean, covariance = estimator.mixture(problem, state).moments()
        lengths = np.array([truth.values[name] for name in p1.NAMES])
        errors.append(np.exp(mean) / lengths - 1)
        deviations.append(lengths * np.sqrt(np.diag(covariance)))
    return np.array(errors), np.array(deviations)


def test_lengths_are_found_as_well_as_in_the_paper(chains):
    errors, _ = chains
    assert np.median(np.abs(errors)) < 0.03


def test_the_standard_deviation_is_many_times_what_the_data_allow(chains):
    # The Cramer-Rao bound is 0.4 mm.
    _, deviations = chains
    assert 0.010 < np.median(deviations) < 0.030
