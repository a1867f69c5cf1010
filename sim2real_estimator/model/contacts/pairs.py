"""Which links can touch, by which law, and which of their shapes meet."""

from dataclasses import dataclass

from .base import AbstractContactLaw
from .points_on_plane import PointsOnPlane
from .sphere_on_box import SphereOnBox
from .sphere_on_sphere import SphereOnSphere

# Stands for a half-space of the world where a pair names a link.
GROUND = 'ground'
# The first that fits two shapes is taken.
GEOMETRIES = {
    'sphere_on_sphere': SphereOnSphere(),
    'sphere_on_box': SphereOnBox(),
    'points_on_plane': PointsOnPlane(),
}


@dataclass(frozen=True)
class ContactPair:
    """
    Two links that can touch.

    name: of the pair, and of its parameters PAIR.friction, ...; first, second: links, the base
    link where a shape of the world is meant; shapes, other_shapes: those of either, in its
    frame; values: name to float of parameters that are not the default of the law.
    """

    name: str
    first: str
    second: str
    shapes: tuple
    other_shapes: tuple
    law: AbstractContactLaw
    values: tuple = ()

    def meetings(self):
        """
        Return (geometry, shape, other shape, is_swapped) for every two shapes that can meet.

        is_swapped: whether the shape of the second link is the geometry's first.
        """
        found = (meeting(one, other) for one in self.shapes for other in self.other_shapes)
        return [each for each in found if each is not None]

    def nominal(self, parameter):
        """Return the value of a `ContactParameter` of the law for this pair."""
        return dict(self.values).get(parameter.name, parameter.default)


def meeting(one, other):
    """Return (geometry, first shape, second shape, is_swapped), None where no geometry fits."""
    for geometry in GEOMETRIES.values():
        for is_swapped, (a, b) in enumerate(((one, other), (other, one))):
            first = next((s for s in a.forms if isinstance(s, geometry.first)), None)
            second = next((s for s in b.forms if isinstance(s, geometry.second)), None)
            if first is not None and second is not None:
                return geometry, first, second, bool(is_swapped)
    return None
