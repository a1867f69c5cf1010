"""A model with numbers in it: what the dynamics compute with."""

from dataclasses import dataclass

from ..spatial.inertia import BodyInertia, complement_of_trace, Symmetric3, SYMMETRIC_ENTRIES
from ..spatial.rotation import Rotation
from ..spatial.scalar import add, mul, sub
from ..spatial.vector import Vec3
from .contacts import ContactPair
from .friction import COUPLED, FRICTIONS
from .parameters import AXES, INERTIA_NAMES, Parameters
from .tree import MovingJoint


@dataclass(frozen=True)
class Body:
    """
    A moving body: the links that are welded together behind one moving joint.

    origin [m] and the constant rotation place the joint frame in the parent body; inertia is
    about the body's origin in its own axes; physics and actuator map the names of `Parameters`
    (without the joint's) to scalars.
    """

    moving: MovingJoint
    origin: Vec3
    rotation: Rotation
    inertia: BodyInertia
    physics: dict
    actuator: dict

    @property
    def kind(self):
        """The joint type."""
        return self.moving.joint.kind

    @property
    def parent(self):
        """Index of the parent body; -1 is the world."""
        return self.moving.parent


@dataclass(frozen=True)
class Coupling:
    """
    Two joints that share a motor, which turns at the sum of their velocities.

    joint: name of the one that the motor's parameters are named after; groups: its
    `FreedomGroup`s; velocities: the indices of both in v; physics: names of `COUPLED` and
    friction_velocity to scalars.
    """

    joint: str
    groups: tuple
    velocities: tuple
    physics: dict


@dataclass(frozen=True)
class Contact:
    """A `ContactPair` with numbers: physics maps the names of its law's parameters to scalars."""

    pair: ContactPair
    physics: dict


@dataclass(frozen=True)
class LinkPlace:
    """Where a link's frame sits in its body: constant rotation, origin [m]."""

    body: int
    rotation: Rotation
    origin: Vec3


@dataclass(frozen=True)
class Robot:
    """
    All bodies, parents first, the places of all links, and gravity [m/s^2].

    more: values of quantities that are not the robot's, such as how a marker is mounted;
    couplings: a `Coupling` for each pair of joints that share a motor; contacts: a `Contact` for
    each pair of links that can touch.
    """

    bodies: tuple
    links: dict
    gravity: object
    more: dict
    couplings: tuple = ()
    contacts: tuple = ()

    @property
    def prescribed_velocities(self):
        """Indices of the velocities whose accelerations are prescribed."""
        prescribed = (body.moving for body in self.bodies if body.moving.is_prescribed)
        return frozenset(
            k
            for moving in prescribed
            for k in range(moving.velocities.start, moving.velocities.stop)
        )


def realize(parameters: Parameters, values):
    """
    Return the `Robot` of a model for one set of values.

    values: name to scalar; names that are missing take their nominal value. A float that is
    exactly zero stays structure: the dynamics leave out what hangs on it.
    """
    model, value = parameters.model, _lookup(parameters, values)
    stretches = _stretches(parameters, values)
    origins = {joint.name: _origin(joint, value, stretches) for joint in model.joints}

    links = {link.name: _place(model.attachments[link.name], origins) for link in model.links}
    inertias = [BodyInertia.zero() for _ in model.moving_joints]
    for link in model.links:
        place = links[link.name]
        if place.body >= 0:
            inertia = _link_inertia(link.name, value, stretches.get(link.name))
            inertias[place.body] += inertia.rotated(place.rotation).moved(place.origin)

    bodies = []
    for moving, inertia in zip(model.moving_joints, inertias):
        joint = moving.joint
        mount = links[joint.parent]
        bodies.append(
            Body(
                moving,
                mount.origin + mount.rotation * origins[joint.name],
                mount.rotation * joint.rotation,
                inertia,
                *_joint_values(parameters, moving, value),
            )
        )
    more = {entry.name: value(entry.name) for entry in parameters.more}
    couplings = tuple(_coupling(model, pair, value) for pair in model.couplings)
    contacts = tuple(
        Contact(pair, {own.name: value(f'{pair.name}.{own.name}') for own in pair.law.parameters})
        for pair in model.contacts
    )
    return Robot(tuple(bodies), links, value('world.gravity'), more, couplings, contacts)


