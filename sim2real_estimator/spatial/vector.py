"""Vectors of three generic scalars."""

from .scalar import add, mul, neg, sub, sum_of


class Vec3:
    """A vector (x, y, z); immutable by convention, every operation returns a new one."""

    __slots__ = ('x', 'y', 'z')

    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __iter__(self):
        yield self.x
        yield self.y
        yield self.z

    def __getitem__(self, index):
        return (self.x, self.y, self.z)[index]

    def __add__(self, other):
        return Vec3(add(self.x, other.x), add(self.y, other.y), add(self.z, other.z))

    def __sub__(self, other):
        return Vec3(sub(self.x, other.x), sub(self.y, other.y), sub(self.z, other.z))

    def __neg__(self):
        return Vec3(neg(self.x), neg(self.y), neg(self.z))

    def __mul__(self, scale):
        return Vec3(mul(self.x, scale), mul(self.y, scale), mul(self.z, scale))

    __rmul__ = __mul__

    def __repr__(self):
        return f'Vec3({self.x}, {self.y}, {self.z})'

    def dot(self, other):
        """Return the inner product with `other`."""
        return sum_of(mul(a, b) for a, b in zip(self, other))

    def cross(self, other):
        """Return the vector product self x other."""
        return Vec3(
            sub(mul(self.y, other.z), mul(self.z, other.y)),
            sub(mul(self.z, other.x), mul(self.x, other.z)),
            sub(mul(self.x, other.y), mul(self.y, other.x)),
        )

    @staticmethod
    def zero():
        """Return the structural zero vector."""
        return Vec3(0.0, 0.0, 0.0)

    @staticmethod
    def unit(index):
        """Return the unit vector along axis 0, 1 or 2."""
        return Vec3(*(1.0 if i == index else 0.0 for i in range(3)))
