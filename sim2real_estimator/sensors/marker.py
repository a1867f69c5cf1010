"""Single markers from motion capture."""

import numpy as np

from ..dynamics.kinematics import link_poses
from ..spatial.vector import Vec3
from .base import AbstractSensor, Rows, Signal
from .decoding import checked_type, decode_by_readers, joints_to, read_point_stamped
from .mounting import CAPTURE, capture_parameters, IN_PLACE, placement, placement_parameters


class Marker(AbstractSensor):
    """
    A point fixed to a link: its position in the world. Where it really sits is a parameter.

    values: x, y, z [m], NaN where it is hidden.
    """

    value_size = 3
    row_size = 3
    output_size = 3

    readers = {'geometry_msgs/msg/PointStamped': read_point_stamped}
    message_types = tuple(readers)

    def __init__(self, name, model, link, point, sd, capture=IN_PLACE, message_type=None):
        """
        Take the link's name, the point (x, y, z) [m] in its frame, and the sd [m].

        capture: `Placement` of the robot's world in that of motion capture.
        """
        model.link(link)
        self.name, self.link, self.sd = name, link, sd
        self.joints = joints_to(model, link)
        self.message_type = checked_type(self, message_type)
        self.point = Vec3(*(float(x) for x in point))
        self.mount = f'{name}.mount'
        # A point has no orientation of its own.
        self.parameters = (
            *placement_parameters(self.mount, 'the marker besides its point')[:3],
            *capture_parameters(capture),
        )

    @property
    def scale(self):
        """Standard deviations of the values."""
        return np.full(3, self.sd)

    @property
    def signals(self):
        """Coordinates in the world."""
        return tuple(Signal(axis, 'm', self.sd, k) for k, axis in enumerate('xyz'))

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a point."""
        return decode_by_readers(self, message, arrived_ns)

    def observe(self, robot, q, v):
        """Return the position of the point."""
        pose = link_poses(robot, q, [0.0] * len(v))[self.link]
        _, shift = placement(robot, self.mount)
        world_turn, world_shift = placement(robot, CAPTURE)
        point = pose.position + pose.rotation * (self.point + shift)
        return list(world_shift + world_turn * point)

    def rows(self, states, outputs, values):
        """Return the `Rows`; a hidden marker leaves them empty."""
        error = (outputs.T - values) / self.sd
        slope = np.broadcast_to(np.eye(3) / self.sd, (len(values), 3, 3))
        missing = np.isnan(error)
        return Rows(
            np.where(missing, 0.0, error), by_outputs=np.where(missing[..., None], 0.0, slope)
        )
