"""What is minimised, what comes back, and what an optimizer must offer."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Objective(Protocol):
    """
    A function of p real numbers, asked for many points [p, B] at once.

    Where it has no value it may return NaN or infinity: the other columns must not suffer.
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
    Where B starts ended.

    points [p, B] and values [B]: the best ever seen from each start, infinite where there was
    none; evaluations [B]: points at which the objective was asked for anything; iterations [B];
    converged [B]: whether a start came to rest before its budget was spent.
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
    """Minimises from many starts at once; settings are fields, the seed of draws among them."""

    name = ''

    @abstractmethod
    def minimize(self, objective, starts, watch=None):
        """
        Return the `Result` of starts [p, B].

        watch(points, values): called after every iteration with the best so far.
        """


def finite(values):
    """Return values with infinity in place of what is no number."""
    return np.where(np.isfinite(values), values, np.inf)


def half_squares(residuals):
    """Return the values [B] of residuals [B, m]; what overflows is infinite."""
    with np.errstate(all='ignore'):
        return finite(0.5 * (residuals**2).sum(-1))
