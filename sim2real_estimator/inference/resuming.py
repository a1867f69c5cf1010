"""Going on with what is known of the parameters where nothing is known of the state."""

import numpy as np

from .batch import fit, Fits
from .gaussian import log_normalized
from .protocol import Gaussian


def refit(problem, window, before, noise):
    """
    Return (`Fits`, log weights [K]) of a window, one for every component of a mixture.

    before: the `Mixture` whose parameters are the prior; of its states nothing is used.
    """
    parts, log_weights = [], []
    for k, covariance in enumerate(before.parameter_covariances()):
        prior = Gaussian(before.means[:, k], np.linalg.cholesky(covariance))
        offsets = np.zeros((problem.tangent_size, 1))
        found = fit(problem, window, offsets, before.means[:, [k]], noise, prior)
        parts.append(found)
        narrowness = np.log(np.diag(prior.root)).sum()
        log_weights.append(before.log_weights[k] + found.log_evidence()[0] - narrowness)
    fits = Fits(
        np.concatenate([p.offsets for p in parts], 1),
        np.concatenate([p.parameters for p in parts], 1),
        np.concatenate([p.costs for p in parts]),
        np.concatenate([p.information for p in parts]),
    )
    return fits, log_normalized(np.array(log_weights))
