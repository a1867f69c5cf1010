"""Parallel basin hopping: descents that restart at a random point when they have stopped."""

from dataclasses import dataclass, field

import numpy as np

from .base import AbstractOptimizer, Result
from .levenberg_marquardt import LevenbergMarquardt


@dataclass(frozen=True)
class BasinHopping(AbstractOptimizer):
    """
    Levenberg-Marquardt from one random start after the other, many side by side.

    As in `Augmenting Differentiable Simulators with Neural Networks`: a descent that converges,
    is not finite or has spent its iterations is replaced by one from random parameters. hops: how
    often, for each start; enough: value below which a start does not hop; bounds: (low, high),
    each a number or [p], between which new starts are drawn evenly, or None for the bounds of the
    starts given, widened by `reach`; local: the settings of the descents.
    """

    hops: int = 4
    enough: float = 0.0
    bounds: tuple | None = None
    reach: float = 0.5
    local: LevenbergMarquardt = field(default_factory=LevenbergMarquardt)
    seed: int = 0

    name = 'basin_hopping'

    def minimize(self, objective, starts, watch=None):
        """Return the `Result` of starts [p, B]."""
        generator = np.random.default_rng(self.seed)
        low, high = self.bounds or (starts.min(1) - self.reach, starts.max(1) + self.reach)
        low, high = (np.broadcast_to(x, len(starts))[:, None] for x in (low, high))
        descents = self.local.descents(objective, starts)
        points, values = descents.points.copy(), descents.state.costs.copy()
        left = np.full(starts.shape[1], self.hops)
        iterations = np.zeros(starts.shape[1], dtype=int)
        converged = np.zeros(starts.shape[1], dtype=bool)
        while descents.active.any() or (left > 0).any():
            idle = np.flatnonzero(~descents.active & (left > 0))
            if len(idle):
                draws = generator.random((len(starts), len(idle)))
                descents.restart(idle, low + (high - low) * draws)
                left[idle] -= 1
            iterations += descents.active
            if descents.active.any():
                descents.step()
            costs = descents.state.costs
            better = costs < values
            points[:, better], values[better] = descents.points[:, better], costs[better]
            converged[better] = False
            converged |= descents.converged & (costs <= values)
            left[(values <= self.enough) & ~descents.active] = 0
            if watch is not None:
                watch(points, values)
        return Result(points, values, descents.evaluations, iterations, converged)
