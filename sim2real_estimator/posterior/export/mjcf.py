"""
A robot as estimated, as a model of MuJoCo.

Bodies, joints and motors of our own model, so that all joint types and all estimated quantities
get there; a body keeps its name where it is welded to another. Primitive shapes come along.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from xml.etree import ElementTree

import numpy as np
from transforms3d.quaternions import mat2quat

from ...errors import ModelError
from ...model.body_numbers import at_centre
from ...model.tree import WORLD
from ...model.urdf.elements import read_origin
from ...model.urdf.xml_reader import read_robot
from ...spatial.rotation import Rotation
from .text_files import provenance, replace_file, word, words

_TYPES = {
    'revolute': 'hinge',
    'continuous': 'hinge',
    'prismatic': 'slide',
    'spherical': 'ball',
    'free': 'free',
}
# Theirs -> ours.
_PHYSICS = {
    'damping': 'damping',
    'frictionloss': 'friction',
    'armature': 'armature',
    'stiffness': 'stiffness',
}
# Groups of shapes: the first is shown, the second not, unless somebody asks for it.
_SEEN, _TOUCHED = '2', '3'
_SIZES = {
    'box': lambda box: [x / 2 for x in box.vector('size', (1.0, 1.0, 1.0))],
    'cylinder': lambda rod: [rod.number('radius'), rod.number('length') / 2, 0.0],
    'sphere': lambda ball: [ball.number('radius'), 0.0, 0.0],
}


def write_mjcf(robot, path):
    """Write the MJCF of an `EstimatedRobot`; where MuJoCo is installed, it has to take it."""
    text = mjcf_text(robot)
    if find_spec('mujoco') is not None:
        _check(text)
    replace_file(path, text)


def mjcf_text(robot):
    """Return the MJCF of an `EstimatedRobot`, its provenance in a comment."""
    model = robot.problem.model
    root = ElementTree.Element('mujoco', model=model.name)
    root.append(ElementTree.Comment(f'\n{provenance(robot)}\n'))
    # Masses come from the estimate alone, whatever the shapes are.
    ElementTree.SubElement(root, 'compiler', angle='radian', inertiafromgeom='false')
    gravity = words((0.0, 0.0, -robot.value('world.gravity')))
    ElementTree.SubElement(root, 'option', gravity=gravity)
    shapes = shapes_of(read_robot(robot.urdf)[0])
    world = ElementTree.SubElement(root, 'worldbody')
    # What floats has to hang on MuJoCo's own world.
    is_world = model.base == WORLD or any(j.kind.type_name == 'free' for j in model.joints)
    base = world if is_world else ElementTree.SubElement(world, 'body', name=model.base)
    bodies = {model.base: base}
    _add_shapes(base, shapes.get(model.base, ()))
    for joint in model.ordered_joints:
        parent, place = bodies[joint.parent], _pose(robot.origin(joint), joint.rotation)
        body = ElementTree.SubElement(parent, 'body', name=joint.child, **place)
        bodies[joint.child] = body
        _add_joints(robot, body, joint)
        _add_mass(robot, body, joint.child)
        _add_shapes(body, shapes.get(joint.child, ()))
    _add_motors(robot, ElementTree.SubElement(root, 'actuator'))
    _add_followers(model, ElementTree.SubElement(root, 'equality'))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode') + '\n'


def _check(text):
    """Raise a ModelError where MuJoCo does not take a model."""
    import mujoco

    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise ModelError(f'MuJoCo does not take the robot: {error}; use the URDF') from error


def _add_joints(robot, body, joint):
    """Add what moves a body against its parent, with all that takes energy from it."""
    kind = joint.kind.type_name
    if joint.is_fixed:
        return
    if kind == 'planar':
        along, about = joint.kind.groups
        parts = [(f'{joint.name}_{k}', 'slide', axis) for k, axis in zip('xy', along.axes)]
        parts.append((joint.name, 'hinge', about.axes[0]))
    else:
        parts = [(joint.name, _TYPES[kind], joint.kind.groups[0].axes[0])]
    physics = {
        theirs: word(value)
        for theirs, ours in _PHYSICS.items()
        if (value := robot.value(f'{joint.name}.{ours}'))
    }
    for name, theirs, axis in parts:
        added = ElementTree.SubElement(body, 'joint', name=name, type=theirs, **physics)
        if theirs not in ('hinge', 'slide'):
            continue
        added.set('axis', words(axis))
        rest = f'{joint.name}.rest'
        if rest in robot.parameters and robot.value(rest):
            added.set('springref', word(robot.value(rest)))
        lower, upper = joint.limits.lower, joint.limits.upper
        if kind in ('revolute', 'prismatic') and None not in (lower, upper) and lower < upper:
            added.set('range', words((lower, upper)))


def _add_mass(robot, body, link):
    """Give a body the mass and the inertia of a link."""
    if robot.problem.model.attachments[link].body < 0:
        return
    mass, centre, inertia = at_centre(robot.body(link))
    if mass > 0:
        values = {'mass': word(mass), 'pos': words(centre), 'fullinertia': words(inertia)}
        ElementTree.SubElement(body, 'inertial', **values)


def _add_shapes(body, shapes):
    """Add primitive shapes; what is only seen touches nothing."""
    for shape in shapes:
        geom = ElementTree.SubElement(body, 'geom', type=shape.kind, size=words(shape.size))
        geom.attrib.update(_pose(shape.position, shape.rotation))
        geom.set('group', _TOUCHED if shape.is_solid else _SEEN)
        if not shape.is_solid:
            geom.attrib.update(contype='0', conaffinity='0')


def _add_motors(robot, parent):
    """Add a motor for every joint of one degree of freedom that takes efforts."""
    for moving in robot.problem.model.moving_joints:
        joint, gain = moving.joint, f'{moving.joint.name}.gain'
        if moving.is_independent and joint.kind.velocity_size == 1 and gain in robot.parameters:
            motor = ElementTree.SubElement(parent, 'motor', name=joint.name, joint=joint.name)
            motor.set('gear', word(robot.value(gain)))


def _add_followers(model, parent):
    """Tie the joints that follow others."""
    for joint in model.joints:
        if joint.mimic is not None:
            tie = ElementTree.SubElement(parent, 'joint', joint1=joint.name)
            tie.set('joint2', joint.mimic.source)
            tie.set('polycoef', words((joint.mimic.offset, joint.mimic.multiplier, 0, 0, 0)))


def _pose(position, rotation):
    """Return where a frame is, as attributes; w, x, y, z of its quaternion."""
    matrix = np.array([tuple(row) for row in rotation.rows], dtype=float)
    return {'pos': words(position), 'quat': words(mat2quat(matrix))}


@dataclass(frozen=True)
class Shape:
    """
    A primitive on a link.

    kind: box, cylinder or sphere; size: as MuJoCo has it, radius and half lengths [m]; position
    [m] and rotation: of its frame in the link's; is_solid: of <collision>, else of <visual>.
    """

    kind: str
    size: list
    position: tuple
    rotation: Rotation
    is_solid: bool


def shapes_of(robot):
    """Return link -> [`Shape`] of the <robot> of a URDF."""
    found = {}
    for link in robot.named_children('link'):
        parts = [(part, tag) for tag in ('visual', 'collision') for part in link.children(tag)]
        shapes = [_shape(part, tag == 'collision') for part, tag in parts]
        found[link.text('name')] = [shape for shape in shapes if shape]
    return found


def _shape(part, is_solid):
    """Return the `Shape` of a <visual> or <collision>, None where it is none of the three."""
    geometry = part.child('geometry')
    position, rotation = read_origin(part)
    for kind, size in _SIZES.items():
        element = geometry.child(kind) if geometry is not None else None
        if element is not None:
            return Shape(kind, size(element), position, rotation, is_solid)
    return None
