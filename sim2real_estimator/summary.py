"""The posterior in the words of people: parameters by name, how well known, and why."""

import numpy as np

from .inference.verdicts import Verdict
from .records import Estimate

# Shares of the prior's standard deviation from which on it is the prior's own, or partly so.
_PRIOR_ONLY, _PRIOR_ASSISTED = 0.9, 0.3


def summarize(problem, mixture, stamp_ns, report):
    """
    Return the `Estimate` of a mixture in a problem's coordinates.

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
    verdicts = tuple(_verdict(now, then) for now, then in zip(sd, before))
    return Estimate(stamp_ns, tuple(chart.names), values, sd, verdicts, report)


def _verdict(sd, prior_sd):
    """Return the word for what is left of the prior's standard deviation."""
    if not sd < _PRIOR_ONLY * prior_sd:
        return Verdict.PRIOR_ONLY.value
    assisted = sd >= _PRIOR_ASSISTED * prior_sd
    return (Verdict.PRIOR_ASSISTED if assisted else Verdict.IDENTIFIED).value
