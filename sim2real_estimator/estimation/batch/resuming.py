"""Going on with what is known of the parameters where nothing is known of the state."""

import numpy as np

from ..factors import lower_root
from ..gaussian import log_normalized
from ..noise_scales import NoiseScales
from ..protocol import Gaussian
from .fit import fit, Fits, Objective


def refit(problem, window, before, noise):
    """
    Return (`Fits`, log weights [K], `NoiseScales`) of a window, and whether noise explains it.

    One fit for every component. before: the `Mixture` whose parameters and noises are the prior;
    of its states nothing is used.
    """
    parts, noises, log_weights, is_explained = [], [], [], False
    for k, root in enumerate(lower_root(before.parameter_roots())):
        prior = Gaussian(before.means[:, k], root)
        offsets = np.zeros((problem.tangent_size, 1))
        known = None if before.noises is None else before.noises.pick([k])
        objective = Objective(problem, window, noise, prior, known)
        found, left = objective.settled(fit(objective, offsets, before.means[:, [k]]))
        is_explained |= objective.is_explained_by(found)
        noises.append(left)
        parts.append(found)
        narrowness = np.log(np.abs(np.diag(root))).sum()
        log_weights.append(before.log_weights[k] + found.log_evidence()[0] - narrowness)
    fits = Fits(
        np.concatenate([p.offsets for p in parts], 1),
        np.concatenate([p.parameters for p in parts], 1),
        np.concatenate([p.costs for p in parts]),
        np.concatenate([p.information for p in parts]),
    )
    joined = None if before.noises is None else NoiseScales.joined(noises)
    return fits, log_normalized(np.array(log_weights)), joined, is_explained
