"""Adam, the first-order method of Kingma and Ba (2015)."""

from dataclasses import dataclass

import numpy as np

from .base import AbstractOptimizer, Result

# Decay rates and the regularization of Kingma and Ba (2015).
_MEAN_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Moments:
    """Running means of gradients and of their squares, in their shape, and their number."""

    mean: np.ndarray
    square: np.ndarray
    count: np.ndarray

    @staticmethod
    def like(values):
        """Return the moments before any gradient; the last dimension is counted one by one."""
        return Moments(np.zeros_like(values), np.zeros_like(values), np.zeros(values.shape[-1]))

    def step(self, gradient):
        """Return (moments, direction): minus the direction times a rate is the step."""
        mean = _MEAN_DECAY * self.mean + (1 - _MEAN_DECAY) * gradient
        square = _SQUARE_DECAY * self.square + (1 - _SQUARE_DECAY) * gradient**2
        count = self.count + 1
        unbiased = mean / (1 - _MEAN_DECAY**count)
        spread = np.sqrt(square / (1 - _SQUARE_DECAY**count))
        return Moments(mean, square, count), unbiased / (spread + _TINY)


@dataclass(frozen=True)
class Adam(AbstractOptimizer):
    """
    Gradient descent with steps of about the same length in every coordinate.

    rate: length of a step; iterations: of each start; patience, tolerance: a start stops when
    so many iterations have not lowered its best value by this share. A start at a point without a
    finite value returns to its best point with half the rate.
    """

    rate: float = 0.1
    iterations: int = 400
    patience: int = 60
    tolerance: float = 1e-6

    name = 'adam'

    def minimize(self, objective, starts, watch=None):
        """Return the `Result` of starts [p, B]."""
        points = np.array(starts, dtype=float)
        count = points.shape[1]
        best, values = points.copy(), np.full(count, np.inf)
        moments, rates = Moments.like(points), np.full(count, self.rate)
        evaluations, idle = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        active = np.ones(count, dtype=bool)
        for _ in range(self.iterations):
            found, gradient = np.full(count, np.inf), np.zeros_like(points)
            with np.errstate(all='ignore'):
                found[active], gradient[:, active] = objective.gradient(points[:, active])
            evaluations += active
            is_finite = np.isfinite(found) & np.isfinite(gradient).all(0)
            found = np.where(is_finite, found, np.inf)
            gained = found < values * (1 - self.tolerance * np.sign(values))
            lower = found < values
            best, values = np.where(lower, points, best), np.where(lower, found, values)
            idle = np.where(gained, 0, idle + 1)
            # A start without a finite value has no point to return to.
            active &= (idle < self.patience) & np.isfinite(values)
            moments, direction = moments.step(np.where(is_finite, gradient, 0.0))
            rates = np.where(is_finite, rates, 0.5 * rates)
            points = np.where(is_finite, points - rates * direction, best)
            if watch is not None:
                watch(best, values)
            if not active.any():
                break
        return Result(best, values, evaluations, evaluations, ~active & np.isfinite(values))
