"""The properties of sensors and of sources of efforts that the stream depends on."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Channel:
    """
    A sensor.

    size: number of values of a sample; scale [size]: their standard deviations; joints: names of
    those whose motion it measures; may_repeat: whether a healthy one at rest may repeat its
    values to the last bit; least_interval_ns: samples that follow sooner are thinned out;
    ahead_ns: by how much its clock may be ahead of the others.
    """

    size: int
    scale: np.ndarray
    joints: tuple
    may_repeat: bool = False
    least_interval_ns: int = 0
    ahead_ns: int = 0


@dataclass(frozen=True)
class InputChannel:
    """
    A source of efforts.

    places: indices of its values among all commands; joints: of its values; limits: largest
    effort of each, NaN where unknown; late_ns: delay of each from its stamp to its effect, as
    far as that is known for certain, empty: none.
    """

    places: tuple
    joints: tuple
    limits: tuple
    late_ns: tuple = ()

    @property
    def size(self):
        """Number of values of a sample."""
        return len(self.places)

    @property
    def first_ns(self):
        """Delay of the first of its values to act [ns]."""
        return min(self.late_ns, default=0)

    @property
    def further_ns(self):
        """Delay of each value after the first one [ns]."""
        return tuple(late - self.first_ns for late in self.late_ns) or (0,) * self.size
