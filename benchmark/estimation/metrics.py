"""What is measured of a posterior whose truth is known."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from sim2real_estimator.estimation.gaussian import measure, predict

_STEP = 1e-6
_MATCHING_STEPS = 50
# Beyond this many standard deviations of the bound a run has gone astray: such runs count in
# the row of those that arrive, not in the efficiency of the others.
ASTRAY = 30.0


@dataclass(frozen=True)
class Quantities:
    """
    What is judged, as a function of the estimator's coordinates [p, B]: values [m, B].

    truth [m].
    """

    function: object
    truth: np.ndarray

    def slope(self, point):
        """Return the derivative [m, p] at a point [p], by central differences."""
        steps = _STEP * np.eye(len(point))
        ends = [self.function(point[:, None] + sign * steps) for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * _STEP)


def judge(mixture, quantities):
    """
    Return what can be said of a posterior `Mixture`, as numbers that JSON can hold.

    error [m]: of the mean; sd [m]; rank [m]: the posterior's probability below the truth, which
    is uniform where it is calibrated; nees: squared error in the posterior's metric, per
    quantity.
    """
    weights = mixture.weights / mixture.weights.sum()
    covariances, means = mixture.parameter_covariances(), []
    spreads = []
    for k in range(mixture.size):
        slope = quantities.slope(mixture.means[:, k])
        means.append(quantities.function(mixture.means[:, k : k + 1])[:, 0])
        spreads.append(slope @ covariances[k] @ slope.T)
    means, spreads = np.array(means), np.array(spreads)
    mean = weights @ means
    away = means - mean
    covariance = np.einsum('k,kij->ij', weights, spreads) + (away.T * weights) @ away
    error = mean - quantities.truth
    single = np.sqrt(np.einsum('kii->ki', spreads))
    rank = weights @ norm.cdf((quantities.truth - means) / single)
    return {
        'error': error.tolist(),
        'sd': np.sqrt(np.diag(covariance)).tolist(),
        'rank': rank.tolist(),
        'nees': float(error @ np.linalg.solve(covariance, error) / len(error)),
    }


def matching_point(quantities, start):
    """Return the coordinates [p] at which as many quantities have their true values."""
    point = np.array(start, dtype=float)
    for _ in range(_MATCHING_STEPS):
        miss = quantities.function(point[:, None])[:, 0] - quantities.truth
        if np.abs(miss).max() < 1e-12:
            break
        point = point - np.linalg.solve(quantities.slope(point), miss)
    return point


def bounds(problem, states, point, frames, marks):
    """
    Return the least covariances [p, p] (Cramer-Rao) that data up to some frames allow.

    states [H + 1, nx]: the true ones at the ends of the frames; point [p]: the true parameters;
    marks: indices of frames. The prior and the estimator's knowledge of the first state count
    as data.
    """
    size = problem.tangent_size
    root = np.zeros((1, size + len(point), size + len(point)))
    root[0, :size, :size] = problem.first_state(frames)[1]
    root[0, size:, size:] = problem.prior.root
    begins = np.concatenate([states[:1], states[:-1]]).T
    found = {}
    nothing = np.zeros(size)
    for k, frame in enumerate(frames[: max(marks) + 1]):
        at = problem.linearize(begins[:, k : k + 1], point[:, None], (frame,))
        update = measure(root, np.zeros_like(at.residual), at.slope)
        root = predict(update.root, at.transition, nothing)
        if k in marks:
            block = root[0, size:]
            found[k] = block @ block.T
    return found


def efficiency_ratios(error, bound):
    """Return errors [m] in standard deviations of the bound [m, m]."""
    return (np.asarray(error) / np.sqrt(np.diag(bound))).tolist()


def efficiency(ratios):
    """Return the efficiency of errors that are given in deviations of the bound."""
    ratios = np.asarray(ratios)
    kept = ratios[(np.abs(ratios) < ASTRAY).all(-1)]
    return float(1 / np.sqrt((kept**2).mean())) if kept.size else 0.0


def coverage(ranks, level):
    """Return how many of the ranks lie in the middle interval of some probability."""
    return float((np.abs(np.asarray(ranks) - 0.5) < level / 2).mean())


def bootstrap(records, statistic, generator, draws=2000, level=0.99):
    """
    Return the interval of a statistic of problems, by drawing whole problems again.

    records: one entry per problem; statistic: function of an array of indices -> float.
    """
    count = len(records)
    values = [statistic(generator.integers(0, count, count)) for _ in range(draws)]
    edge = (1 - level) / 2
    return tuple(float(x) for x in np.quantile(values, (edge, 1 - edge)))
