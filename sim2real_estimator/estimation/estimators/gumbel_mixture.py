"""
The estimator of `Real2Sim Transfer using Differentiable Physics`, section IV: NOT calibrated.

A mixture of three Gaussian kernels over the parameters. Every epoch, samples are drawn from it in
a way that gradients pass (a relaxed choice of the kernel by Gumbel-Softmax), the Huber loss of
their trajectories against all samples so far is differentiated, and Adam moves weights, means
and standard deviations.

The means find the parameters. The standard deviations are no posterior: nothing in the loss
rewards width, so they shrink as long as training goes on, set by rate times epochs and hardly by
the noise. A relaxed sample is a blend of kernels and not a draw of the mixture, so two modes are
pulled into one. Measured on three rods, ten samples at 25 Hz, 0.1 deg, first state given exactly
(where the Cramer-Rao bound is 0.4 mm; feasibility study, rate 0.02 and 8 draws):

    epochs  error of the mean  sd of a length  coverage of 50 % / 90 % intervals
       120       1.9 %             18.5 mm         .68 / .91
       300       0.59 %             7.3 mm         .79 / .99
      1000       0.27 %             2.5 mm         .61 / .95
      3000       0.15 %             0.8 mm         .37 / .76

That 90 % intervals are right at 120 epochs is an accident of when training was stopped. Noise
times 50 widens the kernels by 1.8. Where both modes of a posterior mattered, 0 of 30 were kept.
This implementation on 100 chains of other rods (`make evaluate ARGS='--only mixture'`):

       120       0.83 %            17.1 mm         .96 / 1.00
       300       0.30 %             6.3 mm         .94 / 1.00

`sim2real-estimator reproduce mixture` shows it; `gaussian_sum` is the estimator to use.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...records import UpdateReport
from ...reported_events import Happened
from ..gaussian import log_normalized
from ..mixture import Mixture
from ..optimizers import Moments
from ..protocol import Problem
from .base import AbstractEstimator


class TrajectoryProblem(Problem, Protocol):
    """A `Problem` that also has the loss of whole trajectories, and its gradient."""

    def huber_loss(self, points, parameters, frames, delta):
        """
        Return (losses [B], gradients [p, B]) of trajectories from points [nx, B].

        parameters [p, B]; Huber's function of every whitened residual, linear beyond `delta`
        standard deviations, summed over all samples of consecutive frames.
        """


@dataclass(frozen=True)
class GumbelState:
    """
    The kernels learned so far, and the frames.

    learned [K, 1 + 2 p]: of every kernel the logarithm of phi up to a constant, mu, and the
    logarithm of sigma; moments: of Adam; loss: of the last epoch, mean over its draws; ends
    [nx, K]: states of the kernels' means after the last frame.
    """

    learned: np.ndarray
    moments: Moments
    frames: tuple = ()
    epochs: int = 0
    loss: float = np.nan
    point: np.ndarray | None = None
    ends: np.ndarray | None = None

    @property
    def log_phi(self):
        """The logarithms of the mixing coefficients, [K]."""
        return log_normalized(self.learned[:, 0])

    @property
    def mu(self):
        """The means of the kernels, [K, p]."""
        return self.learned[:, 1 : 1 + self.learned.shape[1] // 2]

    @property
    def sigma(self):
        """The standard deviations of the kernels, [K, p]."""
        return np.exp(self.learned[:, 1 + self.learned.shape[1] // 2 :])


@dataclass(frozen=True)
class GumbelMixture(AbstractEstimator):
    """
    See the module; NOT calibrated.

    kernels: of the mixture; temperature: lambda of Gumbel-Softmax; draws: samples of an epoch;
    rate: of Adam; epochs: for every new frame; delta: of Huber's function in standard deviations
    (the paper gives none; 1 on unit heading vectors, as libraries have it, is some 500 standard
    deviations of 0.1 deg, and never left the quadratic zone); point [nx]: the first state, which
    the paper takes as given, None: guessed from the first frame, with an error that
    stays in the result.
    """

    kernels: int = 3
    temperature: float = 2 / 3
    draws: int = 8
    rate: float = 0.02
    epochs: int = 12
    delta: float = 500.0
    point: np.ndarray | None = None
    seed: int = 0

    name = 'gumbel_mixture'

    def init(self, problem):
        """Return the state before any data: kernels as wide as the prior, about draws from it."""
        prior = problem.prior
        size = len(prior.mean)
        noise = np.random.default_rng([self.seed, 0]).standard_normal((self.kernels, size))
        sd = np.sqrt(np.diag(prior.covariance))
        learned = np.zeros((self.kernels, 1 + 2 * size))
        learned[:, 1 : 1 + size] = prior.mean + noise @ prior.root.T
        learned[:, 1 + size :] = np.log(sd)
        return GumbelState(learned, Moments.like(learned[..., None]), point=self.point)

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after some epochs with one more frame."""
        before, state = state.loss, self.observe(problem, state, frame)
        for _ in range(self.epochs):
            state = self.epoch(problem, state)
        is_refused = not np.isfinite(state.loss)
        state = self._with_ends(problem, replace(state, loss=before) if is_refused else state)
        event = Happened.UPDATE_REFUSED if is_refused else Happened.FITTED
        return state, UpdateReport('batch', events=(event,))

    def observe(self, problem, state, frame):
        """Return the state with one more frame."""
        frames = (*state.frames, frame)
        point = problem.first_state(frames)[0] if state.point is None else state.point
        return replace(state, frames=frames, point=point)

    def epoch(self, problem, state):
        """Return the state after one step of Adam on everything seen so far."""
        generator = np.random.default_rng([self.seed, 1 + state.epochs])
        samples = _RelaxedSamples(state, self.temperature, self.draws, generator)
        points = np.repeat(state.point[:, None], self.draws, 1)
        with np.errstate(all='ignore'):
            losses, gradients = problem.huber_loss(
                points, samples.theta.T, state.frames, self.delta
            )
        is_finite = np.isfinite(losses) & np.isfinite(gradients).all(0)
        state = replace(state, epochs=state.epochs + 1)
        if not is_finite.any():
            return replace(state, loss=np.nan)
        gradient = samples.gradient(np.where(is_finite, gradients, 0.0).T / is_finite.sum())
        moments, direction = state.moments.step(gradient[..., None])
        return replace(
            state,
            learned=state.learned - self.rate * direction[..., 0],
            moments=moments,
            loss=float(losses[is_finite].mean()),
        )

    def interrupted(self, state):
        """Return the state without frames; the kernels stay."""
        return replace(state, frames=(), point=self.point, ends=None)

    def kept_frames(self, state):
        """Return all frames."""
        return state.frames

    def with_frames(self, state, frames):
        """Return the state with other frames; the kernels stay."""
        return replace(state, frames=frames)

    def mixture(self, problem, state):
        """Return the kernels; the state follows from their means, without uncertainty."""
        size, count = problem.tangent_size, state.mu.shape[1]
        roots = np.zeros((self.kernels, size + count, size + count))
        places = range(size, size + count)
        roots[:, places, places] = state.sigma
        ends = state.ends
        if ends is None:
            ends = np.repeat(problem.neutral[:, None], self.kernels, 1)
        return Mixture(state.log_phi, ends, state.mu.T, roots)

    def _with_ends(self, problem, state):
        """Return the state with the final states of the means' trajectories."""
        points = np.repeat(state.point[:, None], self.kernels, 1)
        return replace(state, ends=problem.trajectory(points, state.mu.T, state.frames)[-1])


