"""Levenberg (1944) and Marquardt (1963): Gauss-Newton steps, damped start by start."""

from dataclasses import dataclass

import numpy as np

from ..damped_gauss_newton import Descents, Expansion, Rules
from .base import AbstractOptimizer, finite, half_squares, Result

# A gain below this is none: the sum of squares is zero but for rounding.
_NOTHING = 1e-24
# Least curvature in any direction, relative to the largest, and of a constant.
_FLOOR, _FLAT = 1e-12, 1e-200


@dataclass(frozen=True)
class LevenbergMarquardt(AbstractOptimizer):
    """
    For least squares with exact Jacobians.

    iterations: of each start at most; tolerance: a start has converged when two steps on end have
    gained, or predicted where they failed, less than this part of the value; longest_step: of any
    coordinate in one step, which is a factor of 4.5 where coordinates are logarithms; damping: the
    first one. With longer or less damped first steps some of the far starts of a pendulum do not
    converge (`make evaluate`).
    """

    iterations: int = 50
    tolerance: float = 1e-6
    longest_step: float = 1.5
    damping: float = 3.0

    name = 'levenberg_marquardt'

    def minimize(self, objective, starts, watch=None):
        """Return the `Result` of starts [p, B]."""
        descents = self.descents(objective, starts)
        descents.run(watch)
        return Result(
            descents.points,
            descents.state.costs,
            descents.evaluations,
            descents.iterations,
            descents.converged,
        )

    def descents(self, objective, starts):
        """Return the `Descents` from starts [p, B]."""
        rules = Rules(self.iterations, _NOTHING, self.tolerance, self.damping)
        return Descents(_SumOfSquares(objective, self.longest_step), starts, rules)


class _SumOfSquares:
    """A `LeastSquares` objective as `Descents` take one."""

    def __init__(self, objective, longest_step):
        """Take the objective; longest_step: of any coordinate."""
        self._objective, self._longest_step = objective, longest_step

    def costs(self, points):
        """Return half the sums of squares [B], infinite where there is no number."""
        with np.errstate(all='ignore'):
            return finite(self._objective.value(points))

    def expand(self, points, costs=None):
        """Return the `Expansion` at points [p, B]."""
        with np.errstate(all='ignore'):
            residuals, slopes = self._objective.jacobian(points)
            turned = np.swapaxes(slopes, -1, -2)
            normal, gradient = turned @ slopes, (turned @ residuals[..., None])[..., 0]
            diagonal = np.einsum('kii->ki', normal)
            # No residual may depend on a direction, and equations have to be solved all the same.
            least = _FLOOR * diagonal.max(-1, keepdims=True) + _FLAT
            np.einsum('kii->ki', normal)[:] = np.maximum(diagonal, least)
            costs = half_squares(residuals)
            found = Expansion(costs, gradient, normal, normal).with_finite_slopes()
        return found

    def shortened(self, step):
        """Return a step [p, B] cut to the longest of any coordinate."""
        length = np.abs(step).max(0)
        return step * np.minimum(1.0, self._longest_step / np.maximum(length, 1e-300))
