"""What a sensor must tell the problem."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rows:
    """
    Residual rows of a sensor, predicted less measured, in standard deviations.

    values [B, m]; by_state [B, m, nx] in the state's own numbers, or None where nothing but
    outputs matter; by_outputs [B, m, k], or None where nothing but the state matters.
    """

    values: np.ndarray
    by_state: np.ndarray | None = None
    by_outputs: np.ndarray | None = None


class AbstractSensor(ABC):
    """
    A kind of measurement.

    name: of this sensor; value_size: length of `Sample.values`; row_size: residual rows;
    output_size: how many scalars `observe` adds to the simulator's outputs.
    """

    name = ''
    value_size = 0
    row_size = 0
    output_size = 0

    @abstractmethod
    def observe(self, robot, q, v):
        """Return `output_size` generic scalars that the residual needs; see `System`."""

    @abstractmethod
    def rows(self, states, outputs, values):
        """
        Return the `Rows` of measurements.

        states [nx, B]; outputs [output_size, B]; values [B, value_size], NaN where a part is
        missing: rows of what is missing are zero.
        """
