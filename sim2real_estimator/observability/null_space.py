"""From what data can tell back to physical parameters, under the prior."""

from dataclasses import replace
from functools import partial

import numpy as np

from .nearest import nearest
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


def straight_draws(chart, coordinates, generator):
    """
    Return draws [P, N] of all parameters, as coordinates of the inner chart, by straight lines.

    coordinates [p, N]: draws of the estimator's coordinates. What data cannot tell is drawn from
    the prior. Exact where responses are linear, and fast.
    """
    offsets = chart.inner.offsets(coordinates.shape[1], generator)
    return _on_a_straight_line(chart, coordinates, offsets)


def physical_draws(chart, coordinates, generator, pause=None, mend=None):
    """
    Return draws [P, N'] of all parameters, as coordinates of the inner chart.

    coordinates [p, N]: draws of the estimator's coordinates. Each is joined with a draw of the
    prior: the parameters nearest to that in the metric of the prior, among all that respond like
    the estimator's. The few that do not settle are left out. pause: called before every piece of
    work that takes a while, to let others go first; mend: `mending` of the posterior.
    """
    offsets = chart.inner.offsets(coordinates.shape[1], generator)
    current = _on_a_straight_line(chart, coordinates, offsets)
    if chart.is_straight:
        current = mend(current, offsets) if mend else current
        return current[:, chart.inner.are_sound(current)]
    size, settled = chart.responses.size, []
    known, prior = chart.embed(coordinates), chart.inner.prior.mean[:, None] + offsets
    equations = _equations(chart, current.shape[1])
    for first in range(0, current.shape[1], _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        current[:size, part], is_settled = _nearest(
            equations, known[:size, part], prior[:size, part], current[:size, part], pause
        )
        settled.append(is_settled)
    return current[:, np.concatenate(settled) & chart.inner.are_sound(current)]


def draw_samples(problem, mixture, count, seed, pause=None):
    """
    Return draws [P, count] of a problem's parameters, in the order of the names of its chart.

    mixture: in the problem's coordinates. What data cannot tell varies as in the prior, along the
    curves on which the robot moves alike; this may take seconds. Where torques are linear in the
    coordinates, all draws are robots that can be built. The same seed gives the same draws. Where
    ever so few settle there are fewer than asked for. pause: as `physical_draws`.
    """
    generator, chart = np.random.default_rng(seed), problem.chart
    found, mend = np.zeros((len(chart.names), 0)), mending(problem, mixture)
    for _ in range(_ATTEMPTS):
        missing = count - found.shape[1]
        if missing:
            coordinates = mixture.draw(missing, generator)
            drawn = physical_draws(chart, coordinates, generator, pause, mend)
            found = np.concatenate([found, drawn], 1)
    return chart.inner.to_named(found)


def mending(problem, mixture):
    """
    Return the function that makes draws of a posterior into ones that can be built.

    It takes draws [P, N] of the posterior, and of the prior less its mean. None where no problem
    is known by which to tell; see `PossibleRobots`.
    """
    if problem.possible is None:
        return None
    return partial(problem.possible.likeliest, problem.chart, mixture)


def likeliest(chart, coordinates):
    """
    Return (points [P, B], is settled [B]): all parameters at coordinates [p, B] of the estimator.

    Among all that respond alike it is those nearest to the mean of the prior, in its metric.
    """
    points = chart.embed(coordinates)
    if chart.is_straight:
        return points, np.ones(points.shape[1], dtype=bool)
    size = chart.responses.size
    equations = _equations(chart, points.shape[1])
    wanted, found = np.repeat(chart.inner.prior.mean[:size, None], points.shape[1], 1), points
    for _ in range(1 + _POLISHINGS):
        found, is_settled = _nearest(equations, points[:size], wanted, found[:size])
        # From now on only what is wanting to respond exactly alike is made up for.
        wanted = found
    return np.concatenate([found, points[size:]]), is_settled


def on_slice(chart, points):
    """
    Return (coordinates [p, B], is settled [B]) of the estimator that respond like points [P, B].

    points: of the inner chart.
    """
    coordinates = chart.combinations @ (points - chart.embed(np.zeros((len(chart.labels), 1))))
    if chart.is_straight:
        return coordinates, np.ones(points.shape[1], dtype=bool)
    size, equations = chart.responses.size, _equations(chart, points.shape[1])
    basis = np.linalg.solve(chart.inner.prior.root[:size, :size], chart.basis[:size])
    wanted = equations.point(points[:size])
    target = equations.sides(wanted)[0]
    for _ in range(_CORRECTIONS):
        here = equations.point(chart.embed(coordinates)[:size])
        values, slopes = equations.sides(here)
        missing = (target - values)[..., None]
        step = (np.linalg.pinv(slopes @ basis, rcond=_RANK_TOLERANCE) @ missing)[..., 0]
        step /= np.maximum(np.abs(step).max(1, keepdims=True) / _LONGEST_CORRECTION, 1.0)
        coordinates = coordinates + step.T
    here = equations.point(chart.embed(coordinates)[:size])
    return coordinates, equations.mismatch(here, wanted) < _ALIKE


def tangents_of(chart, mixture, before=None):
    """
    Return the `Tangents` at the separate answers of a mixture of the estimator's coordinates.

    All parameters are those of the inner chart. Each place is the point nearest to the prior's
    mean among all that respond alike, so what data cannot tell is linear about where it is
    likely. before: earlier `Tangents`, which are returned where the answers hardly moved.
    """
    metric = np.linalg.inv(chart.prior.root)
    answers = np.stack([mean for _, mean in modes_of(mixture)], 1)
    if chart.is_straight:
        return before or _same_everywhere(chart, metric)
    if before is not None and before.reach(answers, _NEAR):
        return before
    size, known = chart.responses.size, chart.embed(answers)
    centre = np.repeat(chart.inner.prior.mean[:size, None], known.shape[1], 1)
    is_like_before = before is not None and before.at.shape == answers.shape
    start = (before.follow(answers) if is_like_before else known)[:size]
    equations = _equations(chart, known.shape[1])
    found, is_settled = _nearest(equations, known[:size], centre, start)
    points = known.copy()
    points[:size] = np.where(is_settled, found, known[:size])
    slopes = np.repeat(chart.basis[None], points.shape[1], 0)
    root = chart.inner.prior.root
    basis = np.linalg.solve(root[:size, :size], chart.basis[:size])
    here, on_slice = (equations.sides(equations.point(x[:size]))[1] for x in (points, known))
    for k, changes in enumerate(on_slice @ basis):
        least = np.linalg.lstsq(here[k], changes, rcond=_RANK_TOLERANCE)[0]
        slopes[k, :size] = root[:size, :size] @ least
    return Tangents(answers, points, slopes, _unseen(root, slopes), metric)


def spectrum_of(inner, mean, covariance):
    """
    Return the `Spectrum` of all parameters, whose directions are in their own prior deviations.

    inner: an inner chart; mean [P], covariance [P, P]: of the posterior in its coordinates.
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


def _same_everywhere(chart, metric):
    """Return the `Tangents` of a chart in which what moves alike lies on straight lines."""
    at, slopes = np.zeros((len(metric), 1)), chart.basis[None]
    blind = np.zeros((1, *metric.shape))
    if chart.responses is not None:
        blind = _unseen(chart.inner.prior.root, slopes)
    return Tangents(at, chart.embed(at), slopes, blind, metric)


def _on_a_straight_line(chart, coordinates, offsets):
    """Return the prior draws, moved to the right combinations as far as a straight line does."""
    return chart.embed(coordinates) + offsets - chart.basis @ (chart.combinations @ offsets)


def _equations(chart, points):
    """Return the `FibreEquations` of a chart, to be asked for so many points at once."""
    size = chart.responses.size
    return chart.responses.equations(len(chart.labels) - len(chart.names) + size, points)


def _nearest(equations, known, wanted, start, pause=None):
    """
    Return (coordinates [p, B], is settled [B]): nearest to the wanted, responding as the known.

    start: where the search begins. All are coordinates of the physical parameters in the inner
    chart.
    """
    points = (equations.point(each) for each in (known, wanted, start))
    found, is_settled = nearest(equations, *points, pause)
    return equations.coordinates(found), is_settled
