"""
The misfit of simulated trajectories as a function of the parameters alone, for any optimizer.

Windows of a recording each begin with an unknown state of their own. For given parameters these
first states are found by least squares, so that an optimizer searches parameters only (variable
projection, Golub and Pereyra 1973, with the Jacobian of Kaufman 1975). Its coordinates u are
whitened by the prior, x = mean + root u, and the value is the negative log posterior,

    1/2 |u|^2 + sum over windows of min over s of 1/2 |r(s, x)|^2 + 1/2 |s|^2,

with first states s in standard deviations about their guess, and residuals r in those of noise.
"""

from dataclasses import replace

import numpy as np

from ..damped_gauss_newton import Descents, Rules
from ..noise import NormalNoise
from .fit import Objective, Window

# First states are begun with at a guess from the samples, mostly close; they have converged when a
# step gains no more than this much cost, and this part of it.
_RULES = Rules(iterations=20, tolerance=1e-6, share=1e-9, damping=1e-3)


class TrajectoryMisfit:
    """A `LeastSquares` objective of whitened parameters u [p, B]; see the module."""

    def __init__(self, problem, windows):
        """Take a `Problem` and windows, tuples of consecutive frames."""
        self._prior, self._size = problem.prior, problem.tangent_size
        self._objectives = [
            Objective(problem, Window(frames, *problem.first_state(frames)), NormalNoise())
            for frames in windows
        ]

    def parameters(self, points):
        """Return the parameters [p, B] at points [p, B]."""
        return self._prior.mean[:, None] + self._prior.root @ points

    def points(self, parameters):
        """Return the points [p, B] of parameters [p, B]."""
        return np.linalg.solve(self._prior.root, parameters - self._prior.mean[:, None])

    def value(self, points):
        """Return the negative log posterior [B], infinite where a trajectory is not finite."""
        parameters, prior = self.parameters(points), 0.5 * (points**2).sum(0)
        each = [_with_first_states(o, parameters).state.costs - prior for o in self._objectives]
        return prior + sum(each)

    def residuals(self, points):
        """Return the residuals [B, m], those of the prior last."""
        return self.jacobian(points)[0]

    def jacobian(self, points):
        """Return (residuals [B, m], their derivative [B, m, p]), NaN where there is no number."""
        count, parameters = points.shape[1], self.parameters(points)
        found = [self._projected(objective, parameters) for objective in self._objectives]
        rows = [*(rows for rows, _ in found), points.T]
        slopes = [each @ self._prior.root for _, each in found]
        slopes.append(np.tile(np.eye(len(points)), (count, 1, 1)))
        return np.concatenate(rows, 1), np.concatenate(slopes, 1)

    def gradient(self, points):
        """Return (values [B], gradients [p, B])."""
        rows, slopes = self.jacobian(points)
        return 0.5 * (rows**2).sum(-1), np.einsum('bm,bmp->pb', rows, slopes)

    def misfit(self, points):
        """Return the root mean square [B] of all residuals of the samples, in deviations."""
        found = [self._rows(each, self.parameters(points)) for each in self._objectives]
        rows = np.concatenate([residual for residual, _, _ in found], 1)
        return np.sqrt((rows**2).sum(-1) / np.maximum((rows != 0).sum(-1), 1))

    def _projected(self, objective, parameters):
        """Return (residuals [B, m], slopes [B, m, p] by parameters) less what states explain."""
        residual, slope, z = self._rows(objective, parameters)
        size, count = self._size, parameters.shape[1]
        root = objective.whitener[:size, :size]
        rows = np.concatenate([residual, (root @ z[:size]).T], 1)
        by_state = np.concatenate([slope[..., :size], np.tile(root, (count, 1, 1))], 1)
        by_parameters = np.zeros((*rows.shape, slope.shape[-1] - size))
        by_parameters[:, : residual.shape[1]] = slope[..., size:]
        finite = np.isfinite(rows).all(1) & np.isfinite(slope).all((1, 2))
        rows[~finite], by_parameters[~finite] = np.nan, np.nan
        basis = np.linalg.qr(by_state[finite])[0]
        inner = by_parameters[finite]
        by_parameters[finite] = inner - basis @ (np.swapaxes(basis, -1, -2) @ inner)
        return rows, by_parameters

    def _rows(self, objective, parameters):
        """Return (residuals [B, M], slopes [B, M, n], z [n, B]) with the first states fitted."""
        descents = _with_first_states(objective, parameters)
        z, alive = descents.points.copy(), np.isfinite(descents.state.costs)
        # A column that is not finite borrows the point of a finite one.
        z[:, ~alive] = z[:, [int(np.argmax(alive))]]
        with np.errstate(all='ignore'):
            residual, slope = objective.rows(z)
        return np.where(alive[:, None], residual, np.nan), slope, z


def _with_first_states(objective, parameters):
    """Return the `Descents` to the first states for parameters [p, B]."""
    starts = np.concatenate([np.zeros((objective.size, parameters.shape[1])), parameters])
    descents = Descents(_OfFirstState(objective), starts, _RULES)
    descents.run()
    return descents


class _OfFirstState:
    """An `Objective` whose parameters are held where they are."""

    def __init__(self, objective):
        self._objective, self._size = objective, objective.size

    def costs(self, z):
        """Return the cost of every column."""
        return self._objective.costs(z)

    def expand(self, z, costs=None):
        """Return the `Expansion`, in which no step leads to other parameters."""
        found, size = self._objective.expand(z, costs), self._size
        gradient, normal = found.gradient.copy(), found.normal.copy()
        gradient[:, size:] = 0.0
        normal[:, :size, size:] = normal[:, size:, :size] = 0.0
        return replace(found, gradient=gradient, normal=normal)

    def shortened(self, step):
        """Return the step: no first state is far."""
        return step
