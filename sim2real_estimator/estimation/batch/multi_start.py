"""
Multi-start: fits from many initial guesses, and the Laplace approximation of their modes.

`fit_again` fits a growing window: from the modes found before and from draws that cover the prior.
Each mode becomes a component of a Gaussian mixture (`mixture_at_end`), weighted by its evidence.
`effective_share` tells how well that mixture stands for the posterior. `refit` goes on after an
interruption, with known parameters and an unknown state. `fit_augmented` tests whether a fixed
value is wrong, where noise does not explain the misfit.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..disturbances import with_disturbances
from ..drift import walk
from ..factors import lower_root
from ..filter.smoother import linearize_along, split_by_frame
from ..gaussian import log_normalized, predict
from ..merging import matched
from ..mixture import distances, distinct, Mixture
from ..noise import NoiseScales
from ..protocol import Gaussian
from .fit import fit, Fits, Objective

# A fixed value is named if its estimate is this many standard deviations away from it.
_OFF = 3.0
# The middle 95 % of a normal distribution, in standard deviations to either side.
_CENTRAL = 1.96
# A parameter known to this part of the spacing of initial guesses needs no more of them.
_KNOWN = 0.1
# Number of new starts once most of those before have converged to one mode.
_FEW = 2
# Modes of two fits whose costs differ by no more are the same.
_SAME_COST = 0.5
# If a quarter of the draws shows a share this part of the way from the wanted one to one, they are
# enough.
_CLEARLY = 0.5


@dataclass(frozen=True)
class MultiStartFits:
    """
    Fits from many initial guesses.

    fits: of all starts; kept: the modes among them; left [p, K]: initial guesses not used yet.
    """

    fits: Fits
    kept: Fits
    left: np.ndarray

    def with_all_starts(self, objective, limits):
        """Return the fits from the initial guesses that are left as well."""
        if not self.left.size:
            return self
        fits = fit_more(objective, self.fits, self.left, limits)
        return MultiStartFits(fits, modes(fits, *limits), self.left[:, :0])

    def differ(self, others):
        """Tell whether others have other modes, or better ones."""
        ours, theirs = np.sort(self.kept.costs), np.sort(others.kept.costs)
        return len(ours) != len(theirs) or bool(
            np.abs(ours - theirs).max(initial=0.0) > _SAME_COST
        )


def fit_again(objective, before, draws, limits, is_covered):
    """
    Return `MultiStartFits` from the modes of the fits before and from draws [p, K].

    before: `Fits` or None; at most half of the starts are modes of them. limits: (merge, prune) of
    `modes`; is_covered: whether few draws may be enough. They are where most starts have converged
    to one mode before: they show if another one has appeared. The others follow if noise does not
    explain the misfit.
    """
    count = draws.shape[1]
    if before is None:
        starts = with_known(objective.problem, draws, None)
        fits = fit(objective, np.zeros((objective.size, count)), starts, merge=limits[0])
        return MultiStartFits(fits, modes(fits, *limits), draws[:, :0])
    kept = _modes_or_best(before, limits)
    kept = kept.pick(range(min(len(kept.costs), max(1, count // 2))))
    most = new = count - len(kept.costs)
    if is_covered and len(kept.costs) == 1 and _agree(before, kept, limits[0]):
        new = min(most, _FEW)
    fits = fit_more(objective, kept, draws[:, :new], limits)
    found = MultiStartFits(fits, modes(fits, *limits), draws[:, new:most])
    if objective.is_explained_by(found.kept):
        return found
    return found.with_all_starts(objective, limits)


def fit_more(objective, before, draws, limits):
    """Return `Fits` from the modes of fits before, and from draws [p, K]."""
    known = _modes_or_best(before, limits)
    offsets = np.repeat(known.offsets[:, :1], draws.shape[1], 1)
    offsets = np.concatenate([known.offsets, offsets], 1)
    parameters = np.concatenate([known.parameters, draws], 1)
    return fit(objective, offsets, parameters, merge=limits[0])


def _modes_or_best(fits, limits):
    """Return the modes of fits, or the best fit where none is a mode."""
    kept = modes(fits, *limits)
    return kept if len(kept.costs) else fits.pick([int(np.argmin(fits.costs))])


def _agree(fits, best, merge):
    """Tell whether at least half of the fits have converged to the best one."""
    size = len(fits.offsets)
    information = np.linalg.inv(np.linalg.inv(best.information[0])[size:, size:])
    away = fits.parameters - best.parameters
    near = (away * (information @ away)).sum(0) < merge
    return 2 * (near & np.isfinite(fits.costs)).sum() >= len(near)


def cover_prior(problem, count, generator, mixture=None):
    """Return draws [p, count] that cover the prior; mixture: of the fits so far, or None."""
    prior = problem.prior
    draws = prior.mean[:, None] + prior.root @ generator.standard_normal((len(prior.mean), count))
    known = None if mixture is None else matched(mixture)
    return spread_evenly(draws, prior, problem.spacing, generator, known)


def with_known(problem, draws, mixture):
    """Return draws [p, K], up to half of them replaced by a mixture's, or one by the prior's."""
    known = problem.prior.mean[:, None]
    if mixture is not None:
        order = np.argsort(-mixture.log_weights, kind='stable')
        known = mixture.means[:, order[: draws.shape[1] // 2]]
    return np.concatenate([known, draws[:, known.shape[1] :]], 1)


def spread_evenly(draws, prior, spacing, generator, known=None):
    """
    Return initial guesses [p, K] that cover the prior evenly where draws would leave gaps.

    draws [p, K]: from the `Gaussian` prior; spacing [p]: how far apart guesses may be so that one
    of them converges to the optimum, infinite where any does; known: `Gaussian` of the parameters
    by the fits so far. A coordinate whose prior is wider than the spacing gets guesses in even
    steps over the middle 95 % of it, in a random order, until it is known to a part of the
    spacing.
    """
    draws, count = draws.copy(), draws.shape[1]
    for row in _wide(prior, spacing):
        if known is not None and _deviations(known)[row] < _KNOWN * spacing[row]:
            draws[row] = known.mean[row]
        else:
            steps = (2 * generator.permutation(count) + 1) / count - 1
            draws[row] = prior.mean[row] + _CENTRAL * _deviations(prior)[row] * steps
    return draws


def is_covered(problem, mixture):
    """Tell whether few starts may be enough: no coordinate needs guesses all over its prior."""
    rows = _wide(problem.prior, problem.spacing)
    if mixture is None or not len(rows):
        return not len(rows)
    return bool((_deviations(matched(mixture))[rows] < _KNOWN * problem.spacing[rows]).all())


def _wide(prior, spacing):
    """Return the coordinates whose prior is wider than the spacing of initial guesses."""
    return np.flatnonzero(2 * _CENTRAL * _deviations(prior) > spacing)


def _deviations(gaussian):
    return np.linalg.norm(gaussian.root, axis=1)


def modes(fits, merge, prune):
    """
    Return the distinct fits of notable evidence, none where no fit is finite.

    merge: squared distance below which two are the same; prune: least weight.
    """
    order = np.argsort(-fits.log_evidence(), kind='stable')
    fits = fits.pick(np.array(distinct_fits(fits, order, merge), dtype=int))
    if not len(fits.costs):
        return fits
    return fits.pick(log_normalized(fits.log_evidence()) > np.log(prune))


def distinct_fits(fits, order, merge):
    """Return which of the fits, in an order, are minima and not the same as an earlier one."""
    minima = [k for k in order if np.isfinite(fits.costs[k]) and _is_minimum(fits.information[k])]
    if not minima:
        return []
    size, kept = len(fits.offsets), fits.pick(minima)
    covariance = np.linalg.inv(kept.information)
    informations = np.linalg.inv(covariance[:, size:, size:])
    found = distinct(range(len(minima)), distances(kept.parameters, informations), merge)
    return [minima[k] for k in found]


def _is_minimum(information):
    """Tell whether a Hessian [n, n] is positive definite."""
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return False
    return True


def mixture_at_end(problem, window, fits, log_weights, drift, disturbances=None, noises=None):
    """
    Return the Laplace mixture at a window's end from modes at its beginning.

    drift: `Drift` of the parameters; disturbances: `Disturbances` that each component assumes.
    """
    points = problem.retract(np.repeat(window.point[:, None], len(fits.costs), 1), fits.offsets)
    factor = np.linalg.cholesky(fits.information)
    eye = np.broadcast_to(np.eye(factor.shape[-1]), factor.shape)
    roots = np.swapaxes(np.linalg.solve(factor, eye), -1, -2)
    mixture = Mixture(log_weights, points, fits.parameters, roots, disturbances, noises)
    states = problem.trajectory(points, fits.parameters, window.frames)
    pieces = linearize_along(problem, states, fits.parameters, window.frames, mixture.disturbances)
    pieces = split_by_frame(pieces, mixture.size)
    for begin, frame, found in zip(states, window.frames, pieces):
        roots = predict(
            roots,
            found.transition,
            problem.process_noise(
                (frame,), mixture.disturbances, mixture.means, (begin, found.ends)
            )[0],
            walk(problem, drift, frame.start_ns, frame.end_ns),
        )
    mixture = replace(mixture, points=found.ends, roots=roots)
    return mixture if disturbances is None else with_disturbances(problem, mixture)


def effective_share(objective, fits, log_weights, generator, draws=400, wanted=1.0):
    """
    Return how well the Gaussian mixture about fits stands for the posterior, 0 to 1.

    It is the effective sample size of importance sampling (Kong 1992) with the mixture as
    proposal, relative to the number of draws. A mode that no fit has found cannot be seen.
    log_weights [K]: of the fits; wanted: if a quarter of the draws shows clearly more than this,
    they are enough.
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
    """Return (draws [n, draws] from the mixture about fits, their log densities)."""
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


