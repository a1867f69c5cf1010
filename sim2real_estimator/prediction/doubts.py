"""A problem with what is held fixed, and may be wrong all the same, among its unknowns."""

import copy
from dataclasses import replace

import numpy as np

from ..estimation.factors import lower_root
from ..estimation.protocol import Gaussian
from ..parameters.delays import is_delay
from ..parameters.parametrization import DirectChart, TimedChart
from ..parameters.parametrization_choice import straight_losses


def widened_chart(chart, doubts):
    """
    Return a chart with more unknowns, None where those it has do not stand for themselves.

    doubts: name -> `Prior` of the others.
    """
    is_timed = isinstance(chart, TimedChart)
    physical = chart.physical if is_timed else chart
    if not doubts or not isinstance(physical, DirectChart):
        return None
    own = chart.priors if is_timed else {}
    delays = {n: p for n, p in (*own.items(), *doubts.items()) if is_delay(n)}
    more = {name: prior for name, prior in doubts.items() if not is_delay(name)}
    straight = physical.straight | straight_losses(more)
    inner = DirectChart({**physical.priors, **more}, physical.fixed, straight)
    return TimedChart(inner, delays) if delays else inner


def known_as(problem, wider):
    """Return a wider problem that knows of the parameters of a problem what that does."""
    found, rows = copy.copy(wider), _rows(problem, wider)
    mean, root = wider.prior.mean.copy(), wider.prior.root.copy()
    mean[rows], root[np.ix_(rows, rows)] = problem.prior.mean, problem.prior.root
    found.prior, found.noise_prior = Gaussian(mean, root), problem.noise_prior
    return found


def narrowed(problem, wider, mixture):
    """Return what a mixture of a wider problem knows of the state and parameters of a problem."""
    rows, size = _rows(problem, wider), problem.tangent_size
    roots = lower_root(mixture.roots[:, [*range(size), *(size + row for row in rows)]])
    lasting = None if mixture.lasting is None else mixture.lasting[rows]
    return replace(mixture, means=mixture.means[rows], roots=roots, lasting=lasting)


def _rows(problem, wider):
    return [wider.labels.index(label) for label in problem.labels]
