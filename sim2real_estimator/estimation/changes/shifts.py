"""Whether samples miss what was predicted of them on one side, frame after frame."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

# What is added to information, as a part of it, so that what nothing tells of does not matter.
_LITTLE = 1e-9


@dataclass(frozen=True)
class BiasScore:
    """
    Where the samples of a frame pull the positions that were predicted at its beginning.

    force [v]: derivative of their log probability by a shift; information [v, v]: less its second.
    """

    force: np.ndarray
    information: np.ndarray


def bias_score(residual, seen, slope):
    """
    Return the `BiasScore` of rows [m]: predicted less measured, in units of the noise.

    seen [m, n]: the root of what was known, as the rows see it; slope [m, v]: their derivative by
    the positions.
    """
    if not residual.size:
        return BiasScore(np.zeros(slope.shape[1]), np.zeros((slope.shape[1],) * 2))
    spread = seen @ seen.T
    spread.flat[:: len(spread) + 1] += 1.0
    factor, _ = lapack.dpotrf(spread.T, overwrite_a=1, lower=1)
    rows = np.concatenate([slope, -residual[:, None]], 1)
    whitened, _ = lapack.dtrtrs(factor, rows, lower=1)
    told = whitened[:, :-1].T @ whitened
    return BiasScore(told[:, -1], told[:, :-1])


def bias_statistics(pulls):
    """
    Return how far the last two, three, ... of frames are shifted all alike, [W].

    pulls: of frames, the last one last. In squared standard deviations: chi-squared, of as many
    degrees as there are positions, where nothing but noise shifts them.
    """
    latest_first = pulls[::-1]
    forces = np.array([pull.force for pull in latest_first]).cumsum(0)[1:]
    informations = np.array([pull.information for pull in latest_first]).cumsum(0)[1:]
    # What is written there is in these.
    diagonals = informations.reshape(len(forces), -1)[:, :: forces.shape[1] + 1]
    diagonals += _LITTLE * diagonals.max(-1, keepdims=True, initial=1.0)
    shifts = np.linalg.solve(informations, forces[..., None])[..., 0]
    return (forces * shifts).sum(-1)
