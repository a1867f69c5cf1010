"""
The likeliest robot near an estimate whose bodies can all be built.

A normal distribution knows of no limits: of light or slender links, of which data tell little, its
mean or its draws may be beyond what masses can do, in combinations that are told besides. Then all
numbers give way together, each as far as the posterior leaves it open.
"""

import numpy as np

from ..problem.linear_chart import LinearChart
from .interior import interior_point
from .possible_bodies import pseudo_inertias, sizes_of


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
    root = _root(chart, mixture.parameter_covariances()[mixture.heaviest()])
    for column in coordinates.T:
        column += root @ _steps(column[inner.rows][None], root[inner.rows][None])
    return {**values, **dict(zip(chart.names, inner.to_named(coordinates)))}


def _root(chart, covariance):
    """
    Return a root [P, k] of the posterior's covariance in the inner coordinates of a chart.

    covariance [p, p]: of the combinations that data tell; the rest is as the prior leaves it.
    """
    prior = chart.inner.prior.covariance
    told = covariance - chart.combinations @ prior @ chart.combinations.T
    sizes = np.sqrt(np.diag(prior))
    left = (prior + chart.basis @ told @ chart.basis.T) / np.outer(sizes, sizes)
    squares, directions = np.linalg.eigh(left)
    return sizes[:, None] * directions * np.sqrt(np.maximum(squares, 0.0))


def _steps(bodies, directions):
    """Return the least steps [k] after which bodies [1, L, 10] can be built, 0 without any."""
    sizes = sizes_of(bodies)
    slopes = np.stack([pseudo_inertias(d, sizes) for d in np.moveaxis(directions, -1, 0)], 1)
    count = directions.shape[-1]
    steps, is_possible = interior_point(
        pseudo_inertias(bodies, sizes), slopes, np.ones((1, count))
    )
    return steps[0] if is_possible[0] else np.zeros(count)
