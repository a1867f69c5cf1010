"""Points, or balls about them, on a plane: the ground, a table, a wall."""

from ...spatial.scalar import sub
from ...spatial.vector import Vec3
from .base import AbstractGeometry, Touch
from .collision_shapes import HalfSpace, Points


class PointsOnPlane(AbstractGeometry):
    """Corners of a box, rims of a cylinder, vertices of a mesh, or a sphere, on a half-space."""

    name = 'points_on_plane'
    first, second = Points, HalfSpace

    def touches(self, first, second, place_first, place_second):
        """Return one `Touch` for each point, below it by its radius."""
        normal = place_second.rotation * second.rotation.column(2)
        origin = place_second.position + place_second.rotation * Vec3(*second.origin)
        found = []
        for point in first.points:
            centre = place_first.position + place_first.rotation * Vec3(*point)
            gap = sub(normal.dot(centre - origin), first.radius)
            found.append(Touch(gap, normal, centre - normal * first.radius))
        return found
