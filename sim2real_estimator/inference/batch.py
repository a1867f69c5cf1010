"""Fits of the first seconds: many starts at once, initial state and parameters together."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri

from .noise_scales import ScaledNoise, settled

_LAMBDA_START = 1e-2
_LAMBDA_DOWN, _LAMBDA_UP, _LAMBDA_MAX = 0.2, 5.0, 1e8
# A step longer than this many prior standard deviations is shortened.
_LONGEST_STEP = 1.0
# A misfit that noise exceeds so seldom belongs to a model that does not fit.
_IMPROBABLE = 1e-6


@dataclass(frozen=True)
class Window:
    """
    Frames from a beginning on, and what was known before them.

    point [nx], root [t, t]: a guess of the initial state and its standard deviation.
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
        """Return Laplace's log evidence of every fit, less a constant common to all."""
        return -self.costs - 0.5 * np.linalg.slogdet(self.information)[1]


def fit(objective, offsets, parameters, iterations=30, tolerance=1e-3):
    """
    Return `Fits` by Levenberg-Marquardt from K starts (offsets [t, K], parameters [p, K]).

    objective: `Objective`. A start whose trajectory is not finite keeps an infinite cost. Stops
    when no start gains more than `tolerance` of a unit of cost in two iterations on end.
    """
    count = parameters.shape[1]
    z = np.concatenate([offsets, parameters])
    damping = np.full(count, _LAMBDA_START)
    state = objective.expand(z)
    idle = np.zeros(count, dtype=int)
    for _ in range(iterations):
        step = objective.shortened(_damped_step(state, damping))
        trial = objective.costs(z + step)
        better = trial < state.costs
        gain = np.where(better, state.costs - trial, 0.0)
        z = np.where(better, z + step, z)
        damping = np.where(better, damping * _LAMBDA_DOWN, damping * _LAMBDA_UP)
        idle = np.where(gain > tolerance, 0, idle + better)
        state = objective.expand(z)
        if ((idle >= 2) | (damping > _LAMBDA_MAX)).all():
            break
    size = objective.size
    return Fits(z[:size], z[size:], state.costs, state.curvature)


@dataclass(frozen=True)
class _Expansion:
    """Second-order expansion of the cost at K points."""

    costs: np.ndarray
    gradient: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray


class Objective:
    """The negative log posterior of a window as a function of z = (state offset, parameters)."""

    def __init__(self, problem, window, noise, prior=None, noises=None):
        """
        Take the frames and what was known before them.

        prior: `Gaussian` of the parameters; noises: `NoiseScales` [J, 1]; those of the problem
        unless given.
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

    def whitened(self, z):
        """Return columns [n, K] in standard deviations of what was known before the window."""
        return self.whitener @ (z - self.centre)

    def points(self, z):
        """Return the initial states [nx, K]."""
        first = np.repeat(self.window.point[:, None], z.shape[1], 1)
        return self.problem.retract(first, z[: self.size])

    def costs(self, z):
        """Return the cost of every column; infinite where a trajectory is lost."""
        parameters = z[self.size :]
        with np.errstate(all='ignore'):
            states = self.problem.trajectory(self.points(z), parameters, self.window.frames)
            residual = self.problem.residuals(states, parameters, self.window.frames)
            data = self.noise.cost(residual).sum(-1)
        costs = data + 0.5 * (self.whitened(z) ** 2).sum(0)
        return np.where(np.isfinite(costs), costs, np.inf)

    def expand(self, z):
        """Return the `_Expansion` at every column."""
        costs = self.costs(z)
        alive = np.isfinite(costs)
        # A lost column borrows the numbers of a sound one; its cost says that it is lost.
        safe = z if alive.all() else np.where(alive, z, z[:, [int(np.argmin(costs))]])
        # Slopes of a chaotic motion may be beyond all numbers.
        with np.errstate(all='ignore'):
            return _sound(self._expanded(costs, safe))

    def _expanded(self, costs, z):
        """Return the `_Expansion` at columns all of whose costs are finite."""
        residual, rows = self.rows(z)
        weight, bend = self.noise.weight(residual), self.noise.curvature(residual)
        turned = np.swapaxes(rows, -1, -2)
        gradient = (turned @ (weight * residual)[..., None])[..., 0]
        gradient += (self.prior_information @ (z - self.centre)).T
        normal = turned @ (weight[..., None] * rows) + self.prior_information
        curvature = turned @ (bend[..., None] * rows) + self.prior_information
        return _Expansion(costs, gradient, normal, curvature)

    @property
    def prior_information(self):
        """The curvature [n, n] of what was known before the window."""
        return self.whitener.T @ self.whitener

    def rows(self, z):
        """Return all residuals [K, M] and their slopes [K, M, n] at every column."""
        frames, count = self.window.frames, z.shape[1]
        parameters = z[self.size :]
        states = self.problem.trajectory(self.points(z), parameters, frames)
        lanes = np.moveaxis(states[:-1], 0, 1).reshape(states.shape[1], -1)
        wide = np.tile(parameters, len(frames))
        repeated = [frame for frame in frames for _ in range(count)]
        pieces = self.problem.linearize(lanes, wide, repeated)
        return self._chained(pieces, len(frames), count)

    def _chained(self, pieces, steps, count):
        """Chain the frames' derivatives back to the beginning."""
        n = pieces.slope.shape[-1]
        residual = pieces.residual.reshape(steps, count, -1)
        slope = pieces.slope.reshape(steps, count, -1, n)
        transition = pieces.transition.reshape(steps, count, self.size, n)
        chain = np.tile(np.eye(n), (count, 1, 1))
        chains = np.empty((steps, count, n, n))
        for step in range(steps):
            chains[step] = chain
            chain = np.concatenate([transition[step] @ chain, chain[:, self.size :]], axis=1)
        rows = slope @ chains
        return (
            np.moveaxis(residual, 0, 1).reshape(count, -1),
            np.moveaxis(rows, 0, 1).reshape(count, -1, n),
        )

    def is_explained_by(self, fits):
        """
        Tell whether the best of fits leaves no more of the samples than noise explains.

        Where outliers are expected or the noise is not known nobody can tell.
        """
        if isinstance(self.noise, ScaledNoise) or self.noise.expects_outliers:
            return True
        best = fits.pick([int(np.argmin(fits.costs))])
        frames, points = self.window.frames, self.points(best.offsets)
        states = self.problem.trajectory(points, best.parameters, frames)
        residual = self.problem.residuals(states, best.parameters, frames)
        return bool(2 * best.costs[0] < chdtri((residual != 0).sum(), _IMPROBABLE))

    def settled(self, fits):
        """Return fits and the `NoiseScales` that they leave, None where all are known."""
        if not isinstance(self.noise, ScaledNoise):
            return fits, None
        z = np.concatenate([fits.offsets, fits.parameters])
        information, noises = settled(self.noise, *self.rows(z), self.prior_information)
        return replace(fits, information=information), noises

    def shortened(self, step):
        """Return a step [n, K] cut to a length of so many prior deviations per parameter."""
        length = np.abs(self.whitener[self.size :, self.size :] @ step[self.size :]).max(0)
        return step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, 1e-300))


def _sound(state):
    """Return an `_Expansion` where columns whose slopes are not finite are lost like others."""
    parts = state.gradient, state.normal.sum(-1), state.curvature.sum(-1)
    is_sound = np.isfinite(parts).all((0, -1))
    if is_sound.all() or not is_sound.any():
        return state
    other = np.where(is_sound, range(len(is_sound)), np.argmax(is_sound))
    costs = np.where(is_sound, state.costs, np.inf)
    return _Expansion(costs, state.gradient[other], state.normal[other], state.curvature[other])


def _damped_step(state, damping):
    """Return the Levenberg-Marquardt steps [n, K], the diagonal scaled up."""
    matrix = state.normal.copy()
    n = matrix.shape[-1]
    matrix[:, range(n), range(n)] *= 1 + damping[:, None]
    return -np.linalg.solve(matrix, state.gradient[..., None])[..., 0].T


def effective_share(objective, fits, log_weights, generator, draws=400):
    """
    Return how well a mixture of normal distributions about fits stands for the posterior.

    log_weights [K]: of the fits; between 0 and 1.

    The effective share of draws from the mixture, weighted by the true posterior over it. It
    cannot see a mode that no fit has found.
    """
    weights = np.exp(log_weights)
    weights /= weights.sum()
    chosen = generator.choice(len(weights), draws, p=weights)
    factor = np.linalg.cholesky(fits.information)
    noise_draws = generator.standard_normal((draws, factor.shape[-1], 1))
    moves = np.linalg.solve(np.swapaxes(factor[chosen], -1, -2), noise_draws)[..., 0].T
    centres = np.concatenate([fits.offsets, fits.parameters])
    z = centres[:, chosen] + moves
    away = z[:, None] - centres[:, :, None]
    squared = np.einsum('ikb,kij,jkb->kb', away, fits.information, away, optimize=True)
    log_density = -0.5 * squared + np.log(np.einsum('kii->ki', factor)).sum(-1)[:, None]
    top = log_density.max(0)
    proposal = top + np.log((weights[:, None] * np.exp(log_density - top)).sum(0))
    ratio = -objective.costs(z) - proposal
    ratio = np.exp(ratio - ratio.max())
    return float(ratio.sum() ** 2 / (ratio**2).sum() / draws)