class _RelaxedSamples:
    """theta_m = sum_k gamma_mk (mu_k + sigma_k eps_mk), and its reverse derivative."""

    def __init__(self, state, temperature, draws, generator):
        self._temperature, self._state = temperature, state
        uniform = generator.random((draws, len(state.mu)))
        # The clip keeps a zero, which the generator may give, from becoming infinite.
        gumbel = -np.log(-np.log(np.clip(uniform, 1e-300, None)))
        logits = (state.log_phi + gumbel) / temperature
        gamma = np.exp(logits - logits.max(1, keepdims=True))
        self.gamma = gamma / gamma.sum(1, keepdims=True)
        self._noise = state.sigma * generator.standard_normal((draws, *state.mu.shape))
        self._kernels = state.mu + self._noise
        self.theta = np.einsum('mk,mkp->mp', self.gamma, self._kernels)

    def gradient(self, by_theta):
        """Return the gradient by `GumbelState.learned` of one by theta [draws, p]."""
        by_gamma = np.einsum('mp,mkp->mk', by_theta, self._kernels)
        away = by_gamma - (self.gamma * by_gamma).sum(1, keepdims=True)
        # The constant that turns phi into probabilities drops out: each row sums to zero.
        by_log_phi = (self.gamma * away).sum(0) / self._temperature
        weighted = self.gamma[..., None] * by_theta[:, None]
        by_log_sigma = (weighted * self._noise).sum(0)
        return np.concatenate([by_log_phi[:, None], weighted.sum(0), by_log_sigma], 1)
