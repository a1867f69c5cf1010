"""
Torques of a robot whose parameters are given by name, and how far off they are.

By Pinocchio and the description alone, so that it checks what our package says by what it means.
"""

from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from peers.least_squares import STRIBECK_RANGE
import pinocchio as pin

# Where a description does not say how fast the sign of friction changes [rad/s].
_WIDTH = 0.01
_PAIRS = ('xx', 'xy', 'yy', 'xz', 'yz', 'zz')


@dataclass(frozen=True)
class Motion:
    """Zero-phase filtered t [N] s, q, v, a [N, n] and measured torques tau [N, n]."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray

    def __getitem__(self, kept):
        """Return a part of it."""
        return Motion(*(x[kept] for x in vars(self).values()))

    def within(self, window):
        """Return the part between two times [s]."""
        return self[(self.t > window[0]) & (self.t < window[1])]

    @property
    def kinematics(self):
        """Positions, velocities and accelerations."""
        return self.q, self.v, self.a


def arm_of(urdf, joints):
    """Return the model of Pinocchio; its joints must be in the order of the recording."""
    model = pin.buildModelFromXML(urdf)
    if tuple(model.names)[1:] != tuple(joints):
        raise ValueError(f'joints {tuple(model.names)[1:]} are not in the order {tuple(joints)}')
    return model


def torque_of_named(urdf, joints, values, motion):
    """
    Return the torques [N, n] that are measured at the joints of a robot in motion [N m].

    urdf: text; values: name -> number as our package reports them: LINK.mass, LINK.com.x (in the
    link's frame), LINK.inertia.xx (about the centre of mass, along the link's axes), and of joints
    damping, friction, friction_velocity, armature, torque_offset [N m], load_friction [1, times
    what the weight of the bodies is at the joint], stribeck [N m], and of a second joint turned
    together with the one before it coupled_armature, coupled_damping, coupled_friction; gain: a
    true torque is so many times the measured one. What is not given is that of the description
    for bodies, and else nothing.
    """
    model = arm_of(urdf, joints)
    bodies, still = bodies_of_named(model, urdf, values).ravel(), np.zeros(model.nv)
    data = model.createData()
    at = [pin.integrate(model, pin.neutral(model), each) for each in motion.q]
    v, a = motion.v, motion.a

    def of_bodies(*state):
        # By columns and not by RNEA, as an estimate may be of bodies that cannot be built.
        return pin.computeJointTorqueRegressor(model, data, *state) @ bodies

    torque = np.array([of_bodies(*each) for each in zip(at, v, a)])
    weight = np.array([of_bodies(each, still, still) for each in at])

    def of_joints(word, otherwise=0.0):
        return np.array([values.get(f'{joint}.{word}', otherwise) for joint in joints])

    width = of_joints('friction_velocity', _WIDTH)
    sign = np.tanh(v / width)
    torque += of_joints('armature') * a + of_joints('damping') * v + of_joints('friction') * sign
    torque += of_joints('torque_offset') + of_joints('load_friction') * np.abs(weight) * sign
    torque += of_joints('stribeck') * sign * np.exp(-((v / (STRIBECK_RANGE * width)) ** 2))
    inertia, damping, friction = (
        of_joints(f'coupled_{word}') for word in ('armature', 'damping', 'friction')
    )
    for k in range(1, len(joints)):
        pair = slice(k - 1, k + 1)
        speed, rate = v[:, pair].sum(1), a[:, pair].sum(1)
        shared = inertia[k] * rate + damping[k] * speed + friction[k] * np.tanh(speed / width[k])
        torque[:, pair] += shared[:, None]
    return torque / of_joints('gain', 1.0)


def bodies_of_named(model, urdf, values):
    """
    Return the ten numbers [n, 10] of what every joint carries, in Pinocchio's order.

    About the frames of the joints; values: as above.
    """
    bodies = np.zeros((model.njoints, 10))
    for link in ElementTree.fromstring(urdf).findall('link'):
        name = link.get('name')
        frame = model.frames[model.getBodyId(name)]
        numbers = {**described_body(link), **_of_link(name, values)}
        bodies[frame.parentJoint] += moved(body_of(numbers), frame.placement)
    return bodies[1:]


def described_body(link):
    """Return word -> number (mass, com.x, inertia.xx, ...) of a link of a description."""
    element = link.find('inertial')
    if element is None:
        return {'mass': 0.0}
    origin, entries = element.find('origin'), element.find('inertia')
    origin = {} if origin is None else origin.attrib
    place, turn = (
        np.array(origin.get(key, '0 0 0').split(), dtype=float) for key in ('xyz', 'rpy')
    )
    inertia = np.zeros((3, 3))
    for pair in _PAIRS:
        i, j = ('xyz'.index(axis) for axis in pair)
        inertia[i, j] = inertia[j, i] = float(entries.get(f'i{pair}'))
    rotation = pin.rpy.rpyToMatrix(*turn)
    inertia = rotation @ inertia @ rotation.T
    found = {'mass': float(element.find('mass').get('value'))}
    found |= {f'com.{axis}': x for axis, x in zip('xyz', place)}
    for pair in _PAIRS:
        i, j = ('xyz'.index(axis) for axis in pair)
        found[f'inertia.{pair}'] = inertia[i, j]
    return found


def body_of(numbers):
    """Return the ten numbers of a body about the frame of its link; numbers: word -> number."""
    mass, centre = numbers['mass'], np.array([numbers.get(f'com.{axis}', 0.0) for axis in 'xyz'])
    inertia = np.array([numbers.get(f'inertia.{pair}', 0.0) for pair in _PAIRS])
    square = centre @ centre * np.eye(3) - np.outer(centre, centre)
    shift = np.array([square['xyz'.index(i), 'xyz'.index(j)] for i, j in _PAIRS])
    return np.concatenate([[mass], mass * centre, inertia + mass * shift])


def moved(numbers, placement):
    """Return ten numbers of a body in the frame in which its own has a placement; linear."""
    mass, first = numbers[0], numbers[1:4]
    inertia = np.zeros((3, 3))
    for (i, j), entry in zip(_PAIRS, numbers[4:]):
        i, j = 'xyz'.index(i), 'xyz'.index(j)
        inertia[i, j] = inertia[j, i] = entry
    # The pseudo-inertia: second moments, first moments, mass.
    pseudo = np.block(
        [[np.trace(inertia) / 2 * np.eye(3) - inertia, first[:, None]], [first, mass]]
    )
    pseudo = placement.homogeneous @ pseudo @ placement.homogeneous.T
    second = pseudo[:3, :3]
    inertia = np.trace(second) * np.eye(3) - second
    entries = [inertia['xyz'.index(i), 'xyz'.index(j)] for i, j in _PAIRS]
    return np.array([pseudo[3, 3], *pseudo[:3, 3], *entries])


def torque_error(predicted, measured):
    """Return the rms residual over the rms torque, over samples and joints [%]."""
    return 100 * float(np.sqrt(((measured - predicted) ** 2).sum() / (measured**2).sum()))


def _of_link(name, values):
    """Return word -> number of what is given of a link."""
    words = ('mass', *(f'com.{axis}' for axis in 'xyz'), *(f'inertia.{pair}' for pair in _PAIRS))
    return {word: values[f'{name}.{word}'] for word in words if f'{name}.{word}' in values}
