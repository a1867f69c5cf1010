"""What hangs together: fingers on a fixed palm have nothing to do with one another."""

import numpy as np
from scipy.sparse.csgraph import connected_components


def blocks_of(couples):
    """
    Return the blocks [indices ...] into which n things fall, the first thing's first.

    couples [n, n]: whether one has to do with another; blocks are what follows by any detour.
    """
    count, labels = connected_components(couples, directed=False)
    found = [np.flatnonzero(labels == k) for k in range(count)]
    return sorted(found, key=lambda block: block[0])
