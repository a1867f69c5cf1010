"""Robots from plain data: what JSON holds becomes a `Model`; random ones are drawn here too."""

import math

import numpy as np

from sim2real_estimator.model.actuators import ACTUATORS
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.tree import Inertial, Joint, JointPhysics, Link, Mimic, Model
from sim2real_estimator.spatial.motion import Force
from sim2real_estimator.spatial.rotation import Rotation
from sim2real_estimator.spatial.vector import Vec3

# Of these a joint may have in its spec; what is absent is zero.
PHYSICS = ('damping', 'friction', 'armature', 'stiffness', 'rest', 'offset')


def build_model(spec):
    """
    Return the Model of a spec: a dict of lists, dicts, strings and floats.

    joints: dicts of name, type, parent, child, axis, rpy [rad], origin [m], and if they like
    entries of `PHYSICS` and mimic (source, multiplier, offset); links: dicts of name, mass, com,
    inertia. The base link 'base' has no mass. All joints but followers get an effort source.
    """
    links = [Link('base')]
    for link in spec['links']:
        inertial = Inertial(link['mass'], tuple(link['com']), tuple(link['inertia']))
        links.append(Link(link['name'], inertial))
    return Model(spec['name'], tuple(links), tuple(_joint(joint) for joint in spec['joints']))


def _joint(joint):
    kind = JOINTS[joint['type']](tuple(joint['axis']))
    mimic = Mimic(**joint['mimic']) if 'mimic' in joint else None
    driven = mimic is None and kind.velocity_size > 0
    return Joint(
        joint['name'],
        kind,
        joint['parent'],
        joint['child'],
        tuple(joint['origin']),
        Rotation.from_roll_pitch_yaw(*joint['rpy']),
        JointPhysics(**{name: joint[name] for name in PHYSICS if name in joint}),
        mimic=mimic,
        actuator=ACTUATORS['effort' if driven else 'passive'],
    )


def draw_tree(rng, name, kinds, masses=(0.2, 5.0), is_floating=False, physics=()):
    """
    Return the spec of a random tree.

    rng: numpy Generator; kinds: the joint types in order of the tree, the parent of each being
    one of the three links before it; masses: bounds [kg], drawn evenly on a logarithmic scale;
    is_floating: put a free joint at an unmoved origin in front; physics: entries of `PHYSICS`
    that some joints get, besides armature.
    """
    links, joints = [], []
    for index, kind in enumerate(['free', *kinds] if is_floating else kinds):
        at_world = is_floating and index == 0
        first = 1 if is_floating else 0
        parent = 0 if index == 0 else rng.integers(max(first, index - 2), index + 1)
        links.append(_draw_link(rng, f'link{index + 1}', masses))
        joint = {
            'name': f'joint{index + 1}',
            'type': kind,
            'parent': f'link{parent}' if parent else 'base',
            'child': f'link{index + 1}',
            'axis': draw_axis(rng),
            'rpy': [0.0] * 3 if at_world else _rounded(rng.uniform(-3, 3, 3)),
            'origin': [0.0] * 3 if at_world else _rounded(rng.normal(size=3) * 0.3),
        }
        if kind != 'fixed':
            if rng.random() < 0.4:
                joint['armature'] = round(float(rng.uniform(0.01, 0.5)), 4)
            joint.update({p: round(float(rng.uniform(0.1, 1.0)), 4) for p in physics})
        joints.append(joint)
    return {'name': name, 'links': links, 'joints': joints}


def draw_axis(rng):
    """Return a random unit vector; one in three lies along a coordinate axis, either way."""
    if rng.random() < 1 / 3:
        axis = [0.0, 0.0, 0.0]
        axis[rng.integers(3)] = float(rng.choice([-1.0, 1.0]))
        return axis
    vector = [float(x) for x in rng.normal(size=3)]
    return [x / math.hypot(*vector) for x in vector]


def _draw_link(rng, name, masses):
    """Return a link whose inertia is that of three random points and a small ball."""
    mass = float(10 ** rng.uniform(*(math.log10(m) for m in masses)))
    points = rng.normal(size=(3, 3)) * 0.15
    moments = mass * (points.T @ points / 3 + 1e-4 * np.eye(3))
    inertia = [
        moments[1, 1] + moments[2, 2],
        moments[0, 0] + moments[2, 2],
        moments[0, 0] + moments[1, 1],
        -moments[0, 1],
        -moments[0, 2],
        -moments[1, 2],
    ]
    return {
        'name': name,
        'mass': float(f'{mass:.4g}'),
        'com': _rounded(rng.normal(size=3) * 0.15),
        'inertia': [float(f'{x:.6g}') for x in inertia],
    }


def draw_state(rng, model):
    """
    Return a random state: a dict of q, v, acceleration, effort, and wrenches by body.

    A wrench is moment then force, about the body's origin in world axes.
    """
    q = []
    for moving in model.moving_joints:
        if moving.is_independent:
            kind = moving.joint.kind
            away = _rounded(rng.normal(size=kind.velocity_size))
            q += kind.normalized(kind.advance(kind.neutral(), away, 1.0))
    size = model.velocity_size
    v, acceleration, effort = (_rounded(rng.normal(size=size) * s) for s in (1.0, 3.0, 5.0))
    wrenches = [_rounded(rng.normal(size=6) * 3.0) for _ in model.moving_joints]
    return {'q': q, 'v': v, 'acceleration': acceleration, 'effort': effort, 'wrenches': wrenches}


def wrenches_of(state):
    """Return the wrenches of a state as the dynamics take them: body index to Force."""
    return {
        index: Force(Vec3(*wrench[:3]), Vec3(*wrench[3:]))
        for index, wrench in enumerate(state['wrenches'])
    }


def _rounded(values):
    """Return floats with few digits, which keeps the stored files small."""
    return [round(float(x), 4) for x in values]


def draw_kinds(rng, kinds, moving):
    """Return joint types of which `moving` are not fixed, with fixed ones strewn in."""
    others = [kind for kind in kinds if kind != 'fixed']
    result = []
    for _ in range(moving):
        if rng.random() < 0.25:
            result.append('fixed')
        result.append(others[rng.integers(len(others))])
    return [*result, 'fixed'] if rng.random() < 0.3 else result


def let_follow(rng, spec):
    """Return the spec with some joints of one degree of freedom made followers of others."""
    single = ('revolute', 'continuous', 'prismatic')
    joints, leaders = [], []
    for index, joint in enumerate(spec['joints']):
        # Two joints at the least, whatever was drawn: a leader and its follower.
        if index in (1, 2) and joint['type'] not in single:
            joint = {**joint, 'type': single[rng.integers(3)]}
        if joint['type'] in single:
            if leaders and (len(leaders) == 1 or rng.random() < 0.5):
                # A follower takes no rotor of its own, and may itself be followed.
                joint = {key: x for key, x in joint.items() if key not in PHYSICS}
                source, numbers = leaders[rng.integers(len(leaders))], _rounded(rng.normal(size=2))
                multiplier, offset = numbers
                joint['mimic'] = {'source': source, 'multiplier': multiplier, 'offset': offset}
            leaders.append(joint['name'])
        joints.append(joint)
    return {**spec, 'joints': joints}
