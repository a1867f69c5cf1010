"""A robot as estimated, in the text of its URDF: what was not found out stays byte for byte."""

import numpy as np

from ...model.body_numbers import at_centre
from ...model.urdf.elements import read_origin
from ...model.urdf.text import UrdfText
from ...model.urdf.xml_reader import read_bytes, read_robot
from ...spatial.inertia import Symmetric3
from .text_files import provenance, replace_file, word, words

_DYNAMICS = ('damping', 'friction', 'armature')
_MOMENTS = ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')
# Relative change up to which a number is the one that is written.
_ROUNDING = 1e-12


def write_urdf(robot, path):
    """Write the URDF of an `EstimatedRobot`; friction, damping and armature are of its joints."""
    replace_file(path, urdf_bytes(robot))


def urdf_bytes(robot):
    """Return the URDF of an `EstimatedRobot`, its provenance in a comment."""
    model = robot.problem.model
    text = UrdfText(*read_bytes(robot.urdf))
    elements, _ = read_robot(robot.urdf)
    links = {element.text('name'): element for element in elements.named_children('link')}
    for name, body in robot.bodies.items():
        if name in links:
            _write_body(text, text.named('link', name), links[name], body)
    joints = {element.text('name') for element in elements.named_children('joint')}
    for joint in model.joints:
        if joint.name in joints:
            _write_joint(text, text.named('joint', joint.name), robot, joint)
    text.insert_comment(provenance(robot))
    return text.changed()


def _write_body(text, tag, element, body):
    """Write mass, centre of mass and inertia of a link; the axes of its <inertial> stay."""
    mass, centre, inertia = at_centre(body)
    inertial = element.child('inertial')
    if inertial is None:
        text.add(
            tag,
            f'<inertial><origin xyz="{words(centre)}"/><mass value="{word(mass)}"/>'
            f'<inertia {_attributes(inertia)}/></inertial>',
        )
        return
    there = tag.child('inertial')
    before, rotation = read_origin(inertial)
    own = np.array(tuple(Symmetric3(*inertia.tolist()).rotated(rotation.transposed())))
    _set(text, there.child('mass'), 'value', [mass], [inertial.child('mass').number('value')])
    _write_place(text, there, centre, before)
    moments = inertial.child('inertia')
    before = np.array([moments.number(name, 0.0) for name in _MOMENTS])
    for name, new, old in zip(_MOMENTS, own, before):
        if abs(new - old) > _ROUNDING * np.abs(before).max(initial=1e-300):
            text.set(there.child('inertia'), name, word(new))


def _write_joint(text, tag, robot, joint):
    """Write where a joint is, and what takes energy from it."""
    _write_place(text, tag, robot.origin(joint), joint.origin)
    if joint.is_fixed:
        return
    before = {name: getattr(joint.physics, name) for name in _DYNAMICS}
    now = {name: robot.value(f'{joint.name}.{name}') for name in _DYNAMICS}
    changed = {n: v for n, v in now.items() if abs(v - before[n]) > _ROUNDING * abs(before[n])}
    dynamics = tag.child('dynamics')
    if dynamics:
        for name, value in changed.items():
            text.set(dynamics, name, word(value))
    elif changed:
        written = ' '.join(f'{name}="{word(value)}"' for name, value in changed.items())
        text.add(tag, f'<dynamics {written}/>')


def _write_place(text, tag, new, old):
    """Write the position in the <origin> of a tag, where there is one or has to be."""
    origin = tag.child('origin')
    if origin is not None:
        _set(text, origin, 'xyz', new, old)
    elif _differ(new, old, np.abs(old).max()).any():
        text.add(tag, f'<origin xyz="{words(new)}"/>')


def _set(urdf, tag, attribute, new, old):
    """Give an attribute other numbers where they differ by more than rounding."""
    written = tag.values.get(attribute, '').split() or ['0'] * len(new)
    is_new = _differ(new, old, np.abs(old).max())
    if is_new.any():
        chosen = [word(x) if k else text for text, x, k in zip(written, new, is_new)]
        urdf.set(tag, attribute, ' '.join(chosen))


def _differ(new, old, size):
    return np.abs(np.asarray(new) - old) > _ROUNDING * max(size, 1e-3)


def _attributes(inertia):
    return ' '.join(f'{name}="{word(x)}"' for name, x in zip(_MOMENTS, inertia))
