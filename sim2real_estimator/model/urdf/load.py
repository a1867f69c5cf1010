"""Robots from URDF files."""

from dataclasses import replace
import logging

from ...errors import ConfigError, ModelError
from ..contacts import with_declared_contacts
from ..inertia_checks import ball, fault_of, infeasible_inertias, is_point, mended
from ..joints import JOINTS
from ..suggestions import suggestions
from ..tree import Joint, Link, Model, WORLD
from .collisions import read_shapes
from .elements import read_joint, read_link, read_reductions
from .xml_reader import read_robot

FLOATING_BASE = 'floating_base'

_BASES = ('fixed', 'floating')
_INERTIA_CHECKS = ('error', 'warn', 'mend')
_logger = logging.getLogger(__name__)


def load_urdf(
    source, *, base='fixed', joint_types=None, actuators=None, inertia_check='error', contacts=None
):
    """
    Return the Model of a URDF.

    source: a path, or the XML as a string that begins with '<'.
    base: 'fixed' welds the root link to the world and leaves its inertia unused; 'floating' puts
    a free joint named 'floating_base' between a new link 'world' and the root link.
    joint_types: joint name to an entry of JOINTS, instead of the type in the file; for what URDF
    lacks (spherical), and to weld or free joints.
    actuators: joint name to what `Model.with_actuators` takes; by default a joint of one degree
    of freedom that follows no other has the actuator 'effort', any other joint 'passive'.
    inertia_check: 'error' refuses inertias that no body can have, 'warn' logs them, 'mend' takes
    the nearest that a body can have, and logs them.
    contacts: name of a pair of links that can touch to what `with_declared_contacts` takes, for
    example {'floor': {'between': ('cube', 'ground'), 'friction': 0.4}}; the shapes are those of
    <collision>.

    In addition to the standard, <dynamics> may have an armature [kg m^2 or kg]. Meshes are read
    where they touch, all other elements are not.
    """
    for name, value, choices in (
        ('base', base, _BASES),
        ('inertia_check', inertia_check, _INERTIA_CHECKS),
    ):
        if value not in choices:
            raise ConfigError(
                f'load_urdf: {name}={value!r} is not known; use one of '
                f'{", ".join(map(repr, choices))}'
            )
    robot, file = read_robot(source)
    links = tuple(read_link(element) for element in robot.named_children('link'))
    joints = _read_joints(robot, joint_types or {}, file)
    if base == 'floating':
        links, joints = _with_floating_base(links, joints, file)
    model, name = None, robot.text('name', 'robot')
    if inertia_check == 'mend':
        links = _mended(links, file)
        try:
            model = Model(name, links, joints, file)
        except ModelError:
            # Perhaps an exporter has rounded small inertias to zero.
            links = _extended(links, file)
    model = model or Model(
        name, links, joints, file, accepts_infeasible_inertia=inertia_check == 'warn'
    )
    if inertia_check == 'warn':
        for problem in infeasible_inertias(model):
            _logger.warning('%s; taken as it is', problem)
    elements = {element.text('name'): element for element in robot.named_children('link')}

    def shapes_of(link):
        return read_shapes(elements[link], source) if link in elements else ()

    model = with_declared_contacts(model, contacts or {}, shapes_of)
    return model.with_actuators(actuators or {})


def _mended(links, file):
    """Return links all of whose inertias are such as a body can have."""
    faults = {link.name: fault_of(link.inertial) for link in links if link.inertial}
    faults = {name: fault for name, fault in faults.items() if fault}
    if faults:
        _logger.warning(
            "%s: inertias of %s are those of no body, '%s': %s; the nearest that a body can have "
            'are taken',
            file,
            ', '.join(faults),
            *next(iter(faults.items())),
        )
    return tuple(
        replace(link, inertial=mended(link.inertial)) if link.name in faults else link
        for link in links
    )


def _extended(links, file):
    """Return links in which those that are points are balls as dense as water."""
    points = [link for link in links if link.inertial and is_point(link.inertial)]
    if points:
        _logger.warning(
            '%s: inertias of %s are zero; those of balls as dense as water are taken',
            file,
            ', '.join(link.name for link in points),
        )
    return tuple(
        replace(link, inertial=ball(link.inertial)) if link in points else link for link in links
    )


def _read_joints(robot, joint_types, file):
    elements = robot.named_children('joint')
    names = [element.text('name') for element in elements]
    for name, type_name in joint_types.items():
        if name not in names:
            raise ModelError(
                f"{file}: joint_types names joint '{name}', which does not exist; "
                f'the robot has: {suggestions(name, names)}'
            )
        if type_name not in JOINTS:
            raise ModelError(
                f"{file}: joint '{name}': joint_types gives the unknown type "
                f"'{type_name}'; choose one of {', '.join(JOINTS)}"
            )
    reductions = read_reductions(robot)
    for name in reductions.keys() - set(names):
        _logger.warning(
            "%s: a transmission names joint '%s', which does not exist; the robot has: %s",
            file,
            name,
            suggestions(name, names),
        )
    joints = [read_joint(element, joint_types.get(element.text('name'))) for element in elements]
    return tuple(replace(joint, reduction=reductions.get(joint.name, 1.0)) for joint in joints)


def _with_floating_base(links, joints, file):
    """Return links and joints with the root link set free in a new world."""
    children = {joint.child for joint in joints}
    roots = [link.name for link in links if link.name not in children]
    if WORLD in roots:
        tied = [joint.name for joint in joints if joint.parent == WORLD]
        override = ', '.join(f"'{name}': 'free'" for name in tied)
        raise ModelError(
            f"{file}: link '{WORLD}': the robot has its own world link, so base='floating' "
            f"cannot add one; use base='fixed' with joint_types={{{override}}}"
        )
    for what, name, items, way_out in (
        ('link', WORLD, links, ''),
        (
            'joint',
            FLOATING_BASE,
            joints,
            ', or if this joint is the floating base, use '
            f"base='fixed' with joint_types={{'{FLOATING_BASE}': 'free'}}",
        ),
    ):
        if any(item.name == name for item in items):
            raise ModelError(
                f"{file}: {what} '{name}': base='floating' needs this name for "
                f'itself; rename the {what} in the file{way_out}'
            )
    # Without exactly one root there is nothing to free, and the model's own check says why.
    if len(roots) != 1:
        return links, joints
    free = Joint(FLOATING_BASE, JOINTS['free'](None), WORLD, roots[0])
    return (Link(WORLD), *links), (free, *joints)
