"""Free motion in space."""

from ...spatial.vector import Vec3
from .base import AbstractJoint, FreedomGroup
from .spherical import Spherical

_ROTATION = Spherical()


class Free(AbstractJoint):
    """
    A body that floats: q = (x, y, z [m], unit quaternion w, x, y, z), v = (linear, angular).

    The linear velocity [m/s] is the derivative of the position, along the axes of the joint
    frame; the angular one [rad/s] is along the body's own axes. (MuJoCo's convention.)
    """

    type_name = 'free'
    position_size = 7
    velocity_size = 6
    groups = (
        FreedomGroup(False, tuple(Vec3.unit(i) for i in range(3))),
        *_ROTATION.groups,
    )

    def placement(self, q):
        """Return the rotation of the quaternion and the position."""
        return _ROTATION.placement(q[3:])[0], Vec3(*q[:3])

    def rate(self, q, v):
        """Return the velocity and the quaternion's rate."""
        return [*v[:3], *_ROTATION.rate(q[3:], v[3:])]

    def advance(self, q, v, duration):
        """Return the position moved on and the orientation turned on."""
        position = [x + y * duration for x, y in zip(q[:3], v[:3])]
        return [*position, *_ROTATION.advance(q[3:], v[3:], duration)]

    def difference(self, start, end):
        """Return the shift and the turn from `start` to `end`."""
        shift = [b - a for a, b in zip(start[:3], end[:3])]
        return [*shift, *_ROTATION.difference(start[3:], end[3:])]

    def displacement(self, q, rest):
        """Return the position and the turn from the identity."""
        return [*q[:3], *_ROTATION.displacement(q[3:], rest)]

    def spring_shape(self, q, rest):
        """Return the energy of a unit spring on translation and rotation."""
        x, y, z = q[:3]
        return 0.5 * (x * x + y * y + z * z) + _ROTATION.spring_shape(q[3:], rest)

    def normalized(self, q):
        """Return q with its quaternion scaled to unit length."""
        return [*q[:3], *_ROTATION.normalized(q[3:])]

    def neutral(self):
        """Return the origin and the identity."""
        return [0.0, 0.0, 0.0, *_ROTATION.neutral()]
