"""Every physical quantity of a robot by name, with its nominal value, unit and kind."""

from collections.abc import Mapping
from dataclasses import dataclass
import math

from ..errors import ConfigError
from ..spatial.inertia import SYMMETRIC_ENTRIES
from .friction import COUPLED, COUPLED_ARMATURE, COUPLED_FRICTIONS, FRICTIONS, JointUnits
from .tree import Inertial, Model

AXES = 'xyz'
INERTIA_NAMES = tuple(AXES[i] + AXES[j] for i, j in SYMMETRIC_ENTRIES)
STANDARD_GRAVITY = 9.81
# Speed [rad/s or m/s] over which the sign of Coulomb friction changes.
FRICTION_VELOCITY = 0.01
# What a joint loses energy by, and all that acts inside it and moves nothing from its place.
DISSIPATION = ('damping', 'friction')
INSIDE_JOINT = (*FRICTIONS, 'friction_velocity', 'armature', 'stiffness', 'rest', *COUPLED)
# By what an actuator does as much as is asked for, and what that moves or holds apart from bodies.
_STRENGTHS = ('gain', 'torque_constant')
_OF_MASS = (
    *(name for name, term in FRICTIONS.items() if term.is_effort),
    *('mass', 'armature', 'stiffness', *COUPLED),
)

# Quantities that have a value for every axis, or pair of axes.
_OF_AXES = ('com', 'inertia', 'origin', 'mount')

_MASSLESS = Inertial(0.0, (0.0, 0.0, 0.0), (0.0,) * 6)


@dataclass(frozen=True)
class Parameter:
    """
    One named quantity; `is_positive` says that only values above zero make sense.

    is_described: whether a robot description can give its nominal value; sd: how well it is
    usually known before any data where its kind is not among `usual_priors.KINDS`: relative where
    `is_positive`, or, where `is_of_limit`, a part of the largest effort of its joint;
    is_of_contact: whether it is a number of a pair of links that can touch.
    """

    name: str
    nominal: float
    unit: str
    is_positive: bool
    description: str
    is_described: bool = True
    sd: float = 0.1
    is_of_limit: bool = False
    is_of_contact: bool = False


def never_negative():
    """Return the last words of the parameters of joints that by themselves cannot be negative."""
    terms = (name for name, term in FRICTIONS.items() if term.is_never_negative)
    return (*terms, 'armature', 'stiffness', *COUPLED_FRICTIONS, COUPLED_ARMATURE)


def is_dissipation(name):
    """Tell whether a parameter is one by which a joint loses energy."""
    return name.rpartition('.')[2] in DISSIPATION


def is_strength(name):
    """Tell whether a parameter is one by which efforts are as strong as commands ask for."""
    return name.rpartition('.')[2] in _STRENGTHS


def is_of_mass(name):
    """Tell whether the motion stays the same if this and all efforts are doubled."""
    return name.rpartition('.')[2] in _OF_MASS or '.inertia.' in name


def owner_of(name):
    """Return the link, joint or sensor that a quantity is of; its own name may hold dots."""
    owner, _, _ = name.rpartition('.')
    rest, _, quantity = owner.rpartition('.')
    return rest if quantity in _OF_AXES and rest else owner


@dataclass(frozen=True)
class LengthRule:
    """The axis a link is stretched along (unit, link frame) and its nominal length [m]."""

    axis: tuple
    nominal: float


