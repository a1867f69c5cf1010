"""Points that a camera sees whose picture is parallel to a plane of the robot's world."""

from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError
from ..model.parameters import Parameter
from ..records import Status
from ..spatial.scalar import add, cos, mul, neg, sin, sub
from .marker import AbstractPoint

_AXES = ('x', 'y', 'z')


@dataclass(frozen=True)
class View:
    """
    A camera, as far as it is known beforehand.

    name: of its parameters; scale [px/m]; tilt [rad]: by which its picture is turned, from u
    towards v; origin (u, v) [px]: where it sees the origin of the world; axes: of the world, such
    as ('x', '-z'), along which u and v grow.
    """

    name: str
    scale: float
    tilt: float = 0.0
    origin: tuple = (0.0, 0.0)
    axes: tuple = ('x', '-z')

    def __post_init__(self):
        """Raise a ConfigError that begins with the name of what is wrong."""
        if len(self.origin) != 2:
            raise ConfigError(f'origin: is {list(self.origin)}; give u and v')
        bare = [axis.lstrip('+-') for axis in self.axes]
        if len(bare) != 2 or not set(bare) <= set(_AXES) or bare[0] == bare[1]:
            raise ConfigError(
                f'axes: are {list(self.axes)}; give two different axes of the world along which u '
                'and v grow, such as [x, -z]'
            )

    @property
    def parameters(self):
        """What may be estimated of it."""
        u, v = self.origin
        return (
            Parameter(f'{self.name}.scale', self.scale, 'px/m', True, 'pixels in a metre'),
            Parameter(
                f'{self.name}.tilt', self.tilt, 'rad', False, 'by which the picture is turned'
            ),
            Parameter(
                f'{self.name}.origin_u', u, 'px', False, "the world's origin in the picture"
            ),
            Parameter(
                f'{self.name}.origin_v', v, 'px', False, "the world's origin in the picture"
            ),
        )

    def seen(self, robot, point):
        """Return u and v [px] of a point in the world."""
        scale, tilt, *origin = (
            robot.more.get(entry.name, entry.nominal) for entry in self.parameters
        )
        a, b = (self._along(axis, point) for axis in self.axes)
        c, s = cos(tilt), sin(tilt)
        turned = sub(mul(c, a), mul(s, b)), add(mul(s, a), mul(c, b))
        return [add(start, mul(scale, length)) for start, length in zip(origin, turned)]

    @staticmethod
    def _along(axis, point):
        value = point[_AXES.index(axis.lstrip('+-'))]
        return neg(value) if axis.startswith('-') else value


def _read_pixels(message):
    """Read geometry_msgs/msg/PointStamped: u, v; what z says is of no camera."""
    return np.array([message.point.x, message.point.y]), Status.USED


class PlanarCamera(AbstractPoint):
    """
    A point fixed to a link in the picture of a camera, which looks straight at its plane.

    All sensors of a camera share its scale, tilt and origin. The camera is so far away, or the
    point stays so much in a plane, that a metre has the same number of pixels everywhere.
    values: u, v [px], NaN where it is hidden.
    """

    value_size = 2
    row_size = 2
    output_size = 2
    sees_links = True
    axes, unit = 'uv', 'px'
    # Pixels are whole numbers, or parts of them: they repeat themselves at rest.
    may_repeat = True

    readers = {'geometry_msgs/msg/PointStamped': _read_pixels}
    message_types = tuple(readers)

    def __init__(self, name, model, link, point, sd, camera, message_type=None):
        """Take the link's name, the point (x, y, z) [m] in its frame, the sd [px] and a `View`."""
        super().__init__(name, model, link, point, sd, camera.parameters, message_type)
        self.view = camera

    def observe(self, robot, q, v):
        """Return u and v of the point."""
        return self.view.seen(robot, self.in_world(robot, q, v))
