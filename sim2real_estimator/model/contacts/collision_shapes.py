"""Shapes of links that can touch others, in the frame of their link."""

from dataclasses import dataclass, field
from itertools import product
import math

from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3

# Points on each rim of a cylinder: a disc that lies on a plane is held by three of them, and
# eight let it roll with a ripple of 4 % of its radius.
_RIM_POINTS = 8


class Shape:
    """A shape; `forms` are the shapes that it can stand for in a contact, the best first."""

    @property
    def forms(self):
        """This shape, then what may stand for it."""
        return (self,)


@dataclass(frozen=True)
class HalfSpace(Shape):
    """All below a plane through `origin` (x, y, z) [m]; the normal is z of `rotation`."""

    origin: tuple = (0.0, 0.0, 0.0)
    rotation: Rotation = field(default_factory=Rotation.identity, compare=False)


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball about `centre` (x, y, z) [m] of a radius [m]."""

    centre: tuple
    radius: float

    @property
    def forms(self):
        """The ball, or one point with a radius."""
        return self, Points((self.centre,), self.radius)


@dataclass(frozen=True)
class Points(Shape):
    """Points (x, y, z) [m], each the centre of a ball of the same radius [m]."""

    points: tuple
    radius: float = 0.0


@dataclass(frozen=True)
class Box(Shape):
    """A box about `centre` (x, y, z) [m] with edges `size` [m] along the axes of `rotation`."""

    centre: tuple
    size: tuple
    rotation: Rotation = field(default_factory=Rotation.identity, compare=False)

    @property
    def forms(self):
        """The box, or its eight corners."""
        corners = (
            [sign * edge / 2 for sign, edge in zip(signs, self.size)]
            for signs in product((-1.0, 1.0), repeat=3)
        )
        return self, Points(tuple(moved(c, self.centre, self.rotation) for c in corners))


def cylinder(centre, radius, length, rotation):
    """Return the `Points` on both rims of a cylinder about z of `rotation`; all in [m]."""
    angles = (2 * math.pi * k / _RIM_POINTS for k in range(_RIM_POINTS))
    rims = [
        (radius * math.cos(angle), radius * math.sin(angle), side * length / 2)
        for angle in angles
        for side in (-1.0, 1.0)
    ]
    return Points(tuple(moved(point, centre, rotation) for point in rims))


def moved(point, origin, rotation):
    """Return a point (x, y, z) turned and then shifted by `origin`, as floats."""
    return tuple(float(x) for x in Vec3(*origin) + rotation * Vec3(*point))
