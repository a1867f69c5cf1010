"""Rotation matrices of generic scalars."""

from . import scalar
from .scalar import add, mul, sub, sum_of
from .vector import Vec3


class Rotation:
    """A 3x3 rotation held by rows; `R_parent_child * vector_in_child` is in the parent."""

    __slots__ = ('rows',)

    def __init__(self, rows):
        self.rows = tuple(rows)

    def __mul__(self, other):
        """Return the product with a rotation or a vector."""
        if isinstance(other, Rotation):
            columns = [other.column(j) for j in range(3)]
            return Rotation(Vec3(*(row.dot(c) for c in columns)) for row in self.rows)
        return Vec3(*(row.dot(other) for row in self.rows))

    def column(self, index):
        """Return one column: a child axis in parent coordinates."""
        return Vec3(*(row[index] for row in self.rows))

    def transposed(self):
        """Return the inverse rotation."""
        return Rotation(self.column(j) for j in range(3))

    @staticmethod
    def identity():
        """Return the structural identity."""
        return Rotation(Vec3.unit(i) for i in range(3))

    @staticmethod
    def about(axis, angle):
        """
        Return the rotation by `angle` [rad] about a constant unit `axis` (Rodrigues).

        For an axis along x, y or z the matrix keeps its structural zeros and ones.
        """
        c, s = scalar.cos(angle), scalar.sin(angle)
        t = sub(1.0, c)

        def entry(i, j):
            if i == j:
                # c + a^2 (1 - c), written so that a^2 = 1 gives exactly 1 and a^2 = 0 gives c.
                square = axis[i] * axis[i]
                return 1.0 if square == 1 else add(mul(c, 1.0 - square), square)
            k = 3 - i - j
            sign = 1.0 if (j - i) % 3 == 2 else -1.0
            return add(mul(t, axis[i] * axis[j]), mul(s, sign * axis[k]))

        return Rotation(Vec3(*(entry(i, j) for j in range(3))) for i in range(3))

    @staticmethod
    def from_quaternion(q):
        """
        Return the matrix of the direction of a quaternion (w, x, y, z), of whatever length.

        Dividing by the length keeps the matrix orthogonal between the stages of an integrator,
        where quaternions leave the unit sphere a little: forward and inverse dynamics, and
        their derivatives, then agree there too.
        """
        w, x, y, z = q
        scale = 2.0 / sum_of(mul(c, c) for c in (w, x, y, z))
        x2, y2, z2 = mul(x, scale), mul(y, scale), mul(z, scale)
        xx, yy, zz = mul(x, x2), mul(y, y2), mul(z, z2)
        xy, xz, yz = mul(x, y2), mul(x, z2), mul(y, z2)
        wx, wy, wz = mul(w, x2), mul(w, y2), mul(w, z2)
        return Rotation(
            (
                Vec3(sub(1.0, add(yy, zz)), sub(xy, wz), add(xz, wy)),
                Vec3(add(xy, wz), sub(1.0, add(xx, zz)), sub(yz, wx)),
                Vec3(sub(xz, wy), add(yz, wx), sub(1.0, add(xx, yy))),
            )
        )

    @staticmethod
    def from_roll_pitch_yaw(roll, pitch, yaw):
        """Return Rz(yaw) Ry(pitch) Rx(roll), the convention of URDF; angles in rad."""
        x, y, z = (Vec3.unit(i) for i in range(3))
        return Rotation.about(z, yaw) * Rotation.about(y, pitch) * Rotation.about(x, roll)
