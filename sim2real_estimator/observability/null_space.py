"""
From observable coordinates to all parameters: draws and points along the null space of the data.

Parameters with the same responses (accelerations and sensor outputs; `parameters.responses`) are
observationally equivalent: no data distinguish them. `nearest` projects onto such a set, in the
metric of the prior. That way `physical_draws` joins draws of the posterior with draws of the
prior; `tangents_of` linearizes the sets about the posterior.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from .tangents import Tangents
from .verdicts import modes_of, spectrum

_RANK_TOLERANCE = 1e-5
# Number of draws in memory at a time.
_AT_ONCE = 1000
# Tangents are reused within this distance, in prior standard deviations.
_NEAR = 0.01
# How often draws that do not converge are replaced by new ones.
_ATTEMPTS = 5
# Newton steps onto a slice: how many, the longest in prior standard deviations, and the largest
# mismatch of responses that counts as equivalent.
_CORRECTIONS, _LONGEST_CORRECTION, _EQUIVALENT = 8, 1.0, 1e-3
# The step of the last correction of a single robot.
_FINE = 1e-9
# Further searches by which a converged point becomes equivalent to the last digits.
_POLISHINGS = 2
# Most steps of a point; a few do not converge in any number.
_ROUNDS = 40
# Longest step and convergence, in prior standard deviations; then the mismatch that is allowed.
_LONGEST_STEP, _SHORTEST_STEP = 1.0, 1e-4
_CONVERGED = 1e-6
# Points that move in one round: so few that their slopes stay in the processor's cache.
_IN_A_ROUND = 16
# Earlier steps in Anderson's acceleration.
_MEMORY = 3
_TINY = 1e-10
# Relative ridge of the equations: keeps steps short where they become dependent, at an error far
# below the allowed mismatch.
_RIDGE = 1e-14


def physical_draws(parametrization, coordinates, generator, pause=None, mend=None):
    """
    Return draws [P, N'] of all parameters, as coordinates of the inner parametrization.

    coordinates [p, N]: draws of the estimator's coordinates. Each is joined with a draw of the
    prior: of all parameters that are equivalent to the former, it is the one nearest to the latter
    in the metric of the prior. Those few that do not converge are left out. pause: called before
    every longer computation, to let other threads run; mend: projection onto feasible parameters,
    as `mending` returns it.
    """
    offsets = parametrization.inner.offsets(coordinates.shape[1], generator)
    current = _linear_draws(parametrization, coordinates, offsets)
    if parametrization.is_straight:
        current = mend(current, offsets) if mend else current
        return current[:, parametrization.inner.are_sound(current)]
    size, converged = parametrization.responses.size, []
    known, prior = (
        parametrization.embed(coordinates),
        parametrization.inner.prior.mean[:, None] + offsets,
    )
    equations = _equations(parametrization, current.shape[1])
    for first in range(0, current.shape[1], _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        current[:size, part], is_converged = _nearest(
            equations, known[:size, part], prior[:size, part], current[:size, part], pause
        )
        converged.append(is_converged)
    return current[:, np.concatenate(converged) & parametrization.inner.are_sound(current)]


def straight_draws(parametrization, coordinates, generator):
    """
    Return draws [P, N] of all parameters along straight lines, in coordinates of `inner`.

    coordinates [p, N]: draws of the estimator's coordinates. The null space is drawn from the
    prior. This is fast, and exact where responses are linear.
    """
    offsets = parametrization.inner.offsets(coordinates.shape[1], generator)
    return _linear_draws(parametrization, coordinates, offsets)


def draw_samples(problem, mixture, count, seed, pause=None):
    """
    Return draws [P, count] of a problem's parameters, ordered as its parametrization's names.

    mixture: in the problem's coordinates. The null space varies as in the prior, along curves of
    equivalent parameters; this may take seconds. Where torques are linear in the coordinates, all
    draws are feasible robots. The same seed gives the same draws. There are fewer than `count` if
    too few converge. pause: as of `physical_draws`.
    """
    generator, parametrization = np.random.default_rng(seed), problem.parametrization
    found, mend = np.zeros((len(parametrization.names), 0)), mending(problem, mixture)
    for _ in range(_ATTEMPTS):
        missing = count - found.shape[1]
        if missing:
            coordinates = mixture.draw(missing, generator)
            drawn = physical_draws(parametrization, coordinates, generator, pause, mend)
            found = np.concatenate([found, drawn], 1)
    return parametrization.inner.to_named(found)


def mending(problem, mixture):
    """
    Return the function that projects draws of a posterior onto physically feasible parameters.

    It takes draws [P, N] of the posterior, and of the prior less its mean. None if the problem has
    no `PossibleRobots`.
    """
    if problem.possible is None:
        return None
    return partial(problem.possible.likeliest, problem.parametrization, mixture)


def likeliest(parametrization, coordinates):
    """
    Return (points [P, B], is converged [B]): the likeliest parameters at coordinates [p, B].

    Of all equivalent ones these are the nearest to the prior mean, in the metric of the prior.
    """
    points = parametrization.embed(coordinates)
    if parametrization.is_straight:
        return points, np.ones(points.shape[1], dtype=bool)
    size = parametrization.responses.size
    equations = _equations(parametrization, points.shape[1])
    wanted, found = (
        np.repeat(parametrization.inner.prior.mean[:size, None], points.shape[1], 1),
        points,
    )
    for _ in range(1 + _POLISHINGS):
        found, is_converged = _nearest(equations, points[:size], wanted, found[:size])
        # Further searches only remove the mismatch of responses.
        wanted = found
    return np.concatenate([found, points[size:]]), is_converged


def on_slice(parametrization, points):
    """
    Return (coordinates [p, B], is converged [B]) that are equivalent to points [P, B].

    points: inner coordinates. A Newton iteration along the slice.
    """
    coordinates = parametrization.combinations @ (
        points - parametrization.embed(np.zeros((len(parametrization.labels), 1)))
    )
    if parametrization.is_straight:
        return coordinates, np.ones(points.shape[1], dtype=bool)
    size, equations = parametrization.responses.size, _equations(parametrization, points.shape[1])
    basis = np.linalg.solve(
        parametrization.inner.prior.root[:size, :size], parametrization.basis[:size]
    )
    wanted = equations.point(points[:size])
    target = equations.sides(wanted)[0]
    for _ in range(_CORRECTIONS):
        here = equations.point(parametrization.embed(coordinates)[:size])
        values, slopes = equations.sides(here)
        missing = (target - values)[..., None]
        step = (np.linalg.pinv(slopes @ basis, rcond=_RANK_TOLERANCE) @ missing)[..., 0]
        step /= np.maximum(np.abs(step).max(1, keepdims=True) / _LONGEST_CORRECTION, 1.0)
        coordinates = coordinates + step.T
    here = equations.point(parametrization.embed(coordinates)[:size])
    return coordinates, equations.mismatch(here, wanted) < _EQUIVALENT


class Slice:
    """The coordinates of single robots, and their derivatives, by the compiled responses."""

    def __init__(self, parametrization):
        """Take a parametrization with a curved null space."""
        self._parametrization, size = parametrization, parametrization.responses.size
        self._equations, self._size = _equations(parametrization, _AT_ONCE), size
        root = parametrization.inner.prior.root[:size, :size]
        self._basis = np.linalg.solve(root, parametrization.basis[:size])
        self._whitening = np.linalg.inv(root)

    def coordinates(self, point):
        """Return (coordinates [p], their derivative [p, P]) at a point [P]; NaN: none there."""
        parametrization, size = self._parametrization, self._size
        sides = self._equations.sides
        target, by_point = sides(self._equations.point(point[:size, None]))
        start = parametrization.combinations @ (
            point - parametrization.embed(np.zeros((len(parametrization.labels), 1)))[:, 0]
        )
        found = start
        for _ in range(_ROUNDS):
            here = self._equations.point(parametrization.embed(found[:, None])[:size])
            values, slopes = sides(here)
            if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
                return np.full(len(start), np.nan), np.full((len(start), len(point)), np.nan)
            inverse = np.linalg.pinv(slopes[0] @ self._basis, rcond=_RANK_TOLERANCE)
            step = inverse @ (target - values)[0]
            longest = np.abs(step).max()
            found = found + step / max(longest / _LONGEST_CORRECTION, 1.0)
            if longest < _FINE:
                break
        # Delays are coordinates themselves.
        found = np.concatenate([found[: len(start) - len(point) + size], point[size:]])
        slope = np.array(parametrization.combinations)
        slope[:, :size] = inverse @ by_point[0] @ self._whitening
        return found, slope


def tangents_of(parametrization, mixture, before=None):
    """
    Return the `Tangents` at the modes of a mixture, in coordinates of the inner parametrization.

    Each is at the point nearest to the prior mean among all that are equivalent to the mode, so
    that the null space is linearized where it is likely. before: earlier `Tangents`, which are
    returned if the modes hardly moved.
    """
    metric = np.linalg.inv(parametrization.prior.root)
    modes = np.stack([mean for _, mean in modes_of(mixture)], 1)
    if parametrization.is_straight:
        return before or _same_everywhere(parametrization, metric)
    if before is not None and before.reach(modes, _NEAR):
        return before
    size, known = parametrization.responses.size, parametrization.embed(modes)
    centre = np.repeat(parametrization.inner.prior.mean[:size, None], known.shape[1], 1)
    is_like_before = before is not None and before.at.shape == modes.shape
    start = (before.follow(modes) if is_like_before else known)[:size]
    equations = _equations(parametrization, known.shape[1])
    found, is_converged = _nearest(equations, known[:size], centre, start)
    points = known.copy()
    points[:size] = np.where(is_converged, found, known[:size])
    slopes = np.repeat(parametrization.basis[None], points.shape[1], 0)
    root = parametrization.inner.prior.root
    basis = np.linalg.solve(root[:size, :size], parametrization.basis[:size])
    here, on_slice = (equations.sides(equations.point(x[:size]))[1] for x in (points, known))
    for k, changes in enumerate(on_slice @ basis):
        least = np.linalg.lstsq(here[k], changes, rcond=_RANK_TOLERANCE)[0]
        slopes[k, :size] = root[:size, :size] @ least
    return Tangents(modes, points, slopes, _unobservable(root, slopes), metric)


def spectrum_of(inner, mean, covariance):
    """
    Return the `Spectrum` of all parameters, with directions in prior deviations of each.

    mean [P], covariance [P, P]: of the posterior in coordinates of the inner parametrization.
    """
    found = spectrum(inner.prior.root, covariance)
    apart = inner.separation(mean[:, None])[0] @ inner.prior.root
    directions = apart / inner.apart.deviations[:, None] @ found.directions
    return replace(found, directions=directions)


def _unobservable(root, slopes):
    """
    Return the prior covariance [A, P, P] in the null space.

    root [P, P]: of the prior covariance; slopes [A, P, p]: span the observable directions.
    """
    observable = np.linalg.qr(np.linalg.solve(root, slopes))[0]
    unobservable = root @ (np.eye(len(root)) - observable @ np.swapaxes(observable, 1, 2))
    return unobservable @ root.T


def _same_everywhere(parametrization, metric):
    """Return the `Tangents` of a parametrization whose null space is the same everywhere."""
    at, slopes = np.zeros((len(metric), 1)), parametrization.basis[None]
    blind = np.zeros((1, *metric.shape))
    if parametrization.responses is not None:
        blind = _unobservable(parametrization.inner.prior.root, slopes)
    return Tangents(at, parametrization.embed(at), slopes, blind, metric)


def _linear_draws(parametrization, coordinates, offsets):
    """Return prior draws [P, N] shifted to observable coordinates [p, N], by the linear map."""
    return (
        parametrization.embed(coordinates)
        + offsets
        - parametrization.basis @ (parametrization.combinations @ offsets)
    )


def _equations(parametrization, points):
    """Return the `ResponseEquations` of a parametrization for so many points at once."""
    size = parametrization.responses.size
    return parametrization.responses.equations(
        len(parametrization.labels) - len(parametrization.names) + size, points
    )


def _nearest(equations, known, wanted, start, pause=None):
    """
    Return what `nearest` does, for inner coordinates [p, B] of the physical parameters.

    start: where the search begins.
    """
    points = (equations.point(each) for each in (known, wanted, start))
    found, is_converged = nearest(equations, *points, pause)
    return equations.coordinates(found), is_converged


def nearest(equations, known, wanted, start, pause=None):
    """
    Return (points [B, p], is converged [B]): nearest to `wanted` of all equivalent to `known`.

    A sequence of projections onto the linearized equations, with Anderson's acceleration.
    equations: the `ResponseEquations`, whose points (whitened coordinates) all are; start: where
    the search begins; pause: called before every longer computation.
    """
    points, left = start.copy(), np.full(len(start), _ROUNDS)
    targets, memory = _targets(equations, known), _Memory(*start.shape)
    while len(moving := np.flatnonzero(left)[:_IN_A_ROUND]):
        if pause:
            pause()
        at = points[moving]
        values, slopes = equations.sides(at)
        step = _step(slopes, targets[moving] - values, wanted[moving] - at)
        is_last = ~(np.abs(step).max(1) >= _SHORTEST_STEP)
        better = memory.better(moving, at, step)
        step = np.where(is_last[:, None], step, better)
        length = np.abs(step).max(1, keepdims=True)
        points[moving] = at + step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, _TINY))
        left[moving] = np.where(is_last, 0, left[moving] - 1)
    return points, equations.mismatch(points, known) < _CONVERGED


def _targets(equations, known):
    """Return the left sides of the equations [B, r] at the known points."""
    parts = range(0, len(known), _IN_A_ROUND)
    return np.concatenate([equations.sides(known[k : k + _IN_A_ROUND])[0] for k in parts])


def _step(slopes, missing, away):
    """
    Return the step [B, p] to the points nearest to the wanted on the linearized equations.

    slopes [B, r, p]: of the equations; missing [B, r]: targets less their left sides; away [B, p]:
    wanted points less present ones.
    """
    across = slopes @ slopes.transpose(0, 2, 1)
    across += _RIDGE * np.trace(across, axis1=1, axis2=2)[:, None, None] * np.eye(len(across[0]))
    lacking = missing[..., None] - slopes @ away[..., None]
    along = slopes.transpose(0, 2, 1) @ np.linalg.solve(across, lacking)
    return away + along[..., 0]


class _Memory:
    """
    The earlier steps of every point, for Anderson's acceleration.

    Without it convergence is linear, and slow where the equivalent parameters are strongly curved.
    """

    def __init__(self, count, size):
        """Take the number of points and of parameters."""
        self._moves, self._changes = np.zeros((2, count, _MEMORY, size))
        self._at, self._steps = np.zeros((2, count, size))
        self._number = np.zeros(count, dtype=int)

    def better(self, which, at, step):
        """Return accelerated steps [b, p] of points by index; step, at [b, p]: present ones."""
        number = self._number[which]
        old, place = which[number > 0], (number[number > 0] - 1) % _MEMORY
        self._moves[old, place] = at[number > 0] - self._at[old]
        self._changes[old, place] = step[number > 0] - self._steps[old]
        self._at[which], self._steps[which] = at, step
        self._number[which] += 1
        changes = self._changes[which]
        products = changes @ changes.transpose(0, 2, 1)
        ridge = _TINY * np.trace(products, axis1=1, axis2=2) + np.finfo(float).tiny
        products += ridge[:, None, None] * np.eye(_MEMORY)
        shares = np.linalg.solve(products, changes @ step[..., None])
        return step - ((self._moves[which] + changes).transpose(0, 2, 1) @ shares)[..., 0]
