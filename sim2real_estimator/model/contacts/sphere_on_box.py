"""A ball on a box."""

from ...spatial.scalar import maximum, minimum
from ...spatial.vector import Vec3
from .base import AbstractGeometry
from .collision_shapes import Box, Sphere
from .sphere_on_sphere import touch_of_centres


class SphereOnBox(AbstractGeometry):
    """
    A ball touches a box where the box is closest to its centre.

    That is the centre clamped to the box, in the axes of the box. A ball whose centre has entered
    the box has no such point: contacts must be stiff enough to keep it out.
    """

    name = 'sphere_on_box'
    first, second = Sphere, Box

    def touches(self, first, second, place_first, place_second):
        """Return the one `Touch`, on the surface of the box."""
        centre = place_first.position + place_first.rotation * Vec3(*first.centre)
        turn = place_second.rotation * second.rotation
        middle = place_second.position + place_second.rotation * Vec3(*second.centre)
        inside = turn.transposed() * (centre - middle)
        nearest = Vec3(
            *(minimum(maximum(x, -size / 2), size / 2) for x, size in zip(inside, second.size))
        )
        return [touch_of_centres(centre, middle + turn * nearest, first.radius, 0.0)]
