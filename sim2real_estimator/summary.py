"""The posterior after every frame: parameters by name, and how well they are known."""

import numpy as np

from .records import Estimate


def summarize(problem, mixture, stamp_ns, report, verdicts):
    """
    Return the `Estimate` of a mixture in a problem's coordinates, with the verdicts on it.

    Standard deviations are carried to the named parameters by the chart's slope at the mean.
    What the chart leaves out, because no data can tell it, is as uncertain as before.
    """
    chart = problem.chart
    mean, covariance = mixture.moments()
    values = chart.to_named(mean[:, None])[:, 0]
    slope = chart.slope(mean[:, None])[0]
    priors = [chart.priors[name] for name in chart.names]
    before = np.array([p.sd * abs(v) if p.is_log else p.sd for p, v in zip(priors, values)])
    unseen = before**2 - ((slope @ problem.prior.root) ** 2).sum(1)
    seen = ((slope @ covariance) * slope).sum(1)
    sd = np.sqrt(np.maximum(unseen, 0.0) + seen)
    names = tuple(chart.names)
    if problem.noises:
        names = (*names, *(f'{name}.noise' for name in problem.noises))
        logs, deviations = mixture.noises.moments(mixture.weights)
        values = np.concatenate([values, np.exp(logs)])
        sd = np.concatenate([sd, np.exp(logs) * deviations])
    return Estimate(stamp_ns, names, values, sd, tuple(verdicts), report)