class Parameters(Mapping):
    """
    The named quantities of a model, in a fixed order; a mapping of name to `Parameter`.

    Names are `link.quantity`, `joint.quantity` and `world.gravity`; docs/notation.md lists them.
    Whoever looks at the robot may add quantities of its own.
    """

    def __init__(self, model: Model, more=()):
        """Collect the quantities of `model`; more: `Parameter`s that are not the robot's."""
        self.model = model
        # Several sensors may share one; it is the same quantity then.
        self.more = tuple({entry.name: entry for entry in more}.values())
        self.length_rules = {
            link.name: rule for link in model.links if (rule := _length_rule(model, link))
        }
        entries = [*self._of_world(), *self._of_links(), *self._of_joints()]
        entries += [*self._of_contacts(), *self.more]
        self._table = {entry.name: entry for entry in entries}

    def __repr__(self):
        joints = sum(m.is_independent for m in self.model.moving_joints)
        links = sum(name.endswith('.mass') for name in self)
        return (
            f'<Parameters of {self.model.name}: {len(self)} quantities of {links} moving links '
            f'and {joints} joints>'
        )

    def __getitem__(self, name):
        """Return the `Parameter` of that name, or raise a ConfigError that lists near names."""
        if name in self._table:
            return self._table[name]
        owner, _, quantity = str(name).rpartition('.')
        near = [n for n in self._table if n.startswith(owner.split('.')[0] + '.')]
        near = near or [n for n in self._table if n.endswith('.' + quantity)] or list(self._table)
        more = '' if len(near) <= 12 else f' and {len(near) - 12} more'
        raise ConfigError(
            f"{self.model.source}: there is no parameter '{name}'; "
            f'nearest: {", ".join(near[:12])}{more}'
        )

    def __contains__(self, name):
        """Tell whether there is a parameter of that name."""
        return name in self._table

    def __iter__(self):
        """Iterate over the names."""
        return iter(self._table)

    def __len__(self):
        """Return how many quantities the model has."""
        return len(self._table)

    def nominal(self, names=None):
        """Return the nominal values of `names` (of all when None) as a list of floats."""
        return [self[name].nominal for name in (self if names is None else names)]

    def unit(self, name):
        """Return the unit of a quantity, of a delay, or of a factor on the noise of a sensor."""
        of_others = {'delay': 's', 'noise': '1'}.get(name.rpartition('.')[2])
        return of_others if of_others and name not in self else self[name].unit

    def checked(self, names):
        """Return `names` as a tuple; unknown or repeated ones raise a ConfigError."""
        names = tuple(names)
        for name in names:
            self[name]
            if names.count(name) > 1:
                raise ConfigError(f"parameter '{name}' is named twice; name it once")
        return names

    def inertial_names(self, link):
        """Return the ten names of a link: mass, com.x ... com.z, inertia.xx ... inertia.yz."""
        return (
            f'{link}.mass',
            *(f'{link}.com.{a}' for a in AXES),
            *(f'{link}.inertia.{a}' for a in INERTIA_NAMES),
        )

    def _of_world(self):
        yield Parameter(
            'world.gravity',
            STANDARD_GRAVITY,
            'm/s^2',
            True,
            'strength of gravity, along -z of the world',
        )

    def _of_links(self):
        for link in self.model.links:
            if self.model.attachments[link.name].body < 0:
                continue
            inertial = link.inertial or _MASSLESS
            names = self.inertial_names(link.name)
            yield Parameter(names[0], inertial.mass, 'kg', True, 'mass of the link')
            for name, value in zip(names[1:4], inertial.centre):
                yield Parameter(name, value, 'm', False, 'centre of mass in the link frame')
            for name, value in zip(names[4:], inertial.inertia):
                yield Parameter(
                    name,
                    value,
                    'kg m^2',
                    name[-1] == name[-2],
                    'inertia about the centre of mass, axes of the link frame',
                )
            if link.name in self.length_rules:
                yield Parameter(
                    f'{link.name}.length',
                    self.length_rules[link.name].nominal,
                    'm',
                    True,
                    'length; stretches the link along its axis',
                )

    def _of_joints(self):
        for joint in self.model.joints:
            for axis, value in zip(AXES, joint.origin):
                yield Parameter(
                    f'{joint.name}.origin.{axis}',
                    value,
                    'm',
                    False,
                    'origin of the joint in the parent link',
                )
            if not joint.is_fixed:
                yield from self._of_friction(joint)
                yield from self._of_physics(joint)
                yield from self._of_actuator(joint)

    def _of_contacts(self):
        for pair in self.model.contacts:
            for own in pair.law.parameters:
                yield Parameter(
                    f'{pair.name}.{own.name}',
                    pair.nominal(own),
                    own.unit,
                    True,
                    f'{own.description}, where {pair.first} and {pair.second} touch',
                    sd=own.sd,
                    is_of_contact=True,
                )

    def _of_friction(self, joint):
        unit = _units(joint)
        for quantity, term in FRICTIONS.items():
            if term.applies_to(joint):
                nominal = term.nominal(joint.physics)
                yield Parameter(
                    f'{joint.name}.{quantity}',
                    0.0 if nominal is None else nominal,
                    term.unit(unit),
                    term.is_positive,
                    term.description,
                    nominal is not None,
                    term.sd_of_limit,
                    is_of_limit=True,
                )
        for name, other in self.model.couplings:
            if name != joint.name:
                continue
            motor = f'of the motor that drives this joint and {other}'
            rows = [(COUPLED_ARMATURE, unit.inertia, f'inertia {motor}')]
            rows += [
                (quantity, term.unit(unit), f'{term.description} {motor}')
                for quantity, term in COUPLED_FRICTIONS.items()
            ]
            for quantity, *rest in rows:
                yield Parameter(f'{name}.{quantity}', 0.0, rest[0], True, rest[1], False)

    def _of_physics(self, joint):
        unit = _units(joint)
        physics = joint.physics
        rows = [
            (
                'friction_velocity',
                FRICTION_VELOCITY,
                f'{unit.position}/s',
                True,
                'speed over which the sign of the friction changes',
            ),
            ('armature', physics.armature, unit.inertia, True, 'inertia of the rotor, reflected'),
            (
                'stiffness',
                physics.stiffness,
                f'{unit.effort}/{unit.position}',
                True,
                'stiffness of the spring',
            ),
        ]
        if joint.kind.position_size == 1:
            rows.append(
                ('rest', physics.rest, unit.position, False, 'position at which the spring rests')
            )
        if joint.kind.position_size == 1 and joint.mimic is None:
            rows.append(
                (
                    'offset',
                    physics.offset,
                    unit.position,
                    False,
                    'what is added to the coordinate to get the physical position',
                )
            )
        for quantity, *rest in rows:
            yield Parameter(f'{joint.name}.{quantity}', *rest)

    def _of_actuator(self, joint):
        if joint.mimic is not None or not joint.actuator.takes_command:
            return
        chosen = dict(joint.actuator_values)
        for spec in joint.actuator.parameters:
            yield Parameter(
                f'{joint.name}.{spec.name}',
                chosen.get(spec.name, spec.default),
                spec.unit,
                spec.positive,
                spec.description,
                sd=spec.sd,
            )
        yield Parameter(
            f'{joint.name}.delay',
            chosen.get('delay', 0.0),
            's',
            False,
            'how long a command takes to act',
        )


def _units(joint):
    """Return the units of a joint's coordinate, effort and armature."""
    kinds = {group.is_rotation for group in joint.kind.groups}
    if kinds == {True}:
        return JointUnits('rad', 'N m', 'kg m^2')
    if kinds == {False}:
        return JointUnits('m', 'N', 'kg')
    return JointUnits('rad or m', 'N m or N', 'kg m^2 or kg')


def _length_rule(model, link):
    """
    Return how `link.length` is measured, or None where the link has none.

    From the link's own frame to the farthest joint that hangs on it; for a link that carries
    nothing (or only at its origin), twice the distance of the centre of mass.
    """
    if model.attachments[link.name].body < 0:
        return None
    reach = [joint.origin for joint in model.joints if joint.parent == link.name]
    reach = max(reach, key=lambda p: math.hypot(*p), default=(0.0, 0.0, 0.0))
    if math.hypot(*reach) < 1e-9:
        centre = link.inertial.centre if link.inertial else (0.0, 0.0, 0.0)
        reach = tuple(2 * c for c in centre)
    length = math.hypot(*reach)
    if length < 1e-9:
        return None
    return LengthRule(tuple(c / length for c in reach), length)
