"""
Single-shooting fits of a window: maximum a posteriori by Levenberg-Marquardt, of many starts.

The unknowns z are the initial state, as an offset from a guess, and the parameters; the motion
follows from them. `Objective` is the negative log posterior and its Gauss-Newton expansion, `fit`
minimizes it from all starts side by side (`damped_gauss_newton.Descents`), and `HopelessStarts`
prunes those that cannot come down to the best any more.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri

from ..damped_gauss_newton import Descents, Expansion, Rules
from ..filter.smoother import linearize_along
from ..noise import fit_noise_scales, ScaledNoise

# A step longer than this many prior standard deviations is shortened.
_LONGEST_STEP = 1.0
# Probability with which noise exceeds the misfit of a model that fits.
_IMPROBABLE = 1e-6
# A cost this much above another belongs to a mode that would be pruned beside it.
_HOPELESS = 30.0
# A start is pruned after so many steps on end none of which was large enough.
_PATIENCE = 4


@dataclass(frozen=True)
class Window:
    """
    Consecutive frames, and the prior of the state at their beginning.

    point [nx], root [t, t]: its mean and a root of its covariance.
    """

    frames: tuple
    point: np.ndarray
    root: np.ndarray


@dataclass(frozen=True)
class Fits:
    """
    K fits of a window.

    offsets [t, K]: initial states as local coordinates at the window's point; parameters [p, K];
    costs [K]: negative log posterior less a constant; information [K, n, n]: its curvature.
    """

    offsets: np.ndarray
    parameters: np.ndarray
    costs: np.ndarray
    information: np.ndarray

    def pick(self, which):
        """Return some of the fits."""
        return Fits(
            self.offsets[:, which],
            self.parameters[:, which],
            self.costs[which],
            self.information[which],
        )

    def log_evidence(self):
        """
        Return the log evidence of every fit, less a constant common to all.

        By Laplace's approximation: a batch has one optimum and the information there, and no
        innovations frame by frame, of which filters and smoothers add up theirs.
        """
        return -self.costs - 0.5 * np.linalg.slogdet(self.information)[1]


def fit(objective, offsets, parameters, iterations=30, tolerance=1e-3, merge=0.0):
    """
    Return `Fits` by Levenberg-Marquardt from K starts (offsets [t, K], parameters [p, K]).

    objective: `Objective`. A start whose trajectory is not finite keeps an infinite cost. A start
    stops when two steps on end have gained, or predicted where they failed, no more than
    `tolerance` of a unit of cost, when it is within a squared distance of `merge` of one that has
    stopped so, or when it is pruned as hopeless.
    """
    hopeless = HopelessStarts(objective, parameters.shape[1])

    def prune(descents, tried, before, after):
        stopped = descents.converged
        hopeless.note_converged(_fits_of(descents, objective.size).pick(stopped))
        left = iterations - descents.iterations[tried]
        is_duplicate = _is_duplicate(descents, np.flatnonzero(stopped), merge)
        return is_duplicate | hopeless.pruned(tried, before, after, left)

    starts = np.concatenate([offsets, parameters])
    descents = Descents(objective, starts, Rules(iterations, tolerance), prune)
    descents.run()
    return _fits_of(descents, objective.size)


def _fits_of(descents, size):
    """Return the `Fits` at the points of descents; size: of the state."""
    points, state = descents.points, descents.state
    return Fits(points[:size], points[size:], state.costs, state.curvature)


def _is_duplicate(descents, stopped, merge):
    """Return which columns [K] are within a squared distance of one that has stopped."""
    z = descents.points
    away = z.T - z.T[stopped, None]
    normal = descents.state.normal[stopped]
    squared = np.einsum('rki,rij,rkj->rk', away, normal, away, optimize=True)
    return (squared < merge).any(0)


class HopelessStarts:
    """
    Prunes starts that would not reach the best cost in the steps that are left.

    Only a fit that explains the frames as well as noise lets expect is known to be the best there
    is; beside any other all starts go on, and so they do where the noise is not known.
    """

    def __init__(self, objective, count):
        """Take the `Objective` and the number of starts."""
        self._objective, self._late = objective, np.zeros(count, dtype=int)
        self._lowest = self._explaining = np.inf

    def note_converged(self, fits):
        """Take notice of `Fits` that have converged."""
        lowest = fits.costs.min(initial=np.inf)
        if lowest < self._lowest and self._objective.knows_noise:
            self._lowest = lowest
            if self._objective.is_explained_by(fits):
                self._explaining = lowest

    def pruned(self, active, before, after, left):
        """
        Return which of all starts are pruned.

        active: indices of those that have tried a step, from costs before to costs after; left:
        number of steps that they have left, each or all.
        """
        above = np.minimum(before, after) - self._explaining
        is_late = above > np.maximum(_HOPELESS, left * np.maximum(before - after, 0.0))
        self._late[active] = np.where(is_late, self._late[active] + 1, 0)
        return self._late >= _PATIENCE


class Objective:
    """The negative log posterior of a window as a function of z = (state offset, parameters)."""

    def __init__(self, problem, window, noise, prior=None, noises=None):
        """
        Take a window, the noise density and the priors, by default those of the problem.

        prior: `Gaussian` of the parameters; noises: `NoiseScales` [J, 1].
        """
        prior = prior or problem.prior
        noises = noises or problem.noise_prior
        if noises is not None:
            rows = np.tile(problem.row_noises(window.frames), len(window.frames))
            noise = ScaledNoise(noise, rows, noises)
        self.problem, self.window, self.noise = problem, window, noise
        self.size = problem.tangent_size
        self.whitener = np.zeros((self.size + len(prior.mean),) * 2)
        self.whitener[: self.size, : self.size] = np.linalg.inv(window.root)
        self.whitener[self.size :, self.size :] = np.linalg.inv(prior.root)
        self.centre = np.concatenate([np.zeros(self.size), prior.mean])[:, None]
        # Disturbances are fixed at zero.
        last = self.size - problem.disturbance_size
        self._free = np.r_[:last, self.size : len(self.centre)]

    def whitened(self, z):
        """Return columns [n, K] in standard deviations of the prior."""
        return self.whitener @ (z - self.centre)

    def points(self, z):
        """Return the initial states [nx, K]."""
        first = np.repeat(self.window.point[:, None], z.shape[1], 1)
        return self.problem.retract(first, z[: self.size])

    def costs(self, z):
        """Return the cost of every column, infinite where a trajectory is not finite."""
        parameters = z[self.size :]
        with np.errstate(all='ignore'):
            states = self.problem.trajectory(self.points(z), parameters, self.window.frames)
            residual = self.problem.residuals(states, parameters, self.window.frames)
            data = self.noise.cost(residual).sum(-1)
        costs = data + 0.5 * (self.whitened(z) ** 2).sum(0)
        return np.where(np.isfinite(costs), costs, np.inf)

    def expand(self, z, costs=None):
        """Return the `Expansion` at every column; costs [K]: there, where they are known."""
        costs = self.costs(z) if costs is None else costs
        alive = np.isfinite(costs)
        # A column that is not finite borrows the point of a finite one; its cost stays infinite.
        safe = z if alive.all() else np.where(alive, z, z[:, [int(np.argmin(costs))]])
        # Slopes of a chaotic motion may overflow.
        with np.errstate(all='ignore'):
            return self._expanded(costs, safe).with_finite_slopes()

    def _expanded(self, costs, z):
        """Return the `Expansion` at columns all of whose costs are finite."""
        residual, rows = self.rows(z)
        weight, curvature_of_rows = self.noise.weight(residual), self.noise.curvature(residual)
        turned = np.swapaxes(rows, -1, -2)
        gradient = (turned @ (weight * residual)[..., None])[..., 0]
        gradient += (self.prior_information @ (z - self.centre)).T
        normal = turned @ (weight[..., None] * rows) + self.prior_information
        curvature = turned @ (curvature_of_rows[..., None] * rows) + self.prior_information
        return Expansion(costs, gradient, normal, curvature)

    @property
    def prior_information(self):
        """The information [n, n] of the prior."""
        return self.whitener.T @ self.whitener

    def rows(self, z):
        """Return all residuals [K, M] and their slopes [K, M, n] at every column."""
        frames, parameters = self.window.frames, z[self.size :]
        states = self.problem.trajectory(self.points(z), parameters, frames)
        pieces = linearize_along(self.problem, states, parameters, frames)
        return self._chained(pieces, len(frames), z.shape[1])

    def _chained(self, pieces, steps, count):
        """Chain the derivatives back to the initial state; those by disturbances are zero."""
        size, free = self.size - self.problem.disturbance_size, self._free
        residual = pieces.residual.reshape(steps, count, -1)
        slope = pieces.slope[..., free].reshape(steps, count, -1, len(free))
        transition = pieces.transition[:, :size, free].reshape(steps, count, size, -1)
        chain = np.tile(np.eye(len(free)), (count, 1, 1))
        chains = np.empty((steps, *chain.shape))
        for step in range(steps):
            chains[step] = chain
            chain = np.concatenate([transition[step] @ chain, chain[:, size:]], axis=1)
        rows = np.zeros((count, residual[:, 0].size, len(self.centre)))
        chained = np.moveaxis(slope @ chains, 0, 1)
        rows[..., free] = chained.reshape(*rows.shape[:2], len(free))
        return np.moveaxis(residual, 0, 1).reshape(count, -1), rows

    @property
    def knows_noise(self):
        """Whether a misfit can be compared with what noise explains."""
        return not (isinstance(self.noise, ScaledNoise) or self.noise.expects_outliers)

    def is_explained_by(self, fits):
        """
        Tell whether noise explains the misfit of the best of fits.

        True where outliers are expected or the noise is not known: there is no bound then.
        """
        if not len(fits.costs):
            return False
        if not self.knows_noise:
            return True
        best = fits.pick([int(np.argmin(fits.costs))])
        frames, points = self.window.frames, self.points(best.offsets)
        states = self.problem.trajectory(points, best.parameters, frames)
        residual = self.problem.residuals(states, best.parameters, frames)
        return bool(2 * best.costs[0] < chdtri((residual != 0).sum(), _IMPROBABLE))

    def with_noise_scales(self, fits):
        """Return (fits, `NoiseScales` by their residuals, None where all are known)."""
        if not isinstance(self.noise, ScaledNoise):
            return fits, None
        z = np.concatenate([fits.offsets, fits.parameters])
        information, noises = fit_noise_scales(self.noise, *self.rows(z), self.prior_information)
        return replace(fits, information=information), noises

    def shortened(self, step):
        """Return a step [n, K] cut to so many prior standard deviations of any parameter."""
        length = np.abs(self.whitener[self.size :, self.size :] @ step[self.size :]).max(0)
        return step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, 1e-300))
