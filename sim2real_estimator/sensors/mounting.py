"""Where motion capture really is: the pose of its world, and of a body on its link."""

from ..model.parameters import Parameter
from ..spatial.quaternion import Quaternion
from ..spatial.rotation import Rotation
from ..spatial.vector import Vec3

# All motion capture has one world; its name in parameters.
CAPTURE = 'mocap'
_SHIFTS, _TURNS = ('x', 'y', 'z'), ('rx', 'ry', 'rz')


def placement_parameters(owner, what):
    """Return the six quantities of a small displacement, `owner.x` ... `owner.rz`."""
    shifts = [Parameter(f'{owner}.{a}', 0.0, 'm', False, f'position of {what}') for a in _SHIFTS]
    turns = [
        Parameter(f'{owner}.{a}', 0.0, 'rad', False, f'rotation vector of {what}') for a in _TURNS
    ]
    return (*shifts, *turns)


def capture_parameters():
    """Return where the world of motion capture sees the robot's world."""
    return placement_parameters(CAPTURE, "the robot's world in that of motion capture")


def placement(robot, owner):
    """
    Return the displacement `owner` as (Rotation, Vec3 [m]).

    What the robot knows nothing of is structurally in place.
    """
    shift = Vec3(*(robot.more.get(f'{owner}.{a}', 0.0) for a in _SHIFTS))
    turn = Vec3(*(robot.more.get(f'{owner}.{a}', 0.0) for a in _TURNS))
    return Rotation.from_quaternion(Quaternion.exp(turn)), shift
