"""
Misspecification of a description, in any estimator: too far from the prior, or too noisy.

Posteriors by a signal in another unit, of another link or with another clock are as narrow as good
ones. What reveals them is a robot that is improbable a priori, or residuals that exceed the noise
of a signal. `torque.units` tests more of measured torques.
"""

import numpy as np
from scipy.stats import chi2, norm

from ..reported_events import (
    DisturbancesTooLarge,
    FarFromPrior,
    Happened,
    MisfitTest,
    MotionNotExplained,
)

# The largest size of disturbances, in units of problems, which is taken for disturbances of any
# size; and the weight of components of that size from which on it is reported.
LARGEST_DISTURBANCE, _MOSTLY = 0.3, 0.9
# Tail probability under the prior from which on a posterior mean contradicts it; it is reported
# until its distance falls below this part of the bound.
_IMPROBABLE, _HOLDS = 1e-6, 0.9
# A signal does not fit that is so many times as noisy as configured, until it is below the second
# number.
_TOO_NOISY, _FITS_BELOW = 3.0, 2.5


def misfits_of(problem, mixture, report, before=()):
    """
    Yield a `Misfit` for each sign that the problem of a posterior `Mixture` is misspecified.

    report: `UpdateReport` that came with it; before: `MisfitTest`s that found one the last time.
    """
    mean = mixture.means @ mixture.weights
    found = far_from_prior(problem.prior, mean, MisfitTest.PRIOR in before)
    if found is not None:
        number, by = found
        yield FarFromPrior(problem.labels[number], by)
    if mixture.weights[mixture.disturbances.sizes >= LARGEST_DISTURBANCE].sum() > _MOSTLY:
        yield DisturbancesTooLarge()
    # Between two fits there is no new information.
    is_fit = Happened.FITTED in report.events or report.stage == 'filter'
    if Happened.POOR_FIT in report.events or (MisfitTest.MOTION in before and not is_fit):
        yield MotionNotExplained()


def far_from_prior(prior, mean, is_reported=False):
    """
    Return (number of the coordinate farthest from the prior, its distance), None: none is far.

    The distance is in standard deviations of the prior, a `Gaussian` of coordinates [p]; mean [p]:
    of a posterior; is_reported: whether one was far before. Far is a single coordinate by its
    normal tail, with the correction of Bonferroni, or all together by the chi square tail.
    """
    away = mean - prior.mean
    by = np.abs(away) / np.sqrt((prior.root**2).sum(1))
    number, part = int(np.argmax(by)), _HOLDS if is_reported else 1.0
    together = np.sqrt((np.linalg.solve(prior.root, away) ** 2).sum())
    is_far = by[number] > part * norm.isf(_IMPROBABLE / 2 / len(by))
    is_far |= together > part * np.sqrt(chi2.isf(_IMPROBABLE, len(by)))
    return (number, float(by[number])) if is_far else None


def too_noisy(factors, worst=None):
    """
    Return the number of the noisiest signal, None where all are as noisy as configured.

    factors [G]: learned over configured noise (ratios of Birge 1932); worst: number of the signal
    that was reported to be too noisy before.
    """
    if not len(factors):
        return None
    number = int(np.argmax(factors))
    return number if factors[number] > (_TOO_NOISY if worst is None else _FITS_BELOW) else None
