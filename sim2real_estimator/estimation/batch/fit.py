"""Fits of the first seconds: many starts at once, initial state and parameters together."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri

from ..linearized import linearized_along
from ..noise_scales import ScaledNoise, settled
from .giving_up import HopelessStarts

_LAMBDA_START = 1e-2
_LAMBDA_DOWN, _LAMBDA_UP, _LAMBDA_MIN, _LAMBDA_MAX = 0.2, 5.0, 1e-12, 1e8
# A step longer than this many prior standard deviations is shortened.
_LONGEST_STEP = 1.0
# A misfit that noise exceeds so seldom belongs to a model that does not fit.
_IMPROBABLE = 1e-6
# A share that is this part of the way from the wanted one to all is clearly more.
_CLEARLY = 0.5


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


def fit(objective, offsets, parameters, iterations=30, tolerance=1e-3, merge=0.0):
    """
    Return `Fits` by Levenberg-Marquardt from K starts (offsets [t, K], parameters [p, K]).

    objective: `Objective`. A start whose trajectory is not finite keeps an infinite cost. One
    rests, and costs nothing more, when two steps on end have gained, or promised where they
    failed, no more than `tolerance` of a unit of cost, when it has come within a squared distance
    of `merge` of one that rests so, or when it is given up.
    """
    count, size = parameters.shape[1], objective.size
    z, giving_up = np.concatenate([offsets, parameters]), HopelessStarts(objective, count)
    damping, idle = np.full(count, _LAMBDA_START), np.zeros(count, dtype=int)
    state = objective.expand(z)
    active = np.flatnonzero(np.isfinite(state.costs))
    for left in reversed(range(iterations)):
        if not len(active):
            break
        here = state.pick(active)
        step = objective.shortened(_damped_step(here, damping[active]))
        trial = z[:, active] + step
        costs = objective.costs(trial)
        better = costs < here.costs
        gain = np.where(better, here.costs - costs, here.promised(step))
        damping[active] *= np.where(better, _LAMBDA_DOWN, _LAMBDA_UP)
        idle[active] = np.where(gain > tolerance, 0, idle[active] + 1)
        if better.any():
            moved = active[better]
            z[:, moved] = trial[:, better]
            state = state.renewed(moved, objective.expand(z[:, moved], costs[better]))
        is_active = (idle < 2) & (damping <= _LAMBDA_MAX) & np.isfinite(state.costs)
        is_active &= ~_arrived(z, state.normal, np.flatnonzero(idle >= 2), merge)
        fits = Fits(z[:size], z[size:], state.costs, state.curvature)
        giving_up.note_resting(fits.pick(idle >= 2))
        is_active &= ~giving_up.given_up(active, here.costs, costs, left)
        active = np.flatnonzero(is_active)
    return Fits(z[:size], z[size:], state.costs, state.curvature)


def _arrived(z, normal, resting, merge):
    """Return which columns of z [n, K] are within a squared distance of one that rests."""
    away = z.T - z.T[resting, None]
    squared = np.einsum('rki,rij,rkj->rk', away, normal[resting], away, optimize=True)
    return (squared < merge).any(0)


@dataclass(frozen=True)
class _Expansion:
    """Second-order expansion of the cost at K points."""

    costs: np.ndarray
    gradient: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray

    def pick(self, which):
        """Return that at some of the points."""
        return _Expansion(*(part[which] for part in vars(self).values()))

    def promised(self, step):
        """Return by how much costs [K] should fall by a step [n, K]."""
        bent = 0.5 * (self.normal @ step.T[..., None])[..., 0]
        return -((self.gradient + bent) * step.T).sum(-1)

    def renewed(self, which, other):
        """Return this with another in place of that at some of the points."""
        parts = [part.copy() for part in vars(self).values()]
        for part, new in zip(parts, vars(other).values()):
            part[which] = new
        return _Expansion(*parts)


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
        # Fits begin without any disturbance, and are as sure of that as can be.
        last = self.size - problem.disturbance_size
        self._moved = np.r_[:last, self.size : len(self.centre)]

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

    def expand(self, z, costs=None):
        """Return the `_Expansion` at every column; costs [K]: there, where they are known."""
        costs = self.costs(z) if costs is None else costs
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
        frames, parameters = self.window.frames, z[self.size :]
        states = self.problem.trajectory(self.points(z), parameters, frames)
        pieces = linearized_along(self.problem, states, parameters, frames)
        return self._chained(pieces, len(frames), z.shape[1])

    def _chained(self, pieces, steps, count):
        """Chain the frames' derivatives back to the beginning; none by disturbances."""
        size, moved = self.size - self.problem.disturbance_size, self._moved
        residual = pieces.residual.reshape(steps, count, -1)
        slope = pieces.slope[..., moved].reshape(steps, count, -1, len(moved))
        transition = pieces.transition[:, :size, moved].reshape(steps, count, size, -1)
        chain = np.tile(np.eye(len(moved)), (count, 1, 1))
        chains = np.empty((steps, *chain.shape))
        for step in range(steps):
            chains[step] = chain
            chain = np.concatenate([transition[step] @ chain, chain[:, size:]], axis=1)
        rows = np.zeros((count, residual[:, 0].size, len(self.centre)))
        chained = np.moveaxis(slope @ chains, 0, 1)
        rows[..., moved] = chained.reshape(*rows.shape[:2], len(moved))
        return np.moveaxis(residual, 0, 1).reshape(count, -1), rows

    @property
    def knows_noise(self):
        """Whether it can be told what noise explains."""
        return not (isinstance(self.noise, ScaledNoise) or self.noise.expects_outliers)

    def is_explained_by(self, fits):
        """
        Tell whether the best of fits leaves no more of the samples than noise explains.

        Where outliers are expected or the noise is not known nobody can tell.
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
    if is_sound.all():
        return state
    if not is_sound.any():
        eye = np.broadcast_to(np.eye(state.normal.shape[-1]), state.normal.shape)
        return _Expansion(np.full(len(eye), np.inf), np.zeros_like(state.gradient), eye, eye)
    other = np.where(is_sound, range(len(is_sound)), np.argmax(is_sound))
    costs = np.where(is_sound, state.costs, np.inf)
    return _Expansion(costs, state.gradient[other], state.normal[other], state.curvature[other])


def _damped_step(state, damping):
    """Return the Levenberg-Marquardt steps [n, K], the diagonal scaled up."""
    diagonals = np.einsum('kii->ki', state.normal)
    # In units of these: where a motion explodes, next to what it tells the prior is rounding.
    units = 1 / np.sqrt(diagonals)
    matrix = units[..., None] * state.normal * units[:, None]
    np.einsum('kii->ki', matrix)[:] += np.maximum(damping, _LAMBDA_MIN)[:, None]
    steps = np.linalg.solve(matrix, (units * state.gradient)[..., None])[..., 0]
    return -(units * steps).T


def effective_share(objective, fits, log_weights, generator, draws=400, wanted=1.0):
    """
    Return how well a mixture of normal distributions about fits stands for the posterior.

    log_weights [K]: of the fits; between 0 and 1; wanted: where a quarter of the draws shows
    clearly more than this, they are enough.

    The effective share of draws from the mixture, weighted by the true posterior over it. It
    cannot see a mode that no fit has found.
    """
    z, proposal = _draws_of(fits, log_weights, generator, draws)
    ratios = np.zeros(0)
    for part in (slice(draws // 4), slice(draws // 4, draws)):
        ratios = np.concatenate([ratios, -objective.costs(z[:, part]) - proposal[part]])
        ratio = np.exp(ratios - ratios.max())
        share = float(ratio.sum() ** 2 / (ratio**2).sum() / len(ratio))
        if share > wanted + _CLEARLY * (1 - wanted):
            break
    return share


def _draws_of(fits, log_weights, generator, draws):
    """Return draws [n, draws] from the mixture about fits, and their log densities."""
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
    return z, top + np.log((weights[:, None] * np.exp(log_density - top)).sum(0))
