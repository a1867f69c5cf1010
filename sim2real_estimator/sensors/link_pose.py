"""Poses from motion capture."""

import numpy as np

from ..dynamics.kinematics import link_poses
from ..errors import ConfigError
from ..model.parameters import Parameter
from ..spatial.scalar import mul
from ..spatial.vector import Vec3
from .base import AbstractSensor, Rows, Signal
from .decoding import (
    checked_type,
    decode_by_readers,
    joints_to,
    read_pose_stamped,
    read_transform_stamped,
)
from .mounting import CAPTURE, capture_parameters, IN_PLACE, placement, placement_parameters
from .turns import turns_from_quaternions

_PLACE = np.arange(3)


class LinkPose(AbstractSensor):
    """
    The pose of a link in the world: position, orientation, or both.

    values: x, y, z [m], then the quaternion w, x, y, z; parts that are not measured are NaN. The
    error of the orientation is the angle between the two, so q and -q are the same. How the body
    is mounted on its link, where the world of motion capture lies and the scale of its lengths
    are parameters.
    """

    value_size = 7
    output_size = 12
    sees_links = True

    readers = {
        'geometry_msgs/msg/PoseStamped': read_pose_stamped,
        'geometry_msgs/msg/TransformStamped': read_transform_stamped,
    }
    message_types = tuple(readers)

    def __init__(
        self,
        name,
        model,
        link,
        position_sd=None,
        orientation_sd=None,
        mount=IN_PLACE,
        capture=IN_PLACE,
        message_type=None,
    ):
        """
        Take the link's name and standard deviations [m], [rad]; None: not measured.

        mount: the body's `Placement` on its link; capture: that of the robot's world in that of
        motion capture.
        """
        model.link(link)
        self.name, self.link, self.joints = name, link, joints_to(model, link)
        self.mount = f'{name}.mount'
        self.parameters = (
            *placement_parameters(self.mount, 'the body on its link', mount),
            Parameter(f'{name}.scale', 1.0, '1', True, 'measured lengths over true ones'),
            *capture_parameters(capture),
        )
        self.message_type = checked_type(self, message_type)
        self.position_sd, self.orientation_sd = position_sd, orientation_sd
        if position_sd is None and orientation_sd is None:
            raise ConfigError(
                f"sensor '{name}': measures nothing; give a position_sd or an orientation_sd"
            )
        self.row_size = 3 * (position_sd is not None) + 3 * (orientation_sd is not None)

    @property
    def scale(self):
        """Standard deviations of the values; half of an angle's for a quaternion's parts."""
        position = np.inf if self.position_sd is None else self.position_sd
        turn = np.inf if self.orientation_sd is None else self.orientation_sd / 2
        return np.array([position] * 3 + [turn] * 4)

    @property
    def signals(self):
        """Coordinates in the world, then angles between predicted and measured axes."""
        places = [Signal(axis, 'm', self.position_sd, k) for k, axis in enumerate('xyz')]
        turns = [Signal(f'turn about {axis}', 'rad', self.orientation_sd, None) for axis in 'xyz']
        return (
            *(places if self.position_sd is not None else ()),
            *(turns if self.orientation_sd is not None else ()),
        )

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a pose; without a proper quaternion it is occluded."""
        return decode_by_readers(self, message, arrived_ns)

    def observe(self, robot, q, v):
        """Return the position, then the rotation matrix by rows."""
        pose = link_poses(robot, q, [0.0] * len(v))[self.link]
        turn, shift = placement(robot, self.mount)
        world_turn, world_shift = placement(robot, CAPTURE)
        position = world_shift + world_turn * (pose.position + pose.rotation * shift)
        # A tag printed too small, or a wand of another length, makes all lengths wrong alike.
        scale = robot.more.get(f'{self.name}.scale', 1.0)
        position = Vec3(*(mul(scale, x) for x in position))
        rotation = world_turn * pose.rotation * turn
        return [*position, *(e for row in rotation.rows for e in row)]

    def rows(self, states, outputs, values):
        """Return the `Rows`, position before orientation."""
        error = np.empty((len(values), self.row_size))
        slope = np.zeros((len(values), self.row_size, self.output_size))
        if self.position_sd is not None:
            error[:, :3] = (outputs[:3].T - values[:, :3]) / self.position_sd
            slope[:, _PLACE, _PLACE] = 1 / self.position_sd
        if self.orientation_sd is not None:
            turn, by_matrix = turns_from_quaternions(values[:, 3:], outputs[3:].T)
            np.divide(turn, self.orientation_sd, out=error[:, -3:])
            np.divide(by_matrix, self.orientation_sd, out=slope[:, -3:, 3:])
        missing = np.isnan(error)
        if missing.any():
            error[missing], slope[missing] = 0.0, 0.0
        return Rows(error, by_outputs=slope)
