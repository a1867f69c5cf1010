"""
When data do not fit a description, whatever is estimated: too far from the prior, too noisy.

Estimates by a signal in another unit, of another link or with another clock are as narrow as good
ones. What gives them away is that no such robot was expected, or that more is left of a signal
than its noise. `torque_misfit` says more of torques.
"""

import numpy as np
from scipy.stats import chi2, norm

# Words of reports: what is wrong, and that nothing is any more; and that first fits lead nowhere.
MISFIT, FITS, ASTRAY = 'misfit: ', 'misfit over', 'astray'
# The largest disturbances that are reckoned with, in units of problems: where it takes these there
# may be any. And how much weight they have then.
MOST_PUSHED, _MOSTLY = 0.3, 0.9
# What is that improbable by the prior is not what it was meant for; it is said for as long as it
# is so at that part of the distance.
_IMPROBABLE, _HOLDS = 1e-6, 0.9
# A signal does not fit that is so many times as noisy as configured; it does again below that.
_TOO_NOISY, _FITS_BELOW = 3.0, 2.5


def doubts_of(problem, mixture, report, before=()):
    """
    Yield (kind, word of a report) for all that speaks against what a `Mixture` says.

    report: `UpdateReport` that came with it; before: kinds that were yielded the last time.
    """
    mean = mixture.means @ mixture.weights
    found = far_from_prior(problem.prior, mean, 'prior' in before)
    if found is not None:
        number, by = found
        yield 'prior', f'{MISFIT}prior {by:.2g} {problem.labels[number]}'
    if mixture.weights[mixture.scales >= MOST_PUSHED].sum() > _MOSTLY:
        yield 'efforts', f'{MISFIT}efforts'
    # Between two fits nothing new is known.
    is_fit = 'fitted' in report.events or report.stage == 'filter'
    if ASTRAY in report.events or ('motion' in before and not is_fit):
        yield 'motion', f'{MISFIT}motion'


def far_from_prior(prior, mean, is_said=False):
    """
    Return (number of the coordinate farthest off, by how many deviations), None: none is far.

    prior: `Gaussian` of coordinates [p]; mean [p]: of a posterior; is_said: whether one was far
    before. Far is one coordinate, or all of them together, where the prior hardly reaches.
    """
    away = mean - prior.mean
    by = np.abs(away) / np.sqrt((prior.root**2).sum(1))
    number, part = int(np.argmax(by)), _HOLDS if is_said else 1.0
    together = np.sqrt((np.linalg.solve(prior.root, away) ** 2).sum())
    is_far = by[number] > part * norm.isf(_IMPROBABLE / 2 / len(by))
    is_far |= together > part * np.sqrt(chi2.isf(_IMPROBABLE, len(by)))
    return (number, float(by[number])) if is_far else None


def too_noisy(factors, worst=None):
    """
    Return the number of the noisiest signal, None where all are as noisy as configured.

    factors [G]: how noisy they were found, over what is configured; worst: number of the one that
    was said to be too noisy before.
    """
    if not len(factors):
        return None
    number = int(np.argmax(factors))
    return number if factors[number] > (_TOO_NOISY if worst is None else _FITS_BELOW) else None
