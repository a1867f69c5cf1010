"""
Smoother fits of a window: all states are unknowns, since unknown forces act on the robot.

`fit_by_smoothing` converges from several trajectories with one, large disturbance; then
every one of the bank is tried from there, and the evidence weighs them.
"""

from dataclasses import replace

import numpy as np
from scipy.special import chdtri

from ..disturbances import Disturbances, NO_DISTURBANCE
from ..drift import STILL
from ..factors import lower_root
from ..filter.smoother import Smoother, Trajectories
from ..filter.update import measurement_update
from ..mixture import distances, distinct, Mixture
from .multi_start import with_known

# Probability with which noise exceeds the misfit of a model that fits, and the squares a row that
# are allowed where disturbances act: no scale is exactly that of every joint.
_IMPROBABLE, _OF_DISTURBED = 1e-6, 1.1
_FEW_PASSES = 5
# Log evidence by which a scale may fall short of the best after two iterations. Further iterations
# gain less than half of this, and a component that is half of it behind would be pruned.
_HOPELESS = 30.0
# The largest scale with which fits converge from far: half of the friction. With a larger one a
# robot without inertia explains any motion.
_LARGE = 0.15


def fit_by_smoothing(
    problem, window, begins, noise, hypotheses, first=None, drift=STILL, merge=0.5
):
    """
    Return (`Mixture` at the end or None, its `Trajectories`, whether they fit the window).

    window: `Window`; begins: initial `Trajectories`; hypotheses: `Disturbance`s, weighted by
    evidence; first: the one with which fits converge from the initial trajectories, None: a
    large one; merge: squared distance below which two fits are the same.
    """
    count = begins.parameters.shape[1]
    bank = hypotheses if problem.disturbance_size else (NO_DISTURBANCE,)
    if first is None:
        first = max((each for each in bank if each.size <= _LARGE), default=min(bank))
    known = _before(problem, window, [first] * count)
    found = Smoother(problem, window.frames, noise, known, drift).run(begins)
    kept = _distinct(found, problem.tangent_size, merge)
    if not kept:
        return None, None, False
    if len(bank) > 1:
        known = _before(problem, window, [each for each in bank for _ in kept])
        smoother = Smoother(problem, window.frames, noise, known, drift)
        # Others move the trajectories little from here. Without disturbances none may fit.
        begins = found.trajectories.pick(np.tile(kept, len(bank)))
        spread = smoother.run(begins, _FEW_PASSES, _HOPELESS)
        finite = np.flatnonzero(np.isfinite(spread.log_evidence))
        if len(finite):
            found, kept = spread, finite
    best = kept[int(np.argmax(found.log_evidence[kept]))]
    rows, is_disturbed = found.rows[best], found.mixture.disturbances.sizes[best] > 0
    limit = max(chdtri(rows, _IMPROBABLE), _OF_DISTURBED * rows * is_disturbed)
    fits = found.is_converged[best] and (noise.expects_outliers or found.misfits[best] < limit)
    return found.mixture.pick(kept), found.trajectories.pick(kept), bool(fits)


def first_trajectories(
    problem, window, draws, noise, mixture=None, trajectories=None, is_astray=False
):
    """
    Return initial `Trajectories` [.., S], at most half of them those of the last fit.

    draws [p, S]: parameters of the others, whose motion is guessed from the samples; mixture,
    trajectories: of the last fit, of the first frames of the window; a filter extends them.
    is_astray: whether they did not fit; then there is one more, at the prior's mean.
    """
    if trajectories is None:
        begins = with_known(problem, draws, mixture)
        return Trajectories(_guessed(problem, window.frames, draws.shape[1]), begins)
    order = np.argsort(-mixture.log_weights, kind='stable')[: max(1, draws.shape[1] // 2)]
    mixture, trajectories = mixture.pick(order), trajectories.pick(order)
    new = draws[:, len(order) :]
    if is_astray:
        # A few frames may lead to parameters from which fits do not converge to better ones.
        new = np.concatenate([problem.prior.mean[:, None], new], 1)
    points = [*trajectories.points]
    for frame in window.frames[len(trajectories.points) - 1 :]:
        step = measurement_update(problem, mixture, frame, noise)
        if step is None:
            return first_trajectories(problem, window, draws, noise)
        mixture = step.mixture
        points.append(mixture.points)
    found = Trajectories(np.array(points), trajectories.parameters)
    if not new.shape[1]:
        return found
    return Trajectories(
        np.concatenate([found.points, _guessed(problem, window.frames, new.shape[1])], 2),
        np.concatenate([found.parameters, new], 1),
    )


def _guessed(problem, frames, count):
    """Return states [H + 1, nx, S] at frame bounds guessed from the samples, S times the same."""
    return np.repeat(problem.first_trajectory(frames)[..., None], count, 2)


def resume_by_smoothing(problem, window, before, noise, drift=STILL):
    """
    Return the mixture at a window's end with known parameters, None where nothing is finite.

    before: the `Mixture` that is the prior of parameters and noises; its states are not used.
    """
    known = _before(problem, window, before.disturbances.each, before)
    guess = _guessed(problem, window.frames, before.size)
    found = Smoother(problem, window.frames, noise, known, drift).run(
        Trajectories(guess, before.means)
    )
    finite = np.flatnonzero(np.isfinite(found.log_evidence))
    return found.mixture.pick(finite) if len(finite) else None


def _before(problem, window, hypotheses, parameters=None):
    """
    Return the prior at a window's beginning, one component for every `Disturbance`.

    parameters: `Mixture` that is the prior of parameters and noises; None: the problem's prior.
    """
    t, n, count = problem.tangent_size, problem.tangent_size + len(problem.labels), len(hypotheses)
    roots = np.zeros((count, n, n))
    roots[:, :t, :t] = window.root
    disturbances = Disturbances.of(hypotheses)
    rows = np.arange(t - problem.disturbance_size, t)
    points = np.repeat(window.point[:, None], count, 1)
    means = np.repeat(problem.prior.mean[:, None], count, 1)
    if parameters is not None:
        means = parameters.means
    roots[:, rows, rows] = problem.disturbances(disturbances, means, points)
    even = Mixture(np.zeros(count), points, np.zeros((n - t, count)), roots, disturbances)
    if parameters is None:
        roots[:, t:, t:] = problem.prior.root
        noises = problem.noise_prior
        return replace(even, means=means, noises=None if noises is None else noises.tiled(count))
    roots[:, t:, t:] = lower_root(parameters.parameter_roots())
    return replace(
        even,
        log_weights=parameters.log_weights,
        means=means,
        noises=parameters.noises,
    )


def _distinct(found, size, merge):
    """
    Return the indices of finite fits that are not the same as a better one, best first.

    Only a fit that has converged has a meaningful evidence; others are used if none has.
    """
    order = np.argsort(-found.log_evidence, kind='stable')
    order = [k for k in order if np.isfinite(found.log_evidence[k])]
    order = [k for k in order if found.is_converged[k]] or order
    if not order:
        return []
    roots = found.mixture.roots[order][:, size:]
    informations = np.linalg.inv(roots @ np.swapaxes(roots, 1, 2))
    squared = distances(found.mixture.means[:, order], informations)
    return [order[k] for k in distinct(range(len(order)), squared, merge)]
