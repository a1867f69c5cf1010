"""Covariance matrix adaptation, by the library `cmaes`."""

from dataclasses import dataclass

from cmaes import CMA
import numpy as np

from ...errors import ConfigError
from .base import AbstractOptimizer, finite, Result

# In place of infinity, which the library cannot average.
_WORST = 1e100


@dataclass(frozen=True)
class CmaEs(AbstractOptimizer):
    """
    An evolution strategy that needs neither derivatives nor smooth values.

    Every start is the mean of a population of its own. spread: its first standard deviation;
    population: points a generation; generations: at most; tolerance: a start stops when the
    median of its generation lies within this share of its best value.
    """

    spread: float = 0.5
    population: int = 16
    generations: int = 150
    tolerance: float = 1e-6
    seed: int = 0

    name = 'cma_es'
    least_parameters = 2

    def minimize(self, objective, starts, watch=None):
        """Return the `Result` of starts [p, B]."""
        size, count = starts.shape
        if size < self.least_parameters:
            raise ConfigError(
                'CMA-ES needs two parameters or more; take another optimizer for one'
            )
        seeds = np.random.SeedSequence(self.seed).generate_state(count)
        strategies = [
            CMA(start, self.spread, seed=int(seed), population_size=self.population)
            for start, seed in zip(starts.T, seeds)
        ]
        best, values = np.array(starts, dtype=float), np.full(count, np.inf)
        iterations = np.zeros(count, dtype=int)
        active = np.ones(count, dtype=bool)
        for _ in range(self.generations):
            columns = np.flatnonzero(active)
            asked = np.array(
                [[strategies[k].ask() for _ in range(self.population)] for k in columns]
            )
            with np.errstate(all='ignore'):
                found = finite(objective.value(asked.reshape(-1, size).T))
            found = found.reshape(len(columns), self.population)
            iterations[columns] += 1
            for k, points, costs in zip(columns, asked, found):
                strategies[k].tell(list(zip(points, np.minimum(costs, _WORST).tolist())))
                lowest = int(np.argmin(costs))
                if costs[lowest] < values[k]:
                    best[:, k], values[k] = points[lowest], costs[lowest]
                active[k] = not self._has_stopped(strategies[k], costs, values[k])
            if watch is not None:
                watch(best, values)
            if not active.any():
                break
        return Result(
            best, values, iterations * self.population, iterations, ~active & np.isfinite(values)
        )

    def _has_stopped(self, strategy, costs, value):
        """Tell whether a population has converged, or the library says that it should stop."""
        middle = np.median(costs)
        is_flat = np.isfinite(middle) and middle - value <= self.tolerance * abs(value)
        return bool(is_flat or strategy.should_stop())
