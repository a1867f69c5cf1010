"""What hangs together: fingers on a fixed palm have nothing to do with one another."""

import numpy as np


def blocks_of(couples):
    """
    Return the blocks [indices ...] into which n things fall, the first thing's first.

    couples [n, n]: whether one has to do with another; blocks are what follows by any detour.
    """
    near = (couples != 0) | (couples != 0).T | np.eye(len(couples), dtype=bool)
    labels = np.arange(len(near))
    while True:
        # Each takes the least number of those that it has to do with.
        least = np.where(near, labels, len(labels)).min(1)
        if (least == labels).all():
            return [np.flatnonzero(labels == k) for k in np.unique(labels)]
        labels = least
