"""The exact posterior of P3 with a known first state, on a grid."""

from dataclasses import dataclass

import numpy as np
from problems import p3
import torch

# The grid covers so many standard deviations about each mode, at so many points along the
# logarithm of the distance c and of the ratio b / c, which is the same for both modes.
_REACH = 7.0
_POINTS = (141, 61)
# Near the fold, where the modes merge, standard deviations say little: the grid goes no further.
_FARTHEST = 0.5


@dataclass(frozen=True)
class Grid:
    """log c and log b of the points [2, N] and the exact probability [N] of their cells."""

    points: np.ndarray
    probability: np.ndarray
    cell: np.ndarray

    def side_weights(self):
        """Return the probability of the smaller and of the larger distance c."""
        small = self.points[0] < _fold()
        return np.array([self.probability[small].sum(), self.probability[~small].sum()])

    def divergence(self, mixture):
        """Return KL(posterior || mixture) in nats."""
        held = self.probability > 0
        exact = np.log(self.probability[held] / self.cell[held])
        return float(self.probability[held] @ (exact - log_density(mixture, self.points[:, held])))


def exact_posterior(truth, frames, deviations):
    """
    Return the `Grid` of a problem.

    deviations (sd of log c, sd of log(b / c)): about the size of a mode.
    """
    logs = p3.logs_of(truth.values)
    middle, ratio = logs[0], logs[1] - logs[0]
    reach = min(_REACH * deviations[0], _FARTHEST)
    distances, widths = _union((middle, 2 * _fold() - middle), reach)
    ratios = ratio + _REACH * deviations[1] * np.linspace(-1, 1, _POINTS[1])
    u, w = (a.ravel() for a in np.meshgrid(distances, ratios, indexing='ij'))
    points = np.array([u, u + w])
    log_posterior = _log_posterior(points, truth, frames)
    cell = np.repeat(widths, len(ratios)) * (ratios[1] - ratios[0])
    probability = np.exp(log_posterior - log_posterior.max()) * cell
    return Grid(points, probability / probability.sum(), cell)


def log_density(mixture, points):
    """Return the log density [N] of a mixture's parameters at points [p, N]."""
    logs = []
    covariances = mixture.parameter_covariances()
    for k in range(mixture.size):
        factor = np.linalg.cholesky(covariances[k])
        whitened = np.linalg.solve(factor, points - mixture.means[:, k : k + 1])
        constant = np.log(np.diag(factor)).sum() + 0.5 * len(points) * np.log(2 * np.pi)
        logs.append(mixture.log_weights[k] - 0.5 * (whitened**2).sum(0) - constant)
    return np.logaddexp.reduce(logs)


def _union(centres, reach):
    """Return points of one or two intervals, and the width that belongs to each."""
    low, high = min(centres), max(centres)
    parts = [(low - reach, low + reach), (high - reach, high + reach)]
    if parts[0][1] > parts[1][0]:
        parts = [(low - reach, high + reach)]
    count = 2 * _POINTS[0] // len(parts)
    points = [np.linspace(*part, count) for part in parts]
    widths = [np.full(count, (end - begin) / (count - 1)) for begin, end in parts]
    return np.concatenate(points), np.concatenate(widths)


def _log_posterior(points, truth, frames):
    """Return the log posterior [N] less a constant, the first state taken as the true one."""
    prior = p3.make_problem().prior
    rows = torch.from_numpy(np.array([-np.exp(points[0]), np.exp(points[1])]))
    with torch.no_grad():
        states = (
            p3.simulator()
            .rollout(
                torch.from_numpy(truth.states[0])[:, None]
                .expand(-1, points.shape[1])
                .contiguous(),
                [1 / p3.RATE] * (len(frames) - 1),
                rows,
            )
            .states.numpy()
        )
    seen = np.array(
        [
            sample.values[0]
            for frame in frames
            for sample in frame.samples
            if sample.sensor == 'encoder'
        ]
    )
    misfit = ((states[:, 0] - seen[:, None]) / p3.NOISE) ** 2
    away = np.linalg.solve(prior.root, points - prior.mean[:, None])
    return -0.5 * (misfit.sum(0) + (away**2).sum(0))


def _fold():
    """Return the log c at which the modes meet."""
    return 0.5 * np.log(p3.INERTIA / p3.MASS)
