"""
Recordings of which the robot's description, or a unit, is wrong in a way that users meet.

The plant and its motion are the same as without: what is changed is what the user has of them, the
URDF or the numbers of messages.
"""

from dataclasses import replace
import math
from xml.etree import ElementTree

import numpy as np

from sim2real_estimator.reported_events import PositionsInDegrees, WrongMount, WrongSign, WrongUnit

# Torques are reported so many times as large as they are, or of one joint; those that are motor
# currents have torque constants, with their gears, between these [N m/A].
_FACTOR, _TORQUE_CONSTANTS = 2.0, (5.0, 20.0)
# A link is described so many times as long as it is.
_LENGTH = 1.2
# A direction is right that is off by less than that [rad].
_OFF = 0.35
# Stream of random numbers beside those of `recordings`.
_OF_MISFIT = 17


def with_misfit(recording, name, seed, index):
    """
    Return (`Recording` with the misfit of a name, whether an event about it is right).

    The latter is a function of a `Misfit` that was reported.
    """
    number = list(MISFITS).index(name)
    generator = np.random.default_rng((seed, index, _OF_MISFIT, number))
    changed, is_right = MISFITS[name][1](recording, generator)
    return replace(changed, name=f'{name} {recording.name}'), is_right


def _unit(recording, generator):
    factors = np.full(len(recording.joints), _FACTOR)
    return _scaled(recording, factors), _equal_but_for_factor(WrongUnit)


def _unit_of_one(recording, generator):
    joint = int(generator.integers(len(recording.joints)))
    changed = _scaled(recording, np.where(np.arange(len(recording.joints)) == joint, _FACTOR, 1.0))
    return changed, _equal_but_for_factor(WrongUnit, recording.joints[joint])


def _amperes(recording, generator):
    constants = np.exp(generator.uniform(*np.log(_TORQUE_CONSTANTS), len(recording.joints)))
    return _scaled(recording, 1 / constants), _equal_but_for_factor(WrongUnit)


def _sign(recording, generator):
    joint = int(generator.integers(len(recording.joints)))
    changed = _scaled(recording, np.where(np.arange(len(recording.joints)) == joint, -1.0, 1.0))
    return changed, _equal_but_for_factor(WrongSign, recording.joints[joint])


def _degrees(recording, generator):
    changed = replace(recording, q=np.degrees(recording.q))
    return changed, lambda event: isinstance(event, PositionsInDegrees)


def _on_a_wall(recording, generator):
    axis, turn = int(generator.integers(2)), float(generator.choice((-0.5, 0.5))) * math.pi
    upward = (0.0, -math.sin(turn), 0.0) if axis == 0 else (math.sin(turn), 0.0, 0.0)
    return _mounted(recording, [turn if k == axis else 0.0 for k in range(3)]), _along(upward)


def _upside_down(recording, generator):
    return _mounted(recording, [math.pi, 0.0, 0.0]), _along((0.0, 0.0, -1.0))


def _link_length(recording, generator):
    """Stretch the longest link between two joints; no event says that."""
    root = ElementTree.fromstring(recording.urdf)
    inner = [j for j in root.findall('joint') if j.get('name') in recording.joints[1:]]
    origins = [joint.find('origin') for joint in inner]
    places = [np.array([float(x) for x in o.get('xyz').split()]) for o in origins]
    longest = int(np.argmax([np.linalg.norm(place) for place in places]))
    origins[longest].set('xyz', ' '.join(map(repr, (_LENGTH * places[longest]).tolist())))
    changed = replace(recording, urdf=ElementTree.tostring(root, encoding='unicode'))
    return changed, lambda event: False


def _scaled(recording, factors):
    """Return a recording whose measured torques are multiplied by factors [n]."""
    truth = dict(recording.truth)
    for joint, factor in zip(recording.joints, factors.tolist()):
        truth[f'{joint}.gain'] /= factor
    return replace(recording, tau=factors * recording.tau, truth=truth)


def _mounted(recording, rpy):
    """Return a recording whose URDF says that the base is turned by roll, pitch, yaw [rad]."""
    root = ElementTree.fromstring(recording.urdf)
    children = {joint.find('child').get('link') for joint in root.findall('joint')}
    base = next(k.get('name') for k in root.findall('link') if k.get('name') not in children)
    ElementTree.SubElement(root, 'link', name='mounting_plate')
    joint = ElementTree.SubElement(root, 'joint', name='mounting', type='fixed')
    ElementTree.SubElement(joint, 'parent', link='mounting_plate')
    ElementTree.SubElement(joint, 'child', link=base)
    ElementTree.SubElement(joint, 'origin', xyz='0 0 0', rpy=' '.join(map(repr, rpy)))
    return replace(recording, urdf=ElementTree.tostring(root, encoding='unicode'))


def _equal_but_for_factor(kind, joint=None):
    """Return the function that tells whether an event is of a kind, about a joint (None: all)."""
    return lambda event: isinstance(event, kind) and event.joint == joint


def _along(upward):
    """Return the function that tells whether an event says which direction is upwards."""

    def is_right(event):
        is_mount = isinstance(event, WrongMount)
        return is_mount and bool(np.dot(upward, event.upward) > np.cos(_OFF))

    return is_right


# Name -> (title, function from a recording and a generator to what `with_misfit` returns).
MISFITS = {
    'unit': ('torques twice as large as they are', _unit),
    'unit_of_one': ('torques of one joint twice as large as they are', _unit_of_one),
    'amperes': ('motor currents for torques, 5 to 20 N m/A', _amperes),
    'sign': ('torques of one joint with the wrong sign', _sign),
    'degrees': ('positions in degrees', _degrees),
    'wall': ('a base on a floor that is described as on a wall', _on_a_wall),
    'ceiling': ('a base on a floor that is described as upside down', _upside_down),
    'length': ('a link that is described a fifth too long', _link_length),
}
