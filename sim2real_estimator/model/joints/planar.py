"""Motion in a plane."""

from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3
from .base import AbstractVectorJoint, FreedomGroup


class Planar(AbstractVectorJoint):
    """
    Motion in the plane across `axis`: q = (x, y [m], angle [rad]), v = dq/dt.

    x and y count along two fixed directions of the joint frame: its own x and y for the axis z,
    otherwise those turned along by the shortest rotation that brings z onto the axis.
    """

    type_name = 'planar'
    position_size = 3
    velocity_size = 3

    def __init__(self, axis):
        """Take the unit normal of the plane as three floats in the joint frame."""
        self.axis = Vec3(*(float(a) for a in axis))
        self._directions = _plane_directions(self.axis)
        self.groups = (FreedomGroup(False, self._directions), FreedomGroup(True, (self.axis,)))

    def placement(self, q):
        """Return the turn about the normal and the shift in the plane."""
        shift = self._directions[0] * q[0] + self._directions[1] * q[1]
        return Rotation.about(self.axis, q[2]), shift


def _plane_directions(normal):
    """Return two constant unit vectors that complete `normal` to a right-handed frame."""
    x, y, z = normal
    if z <= -1 + 1e-12:
        return Vec3(1.0, 0.0, 0.0), Vec3(0.0, -1.0, 0.0)
    k = 1.0 / (1.0 + z)
    return Vec3(1.0 - x * x * k, -x * y * k, -x), Vec3(-x * y * k, 1.0 - y * y * k, -y)