def refit(problem, window, before, noise):
    """
    Return (`Fits`, log weights [K], `NoiseScales`, whether noise explains the best).

    Every component of the mixture before gives the prior of the parameters and noises of one fit;
    its state is not used.
    """
    parts, noises, log_weights, is_explained = [], [], [], False
    for k, root in enumerate(lower_root(before.parameter_roots())):
        prior = Gaussian(before.means[:, k], root)
        offsets = np.zeros((problem.tangent_size, 1))
        known = None if before.noises is None else before.noises.pick([k])
        objective = Objective(problem, window, noise, prior, known)
        found, left = objective.with_noise_scales(fit(objective, offsets, before.means[:, [k]]))
        is_explained |= objective.is_explained_by(found)
        noises.append(left)
        parts.append(found)
        narrowness = np.log(np.abs(np.diag(root))).sum()
        log_weights.append(before.log_weights[k] + found.log_evidence()[0] - narrowness)
    fits = Fits(
        np.concatenate([p.offsets for p in parts], 1),
        np.concatenate([p.parameters for p in parts], 1),
        np.concatenate([p.costs for p in parts]),
        np.concatenate([p.information for p in parts]),
    )
    joined = None if before.noises is None else NoiseScales.joined(noises)
    return fits, log_normalized(np.array(log_weights)), joined, is_explained


