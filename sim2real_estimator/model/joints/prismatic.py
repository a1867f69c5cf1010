"""Sliding joints."""

from ...spatial.rotation import Rotation
from .base import AbstractAxisJoint


class Prismatic(AbstractAxisJoint):
    """A slide: translation by q [m] along an axis."""

    type_name = 'prismatic'
    is_rotation = False

    def placement(self, q):
        """Return the shift by q along the axis."""
        return Rotation.identity(), self.axis * q[0]
