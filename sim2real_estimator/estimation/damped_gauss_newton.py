"""
Levenberg-Marquardt: damped Gauss-Newton descents of many columns side by side.

Levenberg (1944) and Marquardt (1963), who damps by the diagonal. The batch fit and the optimizers
`levenberg_marquardt` and `basin_hopping` are made of it. An objective for it has `costs(points)`,
[K] of points [n, K], infinite where there is no number; `expand(points, costs=None)`, the
`Expansion` there, given the costs where they are known; `shortened(step)`, steps [n, K] that are
cut to where the expansion may be trusted.
"""

from dataclasses import dataclass

import numpy as np

# Damping: the factors after a good and a bad step, and the bounds.
_DOWN, _UP, _LEAST, _MOST = 0.2, 5.0, 1e-12, 1e8
# A descent has converged after so many steps on end that were not worth it.
_PATIENCE = 2


@dataclass(frozen=True)
class Expansion:
    """
    Second-order expansion of a cost at K points.

    costs [K]; gradient [K, n]; normal [K, n, n]: the curvature that steps are computed with, which
    is positive definite; curvature [K, n, n]: that of the cost itself.
    """

    costs: np.ndarray
    gradient: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray

    def pick(self, which):
        """Return the expansion at some of the points."""
        return Expansion(*(part[which] for part in vars(self).values()))

    def predicted_gain(self, step):
        """Return by how much the costs [K] should fall in a step [n, K]."""
        curved = 0.5 * (self.normal @ step.T[..., None])[..., 0]
        return -((self.gradient + curved) * step.T).sum(-1)

    def renewed(self, which, other):
        """Return the expansions with those at some of the points replaced by others."""
        parts = [part.copy() for part in vars(self).values()]
        for part, new in zip(parts, vars(other).values()):
            part[which] = new
        return Expansion(*parts)

    def with_finite_slopes(self):
        """Return the expansions; where slopes are not finite, the cost is infinite instead."""
        parts = self.gradient, self.normal.sum(-1), self.curvature.sum(-1)
        is_sound = np.isfinite(parts).all((0, -1))
        if is_sound.all():
            return self
        if not is_sound.any():
            eye = np.broadcast_to(np.eye(self.normal.shape[-1]), self.normal.shape)
            return Expansion(np.full(len(eye), np.inf), np.zeros_like(self.gradient), eye, eye)
        other = np.where(is_sound, range(len(is_sound)), np.argmax(is_sound))
        costs = np.where(is_sound, self.costs, np.inf)
        return Expansion(costs, self.gradient[other], self.normal[other], self.curvature[other])


@dataclass(frozen=True)
class Rules:
    """
    When a descent stops, and how it begins.

    iterations: at most; tolerance, share: a step is worth it that gains, or predicts where it
    fails, more than this and more than this part of the cost; damping: the first one.
    """

    iterations: int = 30
    tolerance: float = 1e-3
    share: float = 0.0
    damping: float = 1e-2


class Descents:
    """
    Descents from K starts side by side, each of which can be begun anew.

    points [n, K]; state: the `Expansion` there; active, converged [K]; iterations [K]: of the
    present descent; evaluations [K]: number of points at which the objective was evaluated for a
    column. A column whose cost or slopes are not finite is not active.
    """

    def __init__(self, objective, starts, rules, prune=None):
        """
        Begin at starts [n, K] by `Rules`.

        prune(descents, tried, before, after): called after every step with the indices of the
        columns that were active, their costs before it and those tried; returns which of all
        columns [K] shall stop. None: no column is pruned.
        """
        self._objective, self._rules, self._prune = objective, rules, prune
        count = starts.shape[1]
        self.points = np.array(starts, dtype=float)
        self.iterations, self.evaluations, self._idle = np.zeros((3, count), dtype=int)
        self._damping = np.full(count, rules.damping)
        self.state = objective.expand(self.points)
        self.evaluations += 1
        self.active = np.isfinite(self.state.costs)

    @property
    def converged(self):
        """Which descents [K] have stopped because no step is worth it any more."""
        return self._idle >= _PATIENCE

    def run(self, watch=None):
        """Go on until no column is active; watch(points, costs): called after every step."""
        while self.active.any():
            self.step()
            if watch is not None:
                watch(self.points, self.state.costs)

    def step(self):
        """Try one step in every active column."""
        active, rules = np.flatnonzero(self.active), self._rules
        here = self.state.pick(active)
        step = self._objective.shortened(_damped_step(here, self._damping[active]))
        trial = self.points[:, active] + step
        costs = self._objective.costs(trial)
        self.iterations[active] += 1
        self.evaluations[active] += 1
        better = costs < here.costs
        gain = np.where(better, here.costs - costs, here.predicted_gain(step))
        self._damping[active] *= np.where(better, _DOWN, _UP)
        is_worth_it = gain > np.maximum(rules.tolerance, rules.share * here.costs)
        self._idle[active] = np.where(is_worth_it, 0, self._idle[active] + 1)
        if better.any():
            self._move(active[better], trial[:, better], costs[better])
        self.active &= ~self.converged & (self._damping <= _MOST)
        self.active &= np.isfinite(self.state.costs) & (self.iterations < rules.iterations)
        if self._prune is not None:
            self.active &= ~self._prune(self, active, here.costs, costs)

    def restart(self, columns, starts):
        """Begin some columns anew at starts [n, columns]."""
        self._move(columns, starts)
        self.iterations[columns], self._idle[columns] = 0, 0
        self._damping[columns] = self._rules.damping
        self.active[columns] = np.isfinite(self.state.costs[columns])

    def _move(self, columns, points, costs=None):
        """Move columns to points, of which costs may be known."""
        self.points[:, columns] = points
        self.evaluations[columns] += 1
        expansion = self._objective.expand(self.points[:, columns], costs)
        self.state = self.state.renewed(columns, expansion)


def _damped_step(state, damping):
    """Return the steps [n, K] of Marquardt, who damps by the diagonal."""
    diagonals = np.einsum('kii->ki', state.normal)
    # Scaled by the diagonal: the information of an unstable motion dwarfs that of the prior.
    units = 1 / np.sqrt(diagonals)
    matrix = units[..., None] * state.normal * units[:, None]
    np.einsum('kii->ki', matrix)[:] += np.maximum(damping, _LEAST)[:, None]
    steps = np.linalg.solve(matrix, (units * state.gradient)[..., None])[..., 0]
    return -(units * steps).T
