"""The posterior after every frame: parameters by name, and how well they are known."""

import numpy as np

from .records import Estimate


def summarize(problem, mixture, stamp_ns, report, verdicts, tangents):
    """
    Return the `Estimate` of a mixture in a problem's coordinates, with the verdicts on it.

    tangents: `Tangents` from the estimator's coordinates to all parameters, of which some may be
    no better known than before. Standard deviations are carried on to values at the mean.
    """
    chart = problem.chart
    mean, root = tangents.spread(mixture)
    values, spread = chart.inner.along(mean[:, None], root)
    values, sd = values[:, 0], np.sqrt(np.einsum('pr,pr->p', spread[0], spread[0]))
    names = tuple(chart.names)
    if problem.noises:
        names = (*names, *(f'{name}.noise' for name in problem.noises))
        logs, deviations = mixture.noises.moments(mixture.weights)
        values = np.concatenate([values, np.exp(logs)])
        sd = np.concatenate([sd, np.exp(logs) * deviations])
    return Estimate(stamp_ns, names, values, sd, tuple(verdicts), report)