def link_inertia(parameters, link, values):
    """Return the `BodyInertia` of a link about its own frame; `values` as in `realize`."""
    stretch = _stretches(parameters, values).get(link)
    return _link_inertia(link, _lookup(parameters, values), stretch)


def joint_origin(parameters, joint, values):
    """Return the origin [m] of a `Joint` in its parent link; `values` as in `realize`."""
    return _origin(joint, _lookup(parameters, values), _stretches(parameters, values))


def _lookup(parameters, values):
    """Return the function from a name to its value."""

    def value(name):
        return values[name] if name in values else parameters[name].nominal

    return value


def _stretches(parameters, values):
    """Return the `_Stretch` of every link whose length is given."""
    return {
        link: _Stretch(rule, values[f'{link}.length'])
        for link, rule in parameters.length_rules.items()
        if f'{link}.length' in values
    }


def _origin(joint, value, stretches):
    origin = Vec3(*(value(f'{joint.name}.origin.{a}') for a in AXES))
    stretch = stretches.get(joint.parent)
    return stretch.point(origin) if stretch else origin


def _place(attachment, origins):
    """Return a link's place in its body by walking the chain of fixed joints."""
    rotation, origin = Rotation.identity(), Vec3.zero()
    for joint in attachment.joints:
        origin = origin + rotation * origins[joint.name]
        rotation = rotation * joint.rotation
    return LinkPlace(attachment.body, rotation, origin)


def _link_inertia(link, value, stretch):
    """Return the BodyInertia of a link about its own frame."""
    centre = Vec3(*(value(f'{link}.com.{a}') for a in AXES))
    rotational = Symmetric3(*(value(f'{link}.inertia.{a}') for a in INERTIA_NAMES))
    if stretch:
        centre, rotational = stretch.point(centre), stretch.rotational(rotational)
    return BodyInertia.from_centre(value(f'{link}.mass'), centre, rotational)


def _joint_values(parameters, moving, value):
    """Return the (physics, actuator) values of a joint as two dicts."""
    joint = moving.joint
    names = (*FRICTIONS, 'friction_velocity', 'armature', 'stiffness', 'rest', 'offset')
    physics = {n: value(f'{joint.name}.{n}') for n in names if f'{joint.name}.{n}' in parameters}
    actuator = {
        s.name: value(f'{joint.name}.{s.name}')
        for s in joint.actuator.parameters
        if moving.is_independent
    }
    return physics, actuator


def _coupling(model, pair, value):
    """Return the `Coupling` of a pair of joint names."""
    at = {moving.joint.name: moving.velocities.start for moving in model.moving_joints}
    physics = {n: value(f'{pair[0]}.{n}') for n in (*COUPLED, 'friction_velocity')}
    velocities = tuple(at[name] for name in pair)
    return Coupling(pair[0], model.joint(pair[0]).kind.groups, velocities, physics)


class _Stretch:
    """
    A link drawn out along its axis at constant mass: every point p goes to S p.

    Joints that hang on it and its centre of mass move, its second moments become S M S. For a
    uniform rod that is exactly the rod of the new length, and a feasible body stays feasible.
    """

    def __init__(self, rule, length):
        """Take the `LengthRule` and the new length [m]."""
        self.axis = Vec3(*rule.axis)
        self.excess = sub(mul(length, 1.0 / rule.nominal), 1.0)

    def point(self, p):
        """Return S p = p + (s - 1)(p.e) e."""
        return p + self.axis * mul(p.dot(self.axis), self.excess)

    def rotational(self, inertia):
        """Return the inertia about the centre of mass after the stretch."""
        moments = complement_of_trace(inertia)
        e, k = self.axis, self.excess
        along = moments * e
        # S M S = M + k (e a' + a e') + k^2 (e.a) e e' with a = M e.
        cross = [
            mul(k, add(mul(e[i], along[j]), mul(along[i], e[j]))) for i, j in SYMMETRIC_ENTRIES
        ]
        square = Symmetric3.outer(e, e * mul(mul(k, k), e.dot(along)))
        moments = moments + Symmetric3(*cross) + square
        return Symmetric3.scaled_identity(moments.trace()) - moments
