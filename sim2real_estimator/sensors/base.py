"""The interface of sensors: decode messages, observe the robot, compare both."""

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
    The signal of one residual row.

    label: such as 'elbow position'; unit; sd: of its noise; place: index of the measurement among
    the values, None where the row is no difference of two numbers, such as an angle between axes.
    """

    label: str
    unit: str
    sd: float
    place: int | None


class AbstractSensor(ABC):
    """
    A kind of measurement: a function of positions and velocities at one instant.

    So a gyroscope is a sensor, and an accelerometer is none: accelerations depend on the efforts
    that act as well, and backends evaluate `observe` at states alone.

    name: of this sensor; value_size: length of `Sample.values`; row_size: number of residual
    rows; output_size: number of scalars that `observe` adds to the simulator's outputs;
    message_types: types that it can read, the usual one first; message_type: type that it does
    read; joints: names of those whose motion it measures; measures_joints: whether it measures
    these joints themselves; may_repeat: whether its values are coarse. Values of a sensor with
    either property may stay the same to the last bit. sees_links: whether it measures where links
    are, as motion capture and cameras do.
    """

    name = ''
    parameters = ()
    message_types = ()
    message_type = ''
    joints = ()
    measures_joints = False
    may_repeat = False
    sees_links = False
    value_size = 0
    row_size = 0
    output_size = 0

    @property
    @abstractmethod
    def scale(self):
        """Standard deviations of the values [value_size], infinite where one is not used."""

    @property
    @abstractmethod
    def signals(self):
        """A `Signal` for every residual row, in their order."""

    @abstractmethod
    def decode(self, message, arrived_ns=None):
        """
        Return the `Decoded` of a message, read by its plain attributes.

        arrived_ns: time of arrival [ns], for messages without a stamp of their own.
        """

    @abstractmethod
    def observe(self, robot, q, v):
        """
        Return the `output_size` generic scalars that the residual needs.

        robot: a `Robot` with the parameters; q [nq], v [nv]: lists of generic scalars (floats,
        tensors or symbols), so write it with the functions of `spatial/`. See `System`.
        """

    @abstractmethod
    def rows(self, states, outputs, values):
        """
        Return the `Rows` of measurements.

        states [nx, B]; outputs [output_size, B]; values [B, value_size], NaN where one is
        missing: the rows of missing values are zero.
        """

    def errors(self, states, outputs, values):
        """Return the values [B, m] of the `Rows` without their derivatives."""
        return self.rows(states, outputs, values).values
