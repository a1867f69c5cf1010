"""The posterior after every frame: parameters by name, and how well they are known."""

from functools import partial

import numpy as np

from ..records import Estimate


def summarize(problem, mixture, stamp_ns, report, findings, tangents):
    """
    Return the `Estimate` of a mixture in a problem's coordinates, with the verdicts on it.

    findings: `Findings` that have them; tangents: `Tangents` from the estimator's coordinates to
    all parameters, of which some may be no better known than before. The numbers are worked out
    when they are asked for.
    """
    names = tuple(problem.parametrization.names)
    if problem.noises:
        names = (*names, *(f'{name}.noise' for name in problem.noises))
    numbers = partial(_numbers, problem, mixture, tangents)
    return Estimate.when_asked(stamp_ns, names, numbers, findings, report)


def _numbers(problem, mixture, tangents):
    """Return means and standard deviations of all parameters, carried on to values at the mean."""
    mean, root = tangents.spread(mixture)
    values, spread = problem.parametrization.inner.along(mean[:, None], root)
    values, sd = values[:, 0], np.sqrt(np.einsum('pr,pr->p', spread[0], spread[0]))
    if problem.noises:
        logs, deviations = mixture.noises.moments(mixture.weights)
        values = np.concatenate([values, np.exp(logs)])
        sd = np.concatenate([sd, np.exp(logs) * deviations])
    return values, sd
