"""What the elements of a URDF mean: links, joints and transmissions."""

import logging
import math

from ...spatial.inertia import Symmetric3
from ...spatial.quaternion import Quaternion
from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3
from ..actuators import ACTUATORS
from ..joints import JOINTS
from ..tree import Inertial, Joint, JointPhysics, Limits, Link, Mimic

# URDF's word where it differs from ours.
_RENAMED_TYPES = {'floating': 'free'}
# A half turn of eleven digits misses zero by less; an exact zero is cheaper to simulate.
_DUST = 1e-15
_ZERO = (0.0, 0.0, 0.0)

_logger = logging.getLogger(__name__)


def read_link(element):
    """Return the Link of a <link>."""
    inertial = element.child('inertial')
    return Link(element.text('name'), None if inertial is None else _read_inertial(inertial))


def _read_inertial(element):
    mass = element.required_child('mass').number('value')
    inertia = element.required_child('inertia')
    moments = [inertia.number(name) for name in ('ixx', 'iyy', 'izz')]
    products = [inertia.number(name, 0.0) for name in ('ixy', 'ixz', 'iyz')]
    centre, rotation = read_origin(element)
    return Inertial(mass, centre, tuple(Symmetric3(*moments, *products).rotated(rotation)))


def read_origin(element):
    """Return the ((x, y, z) [m], Rotation) of an element's <origin>."""
    origin = element.child('origin')
    if origin is None:
        return _ZERO, Rotation.identity()
    quaternion = origin.vector('quat_xyzw', None, 4)
    if quaternion is None:
        rotation = Rotation.from_roll_pitch_yaw(*origin.vector('rpy', _ZERO))
    else:
        if not any(quaternion):
            raise origin.error('its <origin quat_xyzw> is zero', 'write "0 0 0 1" for no turn')
        x, y, z, w = quaternion
        rotation = Rotation.from_quaternion(Quaternion(w, x, y, z).normalized())
    return origin.vector('xyz', _ZERO), Rotation(
        Vec3(*_without_dust(row)) for row in rotation.rows
    )


def read_joint(element, override=None):
    """Return the Joint of a <joint>; `override`, an entry of JOINTS, replaces its type."""
    name = element.text('name')
    type_name = override or _read_type(element)
    kind = JOINTS[type_name](_read_axis(element))
    origin, rotation = read_origin(element)
    # A joint welded by an override follows no other any more.
    mimic = _read_mimic(element) if kind.velocity_size else None
    takes_command = kind.velocity_size == 1 and mimic is None
    return Joint(
        name,
        kind,
        element.required_child('parent').text('link'),
        element.required_child('child').text('link'),
        origin,
        rotation,
        _read_physics(element),
        _read_limits(element),
        mimic,
        ACTUATORS['effort' if takes_command else 'passive'],
    )


def _read_type(element):
    written = element.text('type')
    type_name = _RENAMED_TYPES.get(written, written)
    if type_name not in JOINTS:
        raise element.error(
            f"there is no joint type '{written}'",
            f'choose one of {", ".join((*JOINTS, *_RENAMED_TYPES))}',
        )
    return type_name


def _read_axis(element):
    """Return the unit axis; one of no length stays as it is, as joints without axis allow it."""
    axis = element.child('axis')
    direction = (1.0, 0.0, 0.0) if axis is None else axis.vector('xyz', (1.0, 0.0, 0.0))
    length = math.hypot(*direction)
    if length == 0:
        return direction
    cleaned = _without_dust(x / length for x in direction)
    length = math.hypot(*cleaned)
    return tuple(x / length for x in cleaned)


def _read_physics(element):
    dynamics = element.child('dynamics')
    if dynamics is None:
        return JointPhysics()
    return JointPhysics(
        damping=dynamics.number('damping', 0.0),
        friction=dynamics.number('friction', 0.0),
        armature=dynamics.number('armature', 0.0),
    )


def _read_limits(element):
    limit = element.child('limit')
    if limit is None:
        return Limits()
    return Limits(*(limit.number(name, None) for name in ('lower', 'upper', 'velocity', 'effort')))


def _read_mimic(element):
    mimic = element.child('mimic')
    if mimic is None:
        return None
    return Mimic(mimic.text('joint'), mimic.number('multiplier', 1.0), mimic.number('offset', 0.0))


def read_reductions(robot):
    """
    Return joint name to reduction for every transmission with one joint and one motor.

    A simple transmission has its <mechanicalReduction> under <actuator> (as ros_control reads
    it), under <joint>, or under itself (PR2); ros2_control writes <mechanical_reduction>.
    """
    reductions, owners = {}, {}
    for element in [
        *robot.named_children('transmission'),
        *robot.named_children('ros2_control/transmission'),
    ]:
        joints = element.named_children('joint')
        actuators = element.named_children('actuator')
        places = [*actuators, *joints, element]
        found = [value for value in map(_own_reduction, places) if value is not None]
        if not found or not joints:
            continue
        if len(joints) > 1 or len(actuators) > 1:
            if any(abs(value) != 1 for value in found):
                _logger.warning(
                    '%s',
                    element.error(
                        'it couples several joints or motors, so its reductions are not used',
                        "give each joint's actuator its own reduction",
                    ),
                )
            continue
        name = joints[0].text('name')
        if reductions.get(name, found[0]) != found[0]:
            raise element.error(
                f"it gives joint '{name}' the reduction {found[0]:g}, but {owners[name]} gives "
                f'{reductions[name]:g}',
                'keep one of them',
            )
        reductions[name], owners[name] = found[0], f"transmission '{element.text('name')}'"
    return reductions


def _own_reduction(element):
    for tag in ('mechanicalReduction', 'mechanical_reduction'):
        child = element.child(tag)
        if child is not None:
            return child.content_number()
    return None


def _without_dust(values):
    """Return values with those within rounding of 0, 1 and -1 made exact."""
    return tuple(float(round(x)) if abs(x - round(x)) < _DUST else x for x in values)
