"""The robot as a tree: links, joints, and how they hang together."""

from dataclasses import dataclass, field, replace
from functools import cached_property

from ..errors import ModelError
from ..spatial.rotation import Rotation
from .actuators import AbstractActuator, ACTUATORS
from .joints import AbstractJoint

WORLD = 'world'


@dataclass(frozen=True)
class Inertial:
    """
    Mass properties of a link.

    mass [kg]; centre: centre of mass (x, y, z) [m] in the link frame; inertia: xx, yy, zz, xy,
    xz, yz [kg m^2] about the centre of mass along the axes of the link frame.
    """

    mass: float
    centre: tuple
    inertia: tuple


@dataclass(frozen=True)
class Link:
    """A rigid part; `inertial` is None where the description gives none."""

    name: str
    inertial: Inertial | None = None


@dataclass(frozen=True)
class JointPhysics:
    """
    Passive physics of a joint, the same for each of its degrees of freedom.

    damping [N m s/rad or N s/m]; friction: Coulomb [N m or N]; armature: reflected rotor inertia
    [kg m^2 or kg]; stiffness [N m/rad or N/m] towards `rest` [rad or m]; offset: what is added
    to the coordinate to get the physical position [rad or m].
    """

    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: position = multiplier * source + offset."""

    source: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Limits:
    """Bounds of a joint; None where there is none. Read, reported, never enforced."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Joint:
    """
    A connection from a parent link to a child link.

    origin: (x, y, z) [m] of the joint frame in the parent link; rotation: its constant Rotation;
    the child link's frame coincides with the joint frame at the neutral position. reduction:
    motor turns per joint turn as the description gives them; `Model.with_actuators` hands it to
    actuators that have such a parameter.
    """

    name: str
    kind: AbstractJoint
    parent: str
    child: str
    origin: tuple = (0.0, 0.0, 0.0)
    rotation: Rotation = field(default_factory=Rotation.identity, compare=False)
    physics: JointPhysics = JointPhysics()
    limits: Limits = Limits()
    mimic: Mimic | None = None
    actuator: AbstractActuator = ACTUATORS['passive']
    actuator_values: tuple = ()
    reduction: float = 1.0

    @property
    def is_fixed(self):
        """Whether the joint has no degree of freedom."""
        return self.kind.velocity_size == 0


@dataclass(frozen=True)
class Attachment:
    """Where a link sits: on which moving body, through which chain of fixed joints."""

    body: int
    joints: tuple


@dataclass(frozen=True)
class MovingJoint:
    """
    A non-fixed joint with its place in the state.

    index counts moving joints, parents first. positions and velocities are slices of the state of
    the joint it takes its coordinates from: its own, or its mimic source's. is_prescribed: whether
    the motion of that joint is given, whatever effort it takes.
    """

    index: int
    joint: Joint
    parent: int
    positions: slice
    velocities: slice
    multiplier: float
    shift: float
    is_independent: bool
    is_prescribed: bool


