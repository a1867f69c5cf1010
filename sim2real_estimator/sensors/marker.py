"""Single markers from motion capture, and what they have in common with all points on a link."""

import numpy as np

from ..dynamics.kinematics import link_poses
from ..spatial.vector import Vec3
from .base import AbstractSensor, Rows, Signal
from .decoding import checked_type, decode_by_readers, joints_to, read_point_stamped
from .mounting import CAPTURE, capture_parameters, IN_PLACE, placement, placement_parameters


class AbstractPoint(AbstractSensor):
    """
    A point fixed to a link, of which something sees coordinates: NaN where it is hidden.

    axes: letters of the coordinates; unit: of them. Where it really sits is a parameter.
    """

    axes, unit = '', ''

    def __init__(self, name, model, link, point, sd, seen_by, message_type=None):
        """
        Take the link's name, the point (x, y, z) [m] in its frame, and the sd in the unit.

        seen_by: `Parameter`s of what sees it.
        """
        model.link(link)
        self.name, self.link, self.sd = name, link, sd
        self.joints = joints_to(model, link)
        self.message_type = checked_type(self, message_type)
        self.point = Vec3(*(float(x) for x in point))
        self.mount = f'{name}.mount'
        # A point has no orientation of its own.
        self.parameters = (
            *placement_parameters(self.mount, 'the marker beyond its point')[:3],
            *seen_by,
        )

    @property
    def scale(self):
        """Standard deviations of the values."""
        return np.full(self.value_size, self.sd)

    @property
    def signals(self):
        """The coordinates."""
        return tuple(Signal(axis, self.unit, self.sd, k) for k, axis in enumerate(self.axes))

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a point."""
        return decode_by_readers(self, message, arrived_ns)

    def in_world(self, robot, q, v):
        """Return the position of the point in the robot's world."""
        pose = link_poses(robot, q, [0.0] * len(v))[self.link]
        _, shift = placement(robot, self.mount)
        return pose.position + pose.rotation * (self.point + shift)

    def rows(self, states, outputs, values):
        """Return the `Rows`; a hidden marker leaves them empty."""
        size, error = self.value_size, (outputs.T - values) / self.sd
        slope = np.broadcast_to(np.eye(size) / self.sd, (len(values), size, size))
        missing = np.isnan(error)
        return Rows(
            np.where(missing, 0.0, error), by_outputs=np.where(missing[..., None], 0.0, slope)
        )


class Marker(AbstractPoint):
    """
    A point fixed to a link: its position in the world. Where it really sits is a parameter.

    values: x, y, z [m], NaN where it is hidden.
    """

    value_size = 3
    row_size = 3
    output_size = 3
    sees_links = True
    axes, unit = 'xyz', 'm'

    readers = {'geometry_msgs/msg/PointStamped': read_point_stamped}
    message_types = tuple(readers)

    def __init__(self, name, model, link, point, sd, capture=IN_PLACE, message_type=None):
        """
        Take the link's name, the point (x, y, z) [m] in its frame, and the sd [m].

        capture: `Placement` of the robot's world in that of motion capture.
        """
        super().__init__(name, model, link, point, sd, capture_parameters(capture), message_type)

    def observe(self, robot, q, v):
        """Return the position of the point."""
        world_turn, world_shift = placement(robot, CAPTURE)
        return list(world_shift + world_turn * self.in_world(robot, q, v))
