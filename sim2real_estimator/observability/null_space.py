"""From what data can tell back to physical parameters, under the prior."""

from dataclasses import replace
from functools import partial

import numpy as np

from .tangents import Tangents
from .verdicts import modes_of, spectrum

_RANK_TOLERANCE = 1e-5
# So many draws are held in memory with all that leads to them.
_AT_ONCE = 1000
# Tangents serve within this many standard deviations of the prior.
_NEAR = 0.01
# Draws that do not settle are drawn anew, so often.
_ATTEMPTS = 5
# Steps to the place on a slice that responds like a point, in standard deviations of the prior,
# and what then counts as alike.
_CORRECTIONS, _LONGEST_CORRECTION, _ALIKE = 8, 1.0, 1e-3
# Steps by which what settled comes to respond alike to the last digits.
_POLISHINGS = 2
# Of the points of one call; a few do not settle in whatever number.
_ROUNDS = 40
# As standard deviations of the prior, as are all steps.
_LONGEST_STEP, _SHORTEST_STEP = 1.0, 1e-4
_SETTLED = 1e-6
# So many points move in a round: their slopes then stay in the processor's cache.
_IN_A_ROUND = 16
# Of earlier steps that a step takes into account.
_MEMORY = 3
_TINY = 1e-10
# Of the equations' slopes: keeps a step short where equations come to depend on one another, yet
# lets what it leaves of them be far less than what counts as settled.
_RIDGE = 1e-14


def physical_draws(parametrization, coordinates, generator, pause=None, mend=None):
    """
    Return draws [P, N'] of all parameters, as coordinates of the inner parametrization.

    coordinates [p, N]: draws of the estimator's coordinates. Each is joined with a draw of the
    prior: the parameters nearest to that in the metric of the prior, among all that respond like
    the estimator's. The few that do not settle are left out. pause: called before every piece of
    work that takes a while, to let others go first; mend: `mending` of the posterior.
    """
    offsets = parametrization.inner.offsets(coordinates.shape[1], generator)
    current = _on_a_straight_line(parametrization, coordinates, offsets)
    if parametrization.is_straight:
        current = mend(current, offsets) if mend else current
        return current[:, parametrization.inner.are_sound(current)]
    size, settled = parametrization.responses.size, []
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
        settled.append(is_converged)
    return current[:, np.concatenate(settled) & parametrization.inner.are_sound(current)]


def straight_draws(parametrization, coordinates, generator):
    """
    Return draws [P, N] of all parameters along straight lines, in coordinates of `inner`.

    coordinates [p, N]: draws of the estimator's coordinates. What data cannot tell is drawn from
    the prior. Exact where responses are linear, and fast.
    """
    offsets = parametrization.inner.offsets(coordinates.shape[1], generator)
    return _on_a_straight_line(parametrization, coordinates, offsets)


def draw_samples(problem, mixture, count, seed, pause=None):
    """
    Return draws [P, count] of a problem's parameters, ordered as its parametrization's names.

    mixture: in the problem's coordinates. What data cannot tell varies as in the prior, along the
    curves on which the robot moves alike; this may take seconds. Where torques are linear in the
    coordinates, all draws are robots that can be built. The same seed gives the same draws. Where
    ever so few settle there are fewer than asked for. pause: as `physical_draws`.
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
    Return the function that makes draws of a posterior into ones that can be built.

    It takes draws [P, N] of the posterior, and of the prior less its mean. None where no problem
    is known by which to tell; see `PossibleRobots`.
    """
    if problem.possible is None:
        return None
    return partial(problem.possible.likeliest, problem.parametrization, mixture)


def likeliest(parametrization, coordinates):
    """
    Return (points [P, B], is settled [B]): all parameters at coordinates [p, B] of the estimator.

    Among all that respond alike it is those nearest to the mean of the prior, in its metric.
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
        # From now on only what is wanting to respond exactly alike is made up for.
        wanted = found
    return np.concatenate([found, points[size:]]), is_converged


def on_slice(parametrization, points):
    """
    Return (coordinates [p, B], is settled [B]) of the estimator that respond like points [P, B].

    points: of the inner parametrization.
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
    return coordinates, equations.mismatch(here, wanted) < _ALIKE


