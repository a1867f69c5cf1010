"""Levenberg and Marquardt's damped Gauss-Newton steps, every start with a damping of its own."""

from dataclasses import dataclass

import numpy as np

from .base import AbstractOptimizer, finite, half_squares, Result

_DOWN, _UP, _SMALLEST, _LARGEST = 0.2, 5.0, 1e-10, 1e8
# Below this value nothing is left to be gained.
_NOTHING = 1e-24
# Share of the largest curvature that every direction is given at least when steps are damped.
_FLOOR = 1e-12


@dataclass(frozen=True)
class LevenbergMarquardt(AbstractOptimizer):
    """
    For least squares with exact Jacobians.

    iterations: of each start at most; tolerance: relative gain of a successful step below which
    a start rests; longest_step: no coordinate moves further in one step, which where coordinates
    are logarithms is a factor of 4.5; damping: the first one. Longer or hardly damped first
    steps cost some of the far starts of a pendulum (`make evaluate`).
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
    Descents side by side; each can be started again by itself.

    points [p, B], values [B]; active, converged [B]; iterations [B] of the present descent;
    evaluations [B] of all. Columns at rest cost nothing.
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
        """Let some columns begin again at starts [p, columns]."""
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
        # What has come to rest needs no derivatives any more.
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
        """Take value and derivatives at the points of some columns; the lost ones rest."""
        if not len(columns):
            return
        with np.errstate(all='ignore'):
            residuals, slopes = self._objective.jacobian(self.points[:, columns])
            turned = np.swapaxes(slopes, -1, -2)
            normal, gradient = turned @ slopes, (turned @ residuals[..., None])[..., 0]
        self.evaluations[columns] += 1
        values = half_squares(residuals)
        sound = np.isfinite(values) & np.isfinite(normal).all((1, 2))
        sound &= np.isfinite(gradient).all(1)
        self.values[columns] = values
        kept = columns[sound]
        self._normal[kept], self._gradient[kept] = normal[sound], gradient[sound]
        self.active[columns[~sound]] = False
