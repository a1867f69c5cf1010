"""A ball on a ball."""

from ...spatial.scalar import sqrt, sub
from ...spatial.vector import Vec3
from .base import AbstractGeometry, Touch
from .collision_shapes import Sphere

# Keeps the distance of coinciding centres differentiable [m^2].
_TINY_SQUARED = 1e-24


class SphereOnSphere(AbstractGeometry):
    """Two balls touch on the line through their centres."""

    name = 'sphere_on_sphere'
    first, second = Sphere, Sphere

    def touches(self, first, second, place_first, place_second):
        """Return the one `Touch`, on the surface of the second ball."""
        ours = place_first.position + place_first.rotation * Vec3(*first.centre)
        theirs = place_second.position + place_second.rotation * Vec3(*second.centre)
        return [touch_of_centres(ours, theirs, first.radius, second.radius)]


def touch_of_centres(ours, theirs, radius, other_radius):
    """Return the `Touch` of a ball about `ours` and one about `theirs`, Vec3 in the world [m]."""
    apart = ours - theirs
    distance = sqrt(apart.dot(apart) + _TINY_SQUARED)
    normal = apart * (1.0 / distance)
    return Touch(sub(distance, radius + other_radius), normal, theirs + normal * other_radius)
