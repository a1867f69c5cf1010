"""Ball joints."""

from ...spatial.quaternion import Quaternion
from ...spatial.rotation import Rotation
from ...spatial.scalar import mul, sum_of
from ...spatial.vector import Vec3
from .base import AbstractJoint, FreedomGroup


class Spherical(AbstractJoint):
    """A ball joint: q is a unit quaternion (w, x, y, z), v the body rates [rad/s]."""

    type_name = 'spherical'
    position_size = 4
    velocity_size = 3
    groups = (FreedomGroup(True, tuple(Vec3.unit(i) for i in range(3))),)

    def placement(self, q):
        """Return the rotation of the quaternion."""
        return Rotation.from_quaternion(Quaternion(*q)), Vec3.zero()

    def rate(self, q, v):
        """Return q * (0, v) / 2."""
        return list(Quaternion(*q).rate(Vec3(*v)))

    def advance(self, q, v, duration):
        """Return q * exp(v * duration), the exact turn at constant body rates."""
        return list(Quaternion(*q) * Quaternion.exp(Vec3(*v) * duration))

    def difference(self, start, end):
        """Return the rotation vector of start^-1 * end [rad]."""
        return list((Quaternion(*start).conjugate() * Quaternion(*end)).log())

    def displacement(self, q, rest):
        """Return sin(angle) times the axis of the turn, the same for q and -q."""
        return list(Vec3(*q[1:]) * mul(2.0, q[0]))

    def spring_shape(self, q, rest):
        """Return 1 - cos(angle): the spring rests at the identity."""
        return mul(2.0, sum_of(mul(x, x) for x in q[1:]))

    def normalized(self, q):
        """Return the quaternion scaled to unit length."""
        return list(Quaternion(*q).normalized())

    def neutral(self):
        """Return the identity quaternion."""
        return [1.0, 0.0, 0.0, 0.0]
