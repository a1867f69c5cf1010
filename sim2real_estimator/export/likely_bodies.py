"""
The likeliest robot near an estimate whose bodies can all be built.

A normal distribution knows of no limits: of light or slender links, of which data tell little, its
mean or its draws may be beyond what masses can do, in combinations that are told besides. Then all
numbers give way together, each as far as the posterior leaves it open.
"""

import numpy as np

from ..problem.linear_chart import LinearChart
from .blocks import blocks_of
from .interior import interior_point
from .possible_bodies import pseudo_inertias, sizes_of

# Parts of the prior's deviations, squared, below which two numbers are apart: it is rounding.
_APART = 1e-10
# Matrices that are changed by single steps, of all draws that are worked on at a time.
_AT_ONCE = 200_000


def likeliest_possible(problem, mixture, values):
    """
    Return values, name -> [D], of robots that can be built, nearest to others by a posterior.

    problem: a `RobotProblem`; mixture: the posterior, whose heaviest component says what is near;
    values: name -> [D]. Where a chart is not one of bodies, or none is found, they stay.
    """
    chart = problem.chart
    inner = chart.inner
    if not isinstance(inner, LinearChart):
        return values
    named = np.stack([values[name] for name in chart.names])
    coordinates = inner.from_named(named)
    left, sizes = _left(chart, mixture.parameter_covariances()[mixture.heaviest()])
    for block in blocks_of((np.abs(left) > _APART) | _of_one_body(inner)):
        bodies = np.flatnonzero(np.isin(inner.rows[:, 0], block))
        if bodies.size:
            root = sizes[block, None] * _root(left[np.ix_(block, block)])
            rows = np.searchsorted(block, inner.rows[bodies])
            for part in _parts(coordinates.shape[1], root.shape[1] * bodies.size):
                now = coordinates[block, part]
                steps = _steps(now[rows].transpose(2, 0, 1), root[rows])
                coordinates[block, part] = now + root @ steps.T
    return {**values, **dict(zip(chart.names, inner.to_named(coordinates)))}


def _left(chart, covariance):
    """
    Return (the posterior's covariance [P, P], by sizes [P]) in the inner coordinates of a chart.

    covariance [p, p]: of the combinations that data tell; the rest is as the prior leaves it.
    """
    prior = chart.inner.prior.covariance
    told = covariance - chart.combinations @ prior @ chart.combinations.T
    sizes = np.sqrt(np.diag(prior))
    return (prior + chart.basis @ told @ chart.basis.T) / np.outer(sizes, sizes), sizes


def _of_one_body(inner):
    """Return which coordinates [P, P] are numbers of the same body."""
    of_body = np.zeros((len(inner.rows), len(inner.names)))
    np.put_along_axis(of_body, inner.rows, 1.0, 1)
    return of_body.T @ of_body > 0


def _root(covariance):
    """Return a root [n, n] of a covariance that may be singular."""
    squares, directions = np.linalg.eigh(covariance)
    return directions * np.sqrt(np.maximum(squares, 0.0))


def _parts(count, size):
    """Return slices of draws of whose so many matrices a memory holds the slopes."""
    length = max(1, _AT_ONCE // size)
    return [slice(k, k + length) for k in range(0, count, length)]


def _steps(bodies, directions):
    """
    Return the least steps [D, k] after which bodies [D, l, 10] can be built, 0 without any.

    directions [l, 10, k]: what unit steps change.
    """
    sizes = sizes_of(bodies)
    slopes = np.stack([pseudo_inertias(d[None], sizes) for d in np.moveaxis(directions, -1, 0)], 1)
    lengths = np.ones((len(bodies), directions.shape[-1]))
    steps, is_possible = interior_point(pseudo_inertias(bodies, sizes), slopes, lengths)
    return np.where(is_possible[:, None], steps, 0.0)