@dataclass(frozen=True)
class Model:
    """
    A robot: a tree of links from one base link, which is welded to the world.

    Use `with_*` to get changed copies. Build one by `load_urdf` or from links and joints; it is
    checked when made. `source` names the file in error messages. `accepts_infeasible_inertia`
    lets pass links that no real mass distribution has. couplings: pairs (joint, other) that are
    driven through one motor, which turns at the sum of their velocities; contacts: a
    `ContactPair` for each two links that can touch.
    """

    name: str
    links: tuple
    joints: tuple
    source: str = 'model'
    accepts_infeasible_inertia: bool = False
    couplings: tuple = ()
    contacts: tuple = ()

    def __post_init__(self):
        """Refuse what is not a tree that can be simulated."""
        from .checks import check_model  # the checks need this module's classes

        check_model(self)

    @cached_property
    def base(self):
        """Name of the link that is welded to the world."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)

    @cached_property
    def ordered_joints(self):
        """All joints, each after the joint that carries its parent link."""
        by_parent = {}
        for joint in self.joints:
            by_parent.setdefault(joint.parent, []).append(joint)

        ordered, waiting = [], by_parent.get(self.base, [])[::-1]
        while waiting:
            joint = waiting.pop()
            ordered.append(joint)
            waiting += by_parent.get(joint.child, [])[::-1]
        return tuple(ordered)

    @cached_property
    def attachments(self):
        """Link name to `Attachment`; body -1 is the world."""
        places = {self.base: Attachment(-1, ())}
        body = 0
        for joint in self.ordered_joints:
            parent = places[joint.parent]
            if joint.is_fixed:
                places[joint.child] = Attachment(parent.body, (*parent.joints, joint))
            else:
                places[joint.child] = Attachment(body, ())
                body += 1
        return places

    @cached_property
    def moving_joints(self):
        """The non-fixed joints as `MovingJoint`, parents first."""
        slices, nq, nv = {}, 0, 0
        moving = [joint for joint in self.ordered_joints if not joint.is_fixed]
        for joint in moving:
            if joint.mimic is None:
                kind = joint.kind
                slices[joint.name] = (
                    slice(nq, nq + kind.position_size),
                    slice(nv, nv + kind.velocity_size),
                )
                nq, nv = nq + kind.position_size, nv + kind.velocity_size
        result = []
        for index, joint in enumerate(moving):
            source, multiplier, shift = self._resolve_mimic(joint)
            result.append(
                MovingJoint(
                    index,
                    joint,
                    self.attachments[joint.parent].body,
                    *slices[source],
                    multiplier,
                    shift,
                    joint.mimic is None,
                    self.joint(source).actuator.prescribes_motion,
                )
            )
        return tuple(result)

    def _resolve_mimic(self, joint):
        """Return (source name, multiplier, shift) with chains of mimics followed to the end."""
        multiplier, shift = 1.0, 0.0
        while joint.mimic is not None:
            shift += multiplier * joint.mimic.offset
            multiplier *= joint.mimic.multiplier
            joint = self.joint(joint.mimic.source)
        return joint.name, multiplier, shift

    @cached_property
    def position_size(self):
        """Number of coordinates in q."""
        return sum(m.joint.kind.position_size for m in self.moving_joints if m.is_independent)

    @cached_property
    def velocity_size(self):
        """Number of velocities in v."""
        return sum(m.joint.kind.velocity_size for m in self.moving_joints if m.is_independent)

    @property
    def state_size(self):
        """Number of entries of the state (q, v)."""
        return self.position_size + self.velocity_size

    @cached_property
    def has_mimics(self):
        """Whether a joint follows another, so that the dynamics need the dense mass matrix."""
        return any(not m.is_independent for m in self.moving_joints)

    @cached_property
    def commands(self):
        """Names of the commands: the joint's, or joint.k for its k-th degree of freedom."""
        names = []
        for joint in dict.fromkeys(self.command_joints):
            size = self.joint(joint).kind.velocity_size
            names += [joint] if size == 1 else [f'{joint}.{k}' for k in range(size)]
        return tuple(names)

    @cached_property
    def command_joints(self):
        """For every command the name of its joint."""
        return tuple(
            m.joint.name
            for m in self.moving_joints
            if m.is_independent and m.joint.actuator.takes_command
            for _ in range(m.joint.kind.velocity_size)
        )

    def link(self, name):
        """Return the link of that name."""
        return self._named('link', self.links, name)

    def joint(self, name):
        """Return the joint of that name."""
        return self._named('joint', self.joints, name)

    def _named(self, what, items, name):
        for item in items:
            if item.name == name:
                return item
        known = ', '.join(sorted(item.name for item in items))
        raise ModelError(f"{self.source}: there is no {what} '{name}'; it has: {known}")

    def neutral_positions(self):
        """Return q with every joint at its neutral position, a list of floats."""
        return [x for m in self.moving_joints if m.is_independent for x in m.joint.kind.neutral()]

    def with_joint(self, name, **changes):
        """Return a copy with fields of one joint changed."""
        target = self.joint(name)
        joints = tuple(replace(j, **changes) if j is target else j for j in self.joints)
        return replace(self, joints=joints)

    def with_actuators(self, kinds):
        """
        Return a copy with other actuators.

        kinds: joint name to an entry of `ACTUATORS`, or to (entry, {parameter: value}).
        """
        model = self
        for name, choice in kinds.items():
            kind, values = choice if isinstance(choice, tuple) else (choice, {})
            if kind not in ACTUATORS:
                raise ModelError(
                    f"{self.source}: joint '{name}': there is no actuator type "
                    f"'{kind}'; choose one of {', '.join(ACTUATORS)}"
                )
            actuator = ACTUATORS[kind]
            if any(parameter.name == 'reduction' for parameter in actuator.parameters):
                values = {'reduction': self.joint(name).reduction, **values}
            model = model.with_joint(
                name, actuator=actuator, actuator_values=tuple(sorted(values.items()))
            )
        return model

    def with_couplings(self, pairs):
        """
        Return a copy in which these joints share a motor, as in the wrists of many arms.

        pairs: joint name to the name of the joint it is coupled with; the parameters of the
        motor are named after the former.
        """
        return replace(self, couplings=tuple(pairs.items()))

    def with_contacts(self, pairs):
        """Return a copy in which these `ContactPair`s can touch."""
        return replace(self, contacts=tuple(pairs))
