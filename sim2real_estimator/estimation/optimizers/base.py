"""The interfaces of an objective, a result and an optimizer."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Objective(Protocol):
    """
    A function of p real numbers, evaluated at many points [p, B] at once.

    It may return NaN or infinity in some columns, which must not affect the others.
    """

    def value(self, points):
        """Return the values [B]."""

    def gradient(self, points):
        """Return (values [B], gradients [p, B])."""


class LeastSquares(Objective, Protocol):
    """An objective whose value is half the sum of squared residuals."""

    def residuals(self, points):
        """Return the residuals [B, m]."""

    def jacobian(self, points):
        """Return (residuals [B, m], their derivative [B, m, p])."""


@dataclass(frozen=True)
class Result:
    """
    The result of B starts.

    points [p, B] and values [B]: the best ever seen from each start, infinite where there was
    none; evaluations [B]: number of points at which the objective was evaluated; iterations [B];
    converged [B]: whether a start has converged before its budget was spent.
    """

    points: np.ndarray
    values: np.ndarray
    evaluations: np.ndarray
    iterations: np.ndarray
    converged: np.ndarray

    @property
    def best(self):
        """The point [p] of the lowest value."""
        return self.points[:, int(np.argmin(self.values))]


class AbstractOptimizer(ABC):
    """
    A minimizer from many starts at once; its settings are fields, with the seed of draws.

    least_parameters: number of parameters that it needs.
    """

    name = ''
    least_parameters = 1

    @abstractmethod
    def minimize(self, objective, starts, watch=None):
        """
        Return the `Result` of starts [p, B].

        watch(points, values): called after every iteration with the best so far.
        """


def finite(values):
    """Return values with infinity in place of those that are not finite."""
    return np.where(np.isfinite(values), values, np.inf)


def half_squares(residuals):
    """Return half the sums of squares [B] of residuals [B, m], infinite on overflow."""
    with np.errstate(all='ignore'):
        return finite(0.5 * (residuals**2).sum(-1))