def fit_augmented(objective, problem, known, settings, generator):
    """
    Return the modes of an augmented problem, or None if noise does not explain them.

    objective: of the augmented problem; problem, known: the one with fixed values, and its `Fits`;
    settings: starts, merge and prune as of the estimator.
    """
    augmented, best = objective.problem, int(np.argmin(known.costs))
    draws = cover_prior(augmented, settings.starts, generator)
    rows = [augmented.labels.index(label) for label in problem.labels]
    draws[:, 0] = augmented.prior.mean
    draws[rows, 0] = known.parameters[:, best]
    offsets = np.repeat(known.offsets[:, [best]], draws.shape[1], 1)
    # The known fit is mostly close. Other starts follow only if it does not lead to a fit.
    for some in (slice(1), slice(None)):
        found = fit(objective, offsets[:, some], draws[:, some], merge=settings.merge)
        fits = modes(found, settings.merge, settings.prune)
        if objective.is_explained_by(fits):
            return fits
    return None


def misspecified(augmented, problem, fits):
    """Return the names of fixed values that are far from their estimate, else of all."""
    best = int(np.argmin(fits.costs))
    covariance = np.linalg.inv(fits.information[best])
    size = len(fits.offsets)
    deviations = np.sqrt(np.diag(covariance))[size:]
    away = np.abs(fits.parameters[:, best] - augmented.prior.mean) / deviations
    fixed = [k for k, label in enumerate(augmented.labels) if label not in problem.labels]
    off = [k for k in fixed if away[k] > _OFF]
    return [augmented.names[k] for k in off or fixed]
