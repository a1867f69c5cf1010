"""Unit quaternions in (w, x, y, z) order, as transforms3d has them."""

from . import scalar
from .scalar import add, mul, sub, sum_of
from .vector import Vec3

# Taylor coefficients of cos(sqrt(s)) and sin(sqrt(s))/sqrt(s); eleven terms leave 4e-15 at
# sqrt(s) = 2, that is for turns of up to 4 rad in one step, far beyond any usable step.
_TERMS = 11


class Quaternion:
    """A quaternion w + xi + yj + zk; a unit one turns child coordinates into parent ones."""

    __slots__ = ('w', 'x', 'y', 'z')

    def __init__(self, w, x, y, z):
        self.w, self.x, self.y, self.z = w, x, y, z

    def __iter__(self):
        yield self.w
        yield self.x
        yield self.y
        yield self.z

    def __repr__(self):
        return f'Quaternion({self.w}, {self.x}, {self.y}, {self.z})'

    @property
    def vector(self):
        """The imaginary part (x, y, z)."""
        return Vec3(self.x, self.y, self.z)

    def __mul__(self, other):
        """Return the Hamilton product self * other."""
        a, b = self.vector, other.vector
        w = sub(mul(self.w, other.w), a.dot(b))
        return Quaternion(w, *(b * self.w + a * other.w + a.cross(b)))

    def conjugate(self):
        """Return the inverse of a unit quaternion."""
        return Quaternion(self.w, *(-self.vector))

    def scaled(self, factor):
        """Return the quaternion with every component multiplied by `factor`."""
        return Quaternion(*(mul(c, factor) for c in self))

    def normalized(self):
        """Return the quaternion scaled to unit length."""
        return self.scaled(1.0 / scalar.sqrt(sum_of(mul(c, c) for c in self)))

    def rate(self, omega):
        """Return the time derivative q' = q * (0, omega) / 2 for body rates `omega` [rad/s]."""
        return (self * Quaternion(0.0, *omega)).scaled(0.5)

    @staticmethod
    def exp(rotation):
        """
        Return the unit quaternion of a rotation vector [rad].

        Polynomials in the squared angle: smooth at zero (no 0/0 in a gradient) and free of
        transcendental functions. Accurate to 1e-15 up to half a turn, to 4e-15 at 4 rad.
        """
        half = rotation * 0.5
        s = half.dot(half)
        cosine, sinc = 0.0, 0.0
        for k in reversed(range(_TERMS)):
            cosine = add(mul(cosine, s), _inverse_factorial(2 * k))
            sinc = add(mul(sinc, s), _inverse_factorial(2 * k + 1))
        return Quaternion(cosine, *(half * sinc))

    def log(self):
        """
        Return the rotation vector [rad], at most half a turn; the same for q and -q.

        The tiny number under the root keeps the gradient finite at the identity.
        """
        sign = scalar.sign(self.w)
        v = self.vector
        norm = scalar.sqrt(v.dot(v) + 1e-300)
        return v * (2.0 * sign * scalar.atan2(norm, self.w * sign) / norm)

    @staticmethod
    def identity():
        """Return the structural identity."""
        return Quaternion(1.0, 0.0, 0.0, 0.0)


def _inverse_factorial(n):
    """Return the Taylor coefficient (-1)^(n//2) / n!."""
    value = 1.0
    for k in range(2, n + 1):
        value /= k
    return -value if (n // 2) % 2 else value
