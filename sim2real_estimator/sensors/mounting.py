"""Where motion capture really is: the pose of its world, and of a body on its link."""

from dataclasses import dataclass
import math

from transforms3d.euler import euler2axangle
from transforms3d.quaternions import quat2axangle

from ..errors import ConfigError
from ..model.parameters import Parameter
from ..spatial.quaternion import Quaternion
from ..spatial.rotation import Rotation
from ..spatial.vector import Vec3

# All motion capture has one world; its name in parameters.
CAPTURE = 'mocap'
_SHIFTS, _TURNS = ('x', 'y', 'z'), ('rx', 'ry', 'rz')
# How far from one the norm of a quaternion may be that somebody has written down.
_NORM_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Placement:
    """A pose as it is known beforehand: position [m] and rotation vector [rad]."""

    position: tuple = (0.0, 0.0, 0.0)
    turn: tuple = (0.0, 0.0, 0.0)

    @staticmethod
    def of(position=(), rpy=(), rpy_degrees=(), quaternion=()):
        """
        Return the placement of a position and one of the others; nothing given is no turn.

        rpy [rad], rpy_degrees: about the fixed axes x, y, z, as in URDF; quaternion: x, y, z, w,
        as in messages. A ConfigError begins with the name of what is wrong.
        """
        turns = {'rpy': rpy, 'rpy_degrees': rpy_degrees, 'quaternion': quaternion}
        given = [name for name, numbers in turns.items() if numbers]
        if len(given) > 1:
            raise ConfigError(f'{given[1]}: is given, but {given[0]} as well; give one of them')
        for name, numbers, size in (
            ('position', position, 3),
            ('rpy', rpy, 3),
            ('rpy_degrees', rpy_degrees, 3),
            ('quaternion', quaternion, 4),
        ):
            if numbers and len(numbers) != size:
                raise ConfigError(f'{name}: is {list(numbers)}; give {size} numbers')
        turn = (0.0, 0.0, 0.0)
        if quaternion:
            turn = _turn_of_quaternion(*quaternion)
        elif given:
            angles = rpy or [math.radians(angle) for angle in rpy_degrees]
            turn = _turn(*euler2axangle(*angles, 'sxyz'))
        return Placement(tuple(position) or (0.0, 0.0, 0.0), turn)


IN_PLACE = Placement()


def _turn_of_quaternion(x, y, z, w):
    norm = math.hypot(x, y, z, w)
    if abs(norm - 1) > _NORM_TOLERANCE:
        raise ConfigError(
            f'quaternion: has a length of {norm:.3g}; give a unit quaternion x, y, z, w'
        )
    return _turn(*quat2axangle((w, x, y, z)))


def _turn(axis, angle):
    """Return the rotation vector of an axis and an angle [rad], at most half a turn."""
    angle = math.remainder(angle, 2 * math.pi)
    return tuple(float(angle * x) for x in axis)


def placement_parameters(owner, what, placed=IN_PLACE):
    """Return the six quantities of a pose, `owner.x` ... `owner.rz`; placed: what is known."""
    shifts = [
        Parameter(f'{owner}.{a}', x, 'm', False, f'position of {what}')
        for a, x in zip(_SHIFTS, placed.position)
    ]
    turns = [
        Parameter(f'{owner}.{a}', x, 'rad', False, f'rotation vector of {what}')
        for a, x in zip(_TURNS, placed.turn)
    ]
    return (*shifts, *turns)


def capture_parameters(placed=IN_PLACE):
    """Return where the world of motion capture sees the robot's world; placed: what is known."""
    return placement_parameters(CAPTURE, "the robot's world in that of motion capture", placed)


def placement(robot, owner):
    """
    Return the pose `owner` as (Rotation, Vec3 [m]).

    What the robot knows nothing of is structurally in place.
    """
    shift = Vec3(*(robot.more.get(f'{owner}.{a}', 0.0) for a in _SHIFTS))
    turn = Vec3(*(robot.more.get(f'{owner}.{a}', 0.0) for a in _TURNS))
    return Rotation.from_quaternion(Quaternion.exp(turn)), shift
