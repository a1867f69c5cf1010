"""How much an estimator simulates: a native backend that counts."""

from contextlib import contextmanager

import numpy as np

from ...backend import AbstractBackend, BACKENDS
from ...backend.native.backend import NativeBackend


class SimulatedTime:
    """
    Simulated time of all robots together.

    seconds: of rollouts, with or without derivatives [s]; by_differences: the same if derivatives
    along n directions were n rollouts more, as finite differences would take; where rows are
    carried backwards in time, n is the number of states and parameters [s].
    """

    def __init__(self):
        """Begin with none."""
        self.seconds = self.by_differences = 0.0

    def add(self, inputs, directions=0):
        """Count a call of a backend with `RolloutInputs`."""
        durations = np.asarray(inputs.durations)
        robots = inputs.batch if durations.shape[-1] == 1 else 1
        seconds = float(durations.sum()) * robots
        self.seconds += seconds
        self.by_differences += seconds * (1 + directions)


@contextmanager
def counted(total):
    """Let whatever builds a native backend meanwhile take one that adds to a `SimulatedTime`."""

    class Counting(NativeBackend):
        """The native backend; every method adds what it simulates."""

        def rollout(self, inputs, mode='reverse'):
            total.add(inputs)
            return super().rollout(inputs, mode)

        def loss(self, inputs, *arguments):
            total.add(inputs, _unknowns(inputs))
            return super().loss(inputs, *arguments)

        def loss_function(self, inputs, *arguments):
            # The one of the base calls `loss`, which counts.
            return AbstractBackend.loss_function(self, inputs, *arguments)

        def jacobian(self, inputs):
            total.add(inputs, _unknowns(inputs))
            return super().jacobian(inputs)

        def rollout_arrays(self, inputs):
            total.add(inputs)
            return super().rollout_arrays(inputs)

        def jacobian_arrays(self, inputs):
            total.add(inputs, _unknowns(inputs))
            return super().jacobian_arrays(inputs)

        def directions_arrays(self, inputs, seeds):
            total.add(inputs, seeds[0].shape[-1])
            return super().directions_arrays(inputs, seeds)

        def tangents(self, inputs, columns):
            total.add(inputs, len(columns))
            return super().tangents(inputs, columns)

    usual = BACKENDS[NativeBackend.name]
    BACKENDS[NativeBackend.name] = Counting
    try:
        yield
    finally:
        BACKENDS[NativeBackend.name] = usual


def _unknowns(inputs):
    """Return the number of states and parameters of `RolloutInputs`."""
    return len(inputs.state) + len(inputs.parameters)
