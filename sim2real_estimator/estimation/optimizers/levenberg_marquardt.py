"""Levenberg (1944) and Marquardt (1963): Gauss-Newton steps, damped start by start."""

from dataclasses import dataclass

import numpy as np

from .base import AbstractOptimizer, finite, half_squares, Result

# Damping: the factors after a good and a bad step, and its bounds.
_DOWN, _UP, _SMALLEST, _LARGEST = 0.2, 5.0, 1e-10, 1e8
# A value below which a descent has converged.
_NOTHING = 1e-24
# Least scale of the damping in any direction, relative to the largest curvature.
_FLOOR = 1e-12


@dataclass(frozen=True)
class LevenbergMarquardt(AbstractOptimizer):
    """
    For least squares with exact Jacobians.

    iterations: of each start at most; tolerance: relative gain of a successful step below which a
    start has converged; longest_step: of any coordinate in one step, which is a factor of 4.5
    where coordinates are logarithms; damping: the first one. With longer or less damped first
    steps some of the far starts of a pendulum do not converge (`make evaluate`).
    """

    iterations: int = 50
    tolerance: float = 1e-6
    longest_step: float = 1.5
    damping: float = 3.0

    name = 'levenberg_marquardt'

    def minimize(self, objective, starts, watch=None):
        """Return the `Result` of starts [p, B]."""
        descents = Descents(self, objective, starts)
        while descents.active.any():
            descents.step()
            if watch is not None:
                watch(descents.points, descents.values)
        return Result(
            descents.points,
            descents.values,
            descents.evaluations,
            descents.iterations,
            descents.converged,
        )


class Descents:
    """
    Descents side by side, each of which can be restarted.

    points [p, B], values [B]; active, converged [B]; iterations [B]: of the present descent;
    evaluations [B]: in total. Only active columns are evaluated.
    """

    def __init__(self, settings, objective, starts):
        """Begin at starts [p, B] with the settings of a `LevenbergMarquardt`."""
        self._settings, self._objective = settings, objective
        size, count = starts.shape
        self.points = np.array(starts, dtype=float)
        self.values = np.full(count, np.inf)
        self.evaluations = np.zeros(count, dtype=int)
        self.iterations = np.zeros(count, dtype=int)
        self.active = np.ones(count, dtype=bool)
        self.converged = np.zeros(count, dtype=bool)
        self._damping = np.full(count, settings.damping)
        self._gradient = np.zeros((count, size))
        self._normal = np.zeros((count, size, size))
        self._linearize(np.arange(count))

    def restart(self, columns, starts):
        """Restart some columns at starts [p, columns]."""
        self.points[:, columns] = starts
        self.iterations[columns] = 0
        self.active[columns], self.converged[columns] = True, False
        self._damping[columns] = self._settings.damping
        self._linearize(columns)

    def step(self):
        """Try one step in every active column."""
        columns = np.flatnonzero(self.active)
        trials = self.points[:, columns] + self._steps(columns)
        values = finite(self._objective.value(trials))
        self.evaluations[columns] += 1
        self.iterations[columns] += 1
        better = values < self.values[columns]
        damping = self._damping[columns] * np.where(better, _DOWN, _UP)
        self._damping[columns] = np.maximum(damping, _SMALLEST)
        gains = self.values[columns] - values
        resting = better & (gains <= self._settings.tolerance * self.values[columns])
        resting |= (damping > _LARGEST) | (np.where(better, values, 1) < _NOTHING)
        moved = columns[better]
        self.points[:, moved], self.values[moved] = trials[:, better], values[better]
        self.converged[columns] = resting
        self.active[columns] = ~resting & (self.iterations[columns] < self._settings.iterations)
        # Columns that have stopped need no derivatives.
        self._linearize(moved[self.active[moved]])

    def _steps(self, columns):
        """Return the damped steps [p, columns]."""
        matrix = self._normal[columns].copy()
        size = matrix.shape[-1]
        diagonal = np.einsum('kii->ki', matrix)
        scale = np.maximum(diagonal, _FLOOR * diagonal.max(-1, keepdims=True) + 1e-200)
        matrix[:, range(size), range(size)] += self._damping[columns, None] * scale
        steps = -np.linalg.solve(matrix, self._gradient[columns, :, None])[..., 0].T
        length = np.abs(steps).max(0)
        return steps * np.minimum(1.0, self._settings.longest_step / np.maximum(length, 1e-300))

    def _linearize(self, columns):
        """Evaluate derivatives at the points of some columns; stop those that are not finite."""
        if not len(columns):
            return
        with np.errstate(all='ignore'):
            residuals, slopes = self._objective.jacobian(self.points[:, columns])
            turned = np.swapaxes(slopes, -1, -2)
            normal, gradient = turned @ slopes, (turned @ residuals[..., None])[..., 0]
        self.evaluations[columns] += 1
        values = half_squares(residuals)
        is_finite = np.isfinite(values) & np.isfinite(normal).all((1, 2))
        is_finite &= np.isfinite(gradient).all(1)
        self.values[columns] = values
        kept = columns[is_finite]
        self._normal[kept], self._gradient[kept] = normal[is_finite], gradient[is_finite]
        self.active[columns[~is_finite]] = False
