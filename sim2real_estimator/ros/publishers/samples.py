"""The topic `~/samples`: draws of the physical parameters, for domain randomization."""

import numpy as np

from ...problem.fibre import physical_draws
from .cloud import cloud_message, read_cloud

# Draws that do not settle are drawn anew, so often.
_ROUNDS = 5


def draw_samples(problem, mixture, count, seed, pause=None):
    """
    Return draws [P, count] of a problem's parameters, in the order of the names of its chart.

    mixture: in the problem's coordinates. What data cannot tell varies as in the prior, along the
    curves on which the robot moves alike; this may take seconds. The same seed gives the same
    draws. Where ever so few settle there are fewer than asked for. pause: as `physical_draws`.
    """
    generator, chart = np.random.default_rng(seed), problem.chart
    found = np.zeros((len(chart.names), 0))
    for _ in range(_ROUNDS):
        missing = count - found.shape[1]
        if missing:
            drawn = physical_draws(chart, mixture.draw(missing, generator), generator, pause)
            found = np.concatenate([found, drawn], 1)
    return chart.inner.to_named(found)


def samples_message(names, values, stamp_ns):
    """Return draws [P, N] of parameters as PointCloud2: a FLOAT64 field each, a point per draw."""
    return cloud_message(dict(zip(names, values)), stamp_ns)


def read_samples(message):
    """Return name -> draws [N] of a message; entries of the same index belong together."""
    return read_cloud(message)
