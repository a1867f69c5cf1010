"""Pinocchio on the workload of rods: differences of rollouts, or analytical derivatives."""

import ctypes

import numpy as np

from .compiler import address
from .pinocchio_library import pinocchio_library
from .workload import STEP

# Function of the library, and its width of differences by a length [m].
DIFFERENCES = 'rods_differences', 1e-6
SENSITIVITIES = 'rods_sensitivities', 1e-5


def build_pinocchio(work, method):
    """Return a function () -> (loss [B], gradient [D, B]); method: one of the above."""
    name, width = method
    function, inputs = getattr(pinocchio_library(), name), (work.X, work.T, work.Y)

    def run():
        loss, gradient = np.empty(work.batch), np.empty((len(work.T), work.batch))
        function(
            work.chain.count,
            ctypes.c_long(work.batch),
            ctypes.c_long(len(work.Y)),
            *map(address, inputs),
            address(loss),
            address(gradient),
            ctypes.c_double(STEP),
            ctypes.c_double(width),
            work.threads,
        )
        return loss, gradient

    return run
