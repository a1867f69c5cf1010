"""Single markers from motion capture."""

import numpy as np

from ..dynamics.kinematics import link_poses
from ..spatial.vector import Vec3
from .base import AbstractSensor, Rows


class Marker(AbstractSensor):
    """
    A point fixed to a link: its position in the world.

    values: x, y, z [m], NaN where it is hidden.
    """

    value_size = 3
    row_size = 3
    output_size = 3

    def __init__(self, name, model, link, point, sd):
        """Take the link's name, the point (x, y, z) [m] in its frame, and the sd [m]."""
        model.link(link)
        self.name, self.link, self.sd = name, link, sd
        self.point = Vec3(*(float(x) for x in point))

    def observe(self, robot, q, v):
        """Return the position of the point."""
        pose = link_poses(robot, q, [0.0] * len(v))[self.link]
        return list(pose.position + pose.rotation * self.point)

    def rows(self, states, outputs, values):
        """Return the `Rows`; a hidden marker leaves them empty."""
        error = (outputs.T - values) / self.sd
        slope = np.broadcast_to(np.eye(3) / self.sd, (len(values), 3, 3))
        missing = np.isnan(error)
        return Rows(
            np.where(missing, 0.0, error), by_outputs=np.where(missing[..., None], 0.0, slope)
        )
