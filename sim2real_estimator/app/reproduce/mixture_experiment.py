"""
The second experiment of `Real2Sim Transfer using Differentiable Physics` (section IV, Fig. 2).

The link lengths of a three-link pendulum are found while samples of its motion arrive. The
paper's mixture of Gaussian kernels, `gumbel_mixture`, is given the first state and sees where the
links point. Beside it, on the same samples, `gaussian_sum` estimates the state as well.
"""

from dataclasses import dataclass
from functools import cache
import math
import time

import numpy as np
import torch

from ...backend.simulator import Simulator
from ...estimation.estimators import ESTIMATORS
from ...estimation.mixture import Mixture
from ...model.parameters import Parameters
from ...parameters.parametrization import DirectParametrization, Prior
from ...prediction.robot_problem import ProblemOptions, RobotProblem
from ...records import Frame, Sample
from ...sensors import SENSORS
from ...spatial.quaternion import Quaternion
from ...spatial.vector import Vec3
from .heading import Heading
from .pendulums import rod_chain, rod_names, tilted_quaternion

RATE = 25.0  # [Hz]
SAMPLES = 10
NOISE = math.radians(0.1)
LENGTH, SPREAD = 0.4, 0.3  # [m], and the prior's standard deviation of the logarithm
RODS = ('rod0', 'rod1', 'rod2')
# Samples arrive over the first epochs of the paper's training; it reports about 120 in all.
EPOCHS_PER_SAMPLE, PAPER_EPOCHS = 11, 120
DRAWS = 8
TILTS, TURN = (0.3, 1.2), 2.0  # [rad], [rad/s]
# Steps of 10 ms are too coarse for a chain that whips round.
MODEL_STEP, TRUTH_STEP = 0.005, 0.001
# A fit for every sample, as soon as there are more numbers than unknowns.
HORIZONS = tuple(range(3, 100))


@dataclass(frozen=True)
class Stream:
    """A random pendulum: lengths [3] [m], first state [nx], and frames with a sample per rod."""

    lengths: np.ndarray
    state: np.ndarray
    frames: tuple


@dataclass(frozen=True)
class Moment:
    """
    What an estimator believes at one moment.

    seen: samples so far; epoch: of training; seconds: of computing so far; loss: Huber's, of
    draws from the mixture given the true first state; weights [K], means [3, K] and sd [3, K]:
    of the kernels over the logarithms of the lengths.
    """

    seen: int
    epoch: int
    seconds: float
    loss: float
    weights: np.ndarray
    means: np.ndarray
    sd: np.ndarray

    def lengths(self):
        """Return the estimate [3] [m] and its standard deviation [3] [m]."""
        mean = self.means @ self.weights
        variance = (self.sd**2 + (self.means - mean[:, None]) ** 2) @ self.weights
        return np.exp(mean), np.exp(mean) * np.sqrt(variance)

    def levels(self, lengths):
        """Return the probability [3] that the mixture gives to less than the true lengths."""
        away = (np.log(lengths)[:, None] - self.means) / self.sd
        below = torch.special.ndtr(torch.from_numpy(away)).numpy()
        return below @ self.weights


@dataclass(frozen=True)
class Run:
    """One estimator on one stream, moment by moment."""

    stream: Stream
    moments: tuple

    def at_epoch(self, epoch):
        """Return the run up to an epoch."""
        return Run(self.stream, tuple(m for m in self.moments if m.epoch <= epoch))

    def errors(self):
        """Return the relative errors of the estimates, [moments, 3]."""
        return np.array([m.lengths()[0] / self.stream.lengths - 1 for m in self.moments])

    def arrival(self, error=0.01):
        """Return the `Moment` from which on all lengths stay within an error, or None."""
        within = (np.abs(self.errors()) <= error).all(1)
        outside = np.flatnonzero(~within)
        first = outside[-1] + 1 if len(outside) else 0
        return self.moments[first] if first < len(self.moments) else None


@cache
def _parameters():
    return Parameters(rod_chain((LENGTH,) * len(RODS)))


@cache
def _names():
    return tuple(rod_names(_parameters().model, 'length'))


@cache
def _problem(kind):
    """Return the problem as one of the two estimators sees it."""
    model = _parameters().model
    if kind == 'headings':
        sensors = [Heading(rod, model, rod, NOISE) for rod in RODS]
    else:
        sensors = [SENSORS['link_pose'](rod, model, rod, orientation_sd=NOISE) for rod in RODS]
    parametrization = DirectParametrization(
        {name: Prior(LENGTH, SPREAD, True) for name in _names()}
    )
    return RobotProblem(
        _parameters(), sensors, parametrization, ProblemOptions(max_step=MODEL_STEP)
    )


@cache
def _truth():
    return Simulator(_parameters().model, _names(), max_step=TRUTH_STEP)