def tangents_of(parametrization, mixture, before=None):
    """
    Return the `Tangents` at the separate answers of a mixture of the estimator's coordinates.

    All parameters are those of the inner parametrization. Each place is the point nearest to the
    prior's mean among all that respond alike, so what data cannot tell is linear about where it is
    likely. before: earlier `Tangents`, which are returned where the answers hardly moved.
    """
    metric = np.linalg.inv(parametrization.prior.root)
    answers = np.stack([mean for _, mean in modes_of(mixture)], 1)
    if parametrization.is_straight:
        return before or _same_everywhere(parametrization, metric)
    if before is not None and before.reach(answers, _NEAR):
        return before
    size, known = parametrization.responses.size, parametrization.embed(answers)
    centre = np.repeat(parametrization.inner.prior.mean[:size, None], known.shape[1], 1)
    is_like_before = before is not None and before.at.shape == answers.shape
    start = (before.follow(answers) if is_like_before else known)[:size]
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
    return Tangents(answers, points, slopes, _unseen(root, slopes), metric)


def spectrum_of(inner, mean, covariance):
    """
    Return the `Spectrum` of all parameters, whose directions are in their own prior deviations.

    inner: an inner parametrization; mean [P], covariance [P, P]: of the posterior in its
    coordinates.
    """
    found = spectrum(inner.prior.root, covariance)
    apart = inner.separation(mean[:, None])[0] @ inner.prior.root
    directions = apart / inner.apart.deviations[:, None] @ found.directions
    return replace(found, directions=directions)


def _unseen(root, slopes):
    """Return the covariance [A, P, P] that slopes [A, P, p] leave of one with a root."""
    seen = np.linalg.qr(np.linalg.solve(root, slopes))[0]
    unseen = root @ (np.eye(len(root)) - seen @ np.swapaxes(seen, 1, 2))
    return unseen @ root.T


def _same_everywhere(parametrization, metric):
    """Return the `Tangents` of a parametrization whose null space is the same everywhere."""
    at, slopes = np.zeros((len(metric), 1)), parametrization.basis[None]
    blind = np.zeros((1, *metric.shape))
    if parametrization.responses is not None:
        blind = _unseen(parametrization.inner.prior.root, slopes)
    return Tangents(at, parametrization.embed(at), slopes, blind, metric)


def _on_a_straight_line(parametrization, coordinates, offsets):
    """Return the prior draws, moved to the right combinations as far as a straight line does."""
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
    Return (coordinates [p, B], is settled [B]): nearest to the wanted, responding as the known.

    start: where the search begins. All are coordinates of the physical parameters in the inner
    parametrization.
    """
    points = (equations.point(each) for each in (known, wanted, start))
    found, is_converged = nearest(equations, *points, pause)
    return equations.coordinates(found), is_converged


def nearest(equations, known, wanted, start, pause=None):
    """
    Return (points [B, p], is settled [B]): nearest to the wanted, responding as the known.

    equations: `ResponseEquations`, of whose points all are; start: where the search begins; pause:
    called before every piece of work that takes a while.
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
    return points, equations.mismatch(points, known) < _SETTLED


def _targets(equations, known):
    """Return the left sides of the equations [B, r] at the known points."""
    parts = range(0, len(known), _IN_A_ROUND)
    return np.concatenate([equations.sides(known[k : k + _IN_A_ROUND])[0] for k in parts])


def _step(slopes, missing, away):
    """
    Return the step [B, p] to the wanted points as far as the linear equations let go.

    slopes [B, r, p]; missing [B, r]: of the left sides; away [B, p]: where the wanted points are.
    """
    across = slopes @ slopes.transpose(0, 2, 1)
    across += _RIDGE * np.trace(across, axis1=1, axis2=2)[:, None, None] * np.eye(len(across[0]))
    lacking = missing[..., None] - slopes @ away[..., None]
    along = slopes.transpose(0, 2, 1) @ np.linalg.solve(across, lacking)
    return away + along[..., 0]


class _Memory:
    """
    Makes steps better by those before them (Anderson's acceleration).

    The steps alone come nearer at a constant rate, a slow one where the curves are bent.
    """

    def __init__(self, count, size):
        """Take how many points there are, and of how many parameters."""
        self._moves, self._changes = np.zeros((2, count, _MEMORY, size))
        self._at, self._steps = np.zeros((2, count, size))
        self._number = np.zeros(count, dtype=int)

    def better(self, which, at, step):
        """Return better steps [b, p] than `step` from `at`, for the points of those indices."""
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
