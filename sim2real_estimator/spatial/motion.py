"""
Spatial motions and forces, angular part first.

Axes are parallel to the world's and the reference point is the origin of the body in question.
Accelerations are classical ones (the second derivative of that origin), so no body velocity is
needed to compose them.
"""

from .scalar import add
from .vector import Vec3


class Motion:
    """An angular and a linear velocity or acceleration of a body's origin."""

    __slots__ = ('angular', 'linear')

    def __init__(self, angular, linear):
        self.angular, self.linear = angular, linear

    def __add__(self, other):
        return Motion(self.angular + other.angular, self.linear + other.linear)

    def __mul__(self, scale):
        return Motion(self.angular * scale, self.linear * scale)

    def __iter__(self):
        yield from self.angular
        yield from self.linear

    def dot(self, force):
        """Return the power of `force` along this motion."""
        return add(self.angular.dot(force.moment), self.linear.dot(force.force))

    def moved(self, offset):
        """Return the same rigid motion seen at a point `offset` away from the reference."""
        return Motion(self.angular, self.linear + self.angular.cross(offset))

    @staticmethod
    def zero():
        """Return the structural zero motion."""
        return Motion(Vec3.zero(), Vec3.zero())


class Force:
    """A moment about the reference point and a force through it."""

    __slots__ = ('force', 'moment')

    def __init__(self, moment, force):
        self.moment, self.force = moment, force

    def __add__(self, other):
        return Force(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other):
        return Force(self.moment - other.moment, self.force - other.force)

    def __mul__(self, scale):
        return Force(self.moment * scale, self.force * scale)

    def __iter__(self):
        yield from self.moment
        yield from self.force

    def dot(self, motion):
        """Return the power of this force along `motion`."""
        return motion.dot(self)

    def carried(self, offset):
        """Return the force about a point from which its present reference is `offset` away."""
        return Force(self.moment + offset.cross(self.force), self.force)

    @staticmethod
    def zero():
        """Return the structural zero force."""
        return Force(Vec3.zero(), Vec3.zero())