def make_stream(seed):
    """Return the `Stream` of a pendulum with lengths from the prior and a random first state."""
    rng = np.random.default_rng(seed)
    lengths = LENGTH * np.exp(SPREAD * rng.standard_normal(len(RODS)))
    turns, rates = [], []
    for _ in RODS:
        turns += tilted_quaternion(rng.uniform(*TILTS), rng.uniform(0, 2 * math.pi))
        rates += [*(TURN * rng.standard_normal(2)), 0.0]
    state = np.array(turns + rates)
    run = _truth().rollout(
        torch.from_numpy(state)[:, None], [1 / RATE] * SAMPLES, torch.from_numpy(lengths)[:, None]
    )
    stamps = [round(k * 1e9 / RATE) for k in range(SAMPLES + 1)]
    frames = [
        Frame(stamps[k], stamps[k + 1], tuple(_poses(rng, run.states[k + 1, :, 0], stamps[k + 1])))
        for k in range(SAMPLES)
    ]
    return Stream(lengths, state, tuple(frames))


def _poses(rng, state, stamp):
    """Yield a sample for every rod: its orientation in the world with noise, no position."""
    whole = Quaternion.identity()
    for k, rod in enumerate(RODS):
        whole = whole * Quaternion(*state[4 * k : 4 * k + 4].tolist())
        error = Quaternion.exp(Vec3(*(NOISE * rng.standard_normal(3))))
        yield Sample(rod, stamp, np.array([np.nan, np.nan, np.nan, *(whole * error)]))


def run_gumbel(stream, epochs, seed=0, on_moment=None):
    """Return the `Run` of the paper's estimator."""
    problem = _problem('headings')
    estimator = ESTIMATORS['gumbel_mixture'](draws=DRAWS, point=stream.state, seed=seed)
    state, seconds, moments = estimator.init(problem), 0.0, []
    for epoch in range(epochs):
        began = time.perf_counter()
        if epoch % EPOCHS_PER_SAMPLE == 0 and len(state.frames) < SAMPLES:
            state = estimator.observe(problem, state, stream.frames[len(state.frames)])
        before, state = state, estimator.epoch(problem, state)
        seconds += time.perf_counter() - began
        if not moments:
            moments.append(_moment(estimator.mixture(problem, before), 0, 0, 0.0, state.loss))
        seen = len(state.frames)
        mixture = estimator.mixture(problem, state)
        moments.append(_moment(mixture, seen, epoch + 1, seconds, state.loss))
        if on_moment is not None:
            on_moment(Run(stream, tuple(moments[-1:])))
    return Run(stream, tuple(moments))


def run_gaussian_sum(stream, seed=0, on_moment=None):
    """Return the `Run` of the calibrated estimator, which is not told the first state."""
    problem = _problem('poses')
    estimator = ESTIMATORS['gaussian_sum'](horizons=HORIZONS, seed=seed)
    state, seconds = estimator.init(problem), 0.0
    mixture = estimator.mixture(problem, state)
    moments = [_moment(mixture, 0, 0, 0.0, _loss(stream, mixture, 1))]
    for seen, frame in enumerate(stream.frames, 1):
        began = time.perf_counter()
        state, _ = estimator.update(problem, state, frame)
        seconds += time.perf_counter() - began
        mixture = estimator.mixture(problem, state)
        moments.append(_moment(mixture, seen, 0, seconds, _loss(stream, mixture, seen)))
        if on_moment is not None:
            on_moment(Run(stream, tuple(moments[-1:])))
    return Run(stream, tuple(moments))


def _loss(stream, mixture: Mixture, seen):
    """Return the loss that the paper's estimator would have with draws of another mixture."""
    problem, delta = _problem('headings'), ESTIMATORS['gumbel_mixture']().delta
    draws = mixture.draw(DRAWS, np.random.default_rng(seen))
    points = np.repeat(stream.state[:, None], DRAWS, 1)
    return float(problem.huber_loss(points, draws, stream.frames[:seen], delta)[0].mean())


def _moment(mixture, seen, epoch, seconds, loss):
    """Return the `Moment` of a mixture; the loss is taken per number seen."""
    covariances = mixture.parameter_covariances()
    sd = np.sqrt(np.einsum('kpp->pk', covariances))
    rows = 3 * len(RODS) * max(seen, 1)
    return Moment(seen, epoch, seconds, loss / rows, mixture.weights, mixture.means, sd)


def coverage(runs, levels=(0.5, 0.9)):
    """Return how many of the true lengths lie in the central intervals at the end of runs."""
    found = np.concatenate([run.moments[-1].levels(run.stream.lengths) for run in runs])
    return [float((np.abs(found - 0.5) <= level / 2).mean()) for level in levels]
