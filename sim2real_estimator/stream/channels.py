"""What the stream has to know of a sensor or of a source of efforts."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Channel:
    """
    A sensor as the stream sees it.

    size: values of a sample; scale [size]: their standard deviations; joints: names of those
    that move what is measured; may_repeat: whether a healthy one at rest may repeat itself to the
    last bit; least_interval_ns: samples that follow sooner are thinned out; ahead_ns: by how much
    its clock may be ahead of the others.
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
    A source of efforts as the stream sees it.

    places: of its values among all commands; joints: of its values; limits: largest effort of
    each, NaN where it is not known; late_ns: of each, from its stamp to its effect, as far as
    that is known for certain; empty: none.
    """

    places: tuple
    joints: tuple
    limits: tuple
    late_ns: tuple = ()

    @property
    def size(self):
        """Values of a sample."""
        return len(self.places)

    @property
    def first_ns(self):
        """How long after its stamp the first of its values acts."""
        return min(self.late_ns, default=0)

    @property
    def further_ns(self):
        """How long after the first each of its values acts."""
        return tuple(late - self.first_ns for late in self.late_ns) or (0,) * self.size
