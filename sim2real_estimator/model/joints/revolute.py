"""Hinge joints."""

from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3
from .base import AbstractAxisJoint


class Revolute(AbstractAxisJoint):
    """A hinge: rotation by q [rad] about an axis."""

    type_name = 'revolute'

    def placement(self, q):
        """Return the turn by q about the axis."""
        return Rotation.about(self.axis, q[0]), Vec3.zero()
