"""Whether what is held fixed is what is wrong, where a motion is not explained."""

import numpy as np

from .fit import fit
from .laplace import modes
from .starts import cover_prior

# With what the event begins that names what is misspecified.
DOUBTS = 'doubts: '
# What is this many standard deviations off is named.
_OFF = 3.0


def fit_augmented(objective, problem, known, settings, generator):
    """
    Return the modes of `Fits` of an augmented problem, or None if noise does not explain them.

    objective: of the augmented problem; problem: the one whose fits are known; settings: with
    starts, merge and prune as of the estimator.
    """
    augmented, best = objective.problem, int(np.argmin(known.costs))
    draws = cover_prior(augmented, settings.starts, generator)
    rows = [augmented.labels.index(label) for label in problem.labels]
    draws[:, 0] = augmented.prior.mean
    draws[rows, 0] = known.parameters[:, best]
    offsets = np.repeat(known.offsets[:, [best]], draws.shape[1], 1)
    # From what is known it mostly is not far; others look for more once the augmented problem is
    # on.
    for some in (slice(1), slice(None)):
        found = fit(objective, offsets[:, some], draws[:, some], merge=settings.merge)
        fits = modes(found, settings.merge, settings.prune)
        if objective.is_explained_by(fits):
            return fits
    return None


def misspecified(augmented, problem, fits):
    """Return the names of what is far from where it is held, of all where nothing is."""
    best = int(np.argmin(fits.costs))
    covariance = np.linalg.inv(fits.information[best])
    size = len(fits.offsets)
    deviations = np.sqrt(np.diag(covariance))[size:]
    away = np.abs(fits.parameters[:, best] - augmented.prior.mean) / deviations
    doubts = [k for k, label in enumerate(augmented.labels) if label not in problem.labels]
    off = [k for k in doubts if away[k] > _OFF]
    return [augmented.parametrization.names[k] for k in off or doubts]
