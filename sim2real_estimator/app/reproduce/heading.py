"""What the paper compares: where links point."""

import numpy as np

from ...dynamics.observations import headings
from ...sensors import AbstractSensor, SENSORS
from ...sensors.base import Rows, Signal
from ...spatial.quaternion import Quaternion
from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3


class Heading(AbstractSensor):
    """
    The pose of a link of which only the direction of its -z is compared, as a unit vector.

    values: those of a link pose; the position and the turn about that axis do not matter.
    """

    value_size = 7
    row_size = 3
    output_size = 3
    sees_links = True

    def __init__(self, name, model, link, sd):
        """Take the link's name and the standard deviation of its direction [rad]."""
        self._pose = SENSORS['link_pose'](name, model, link, orientation_sd=sd)
        self.name, self.joints, self.sd = name, self._pose.joints, sd
        self.message_type = self._pose.message_type
        self._observe = headings([link])

    @property
    def scale(self):
        """Standard deviations of the values, as those of a link pose."""
        return self._pose.scale

    @property
    def signals(self):
        """Entries of the direction, in world axes."""
        return tuple(Signal(f'direction {axis}', '1', self.sd, None) for axis in 'xyz')

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a pose."""
        return self._pose.decode(message, arrived_ns)

    def observe(self, robot, q, v):
        """Return the heading."""
        return self._observe(robot, q, v)

    def rows(self, states, outputs, values):
        """Return the `Rows`; a NaN leaves them empty."""
        rotation = Rotation.from_quaternion(Quaternion(*values[:, 3:].T))
        measured = np.array(tuple(rotation * Vec3(0.0, 0.0, -1.0)))
        error = (outputs - measured).T / self.sd
        slope = np.broadcast_to(np.eye(3) / self.sd, (len(values), 3, 3))
        missing = np.isnan(error)
        return Rows(
            np.where(missing, 0.0, error), by_outputs=np.where(missing[..., None], 0.0, slope)
        )
