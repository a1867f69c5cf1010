"""What a law of contact and the geometry of two shapes must offer."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3


@dataclass(frozen=True)
class ContactParameter:
    """
    A number that a law of contact has for every pair; it becomes the parameter `PAIR.name`.

    sd: how well it is usually known before any data, relative, of its logarithm.
    """

    name: str
    default: float
    unit: str
    sd: float
    description: str


@dataclass(frozen=True)
class Place:
    """Where a shape's link is in the world: Rotation, Vec3 of the frame's origin [m]."""

    rotation: Rotation
    position: Vec3


@dataclass(frozen=True)
class Touch:
    """
    Where two shapes touch, or come closest, in axes of the world.

    gap: distance between the surfaces [m], negative where they overlap; normal: unit Vec3 from
    the second shape towards the first; point: Vec3 at which the force acts [m].
    """

    gap: object
    normal: Vec3
    point: Vec3


class AbstractContactLaw(ABC):
    """
    The contact force as a function of gap, velocity and the parameters of a pair.

    parameters: its `ContactParameter`s; may_be_zero: names of those that may be zero, which then
    cost nothing. A law has no memory: forces depend on the state alone.
    """

    name = ''
    parameters = ()
    may_be_zero = ()

    @abstractmethod
    def force(self, gap, gap_rate, slip, normal, values):
        """
        Return the force on the first of two bodies, a Vec3 [N].

        gap [m] and normal as in `Touch`; gap_rate: its time derivative [m/s]; slip: tangential
        velocity of the first body relative to the second, a Vec3 [m/s]; values: name of a
        parameter to scalar. Written with `spatial.scalar`, continuous, and zero where gap >= 0.
        """

    @abstractmethod
    def duration(self, mass, speed, values):
        """
        Return how long a body stays in contact when it hits another, a float [s].

        mass [kg]; speed of the impact [m/s]; values: name to float. Time steps are judged by it.
        """

    def usual_values(self, mass):
        """Return name -> value of parameters whose usual size depends on the mass [kg]."""
        return {}


class AbstractGeometry(ABC):
    """
    Where two shapes of given classes touch.

    first, second: the classes of shapes; `as_first` and `as_second` of a shape say what it can
    stand for.
    """

    name = ''
    first = None
    second = None

    @abstractmethod
    def touches(self, first, second, place_first, place_second):
        """
        Return the `Touch`es of two shapes, always equally many.

        first, second: shapes in the frames of their links; places: the `Place`s of these.
        """
