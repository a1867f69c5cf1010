"""What a sensor must tell the problem."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rows:
    """
    Residual rows of a sensor, predicted less measured, in standard deviations.

    values [B, m]; by_state [B, m, nx] in the state's own numbers, [1, m, nx] where it is the same
    for all, or None where nothing but outputs matter; by_outputs [B, m, k], or None where nothing
    but the state matters.
    """

    values: np.ndarray
    by_state: np.ndarray | None = None
    by_outputs: np.ndarray | None = None


@dataclass(frozen=True)
class Signal:
    """
    What one residual row is about.

    label: such as 'elbow position'; unit; sd: of its noise; place: of what is measured among the
    values, None where the row is a deviation that is no difference of numbers.
    """

    label: str
    unit: str
    sd: float
    place: int | None


class AbstractSensor(ABC):
    """
    A kind of measurement.

    name: of this sensor; value_size: length of `Sample.values`; row_size: residual rows;
    output_size: how many scalars `observe` adds to the simulator's outputs. message_types: of
    the messages it can read, the usual one first; message_type: of those it does read. scale
    [value_size]: standard deviations of the values, infinite where one is not used; joints:
    names of those that move what it measures; measures_joints: whether it measures these joints
    themselves; may_repeat: whether its values are coarse. Of either the values may stay the same
    to the last bit.
    """

    name = ''
    parameters = ()
    message_types = ()
    message_type = ''
    joints = ()
    measures_joints = False
    may_repeat = False
    value_size = 0
    row_size = 0
    output_size = 0

    @property
    @abstractmethod
    def scale(self):
        """Standard deviations of the values [value_size]."""

    @property
    @abstractmethod
    def signals(self):
        """A `Signal` for every residual row, in their order."""

    @abstractmethod
    def decode(self, message, arrived_ns=None):
        """
        Return the `Decoded` of a message, read by its plain attributes.

        arrived_ns: when it came, for messages that have no stamp of their own.
        """

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

    def errors(self, states, outputs, values):
        """Return the values [B, m] of the `Rows` alone; faster where their slopes take long."""
        return self.rows(states, outputs, values).values
