"""
What is usually known of a robot's parameters before any data: priors by kind, from the URDF.

CAD masses are right to a quarter or so, lengths to a tenth; damping and friction are guesses
within a factor of two, and what the URDF leaves out follows from what a drive with the joint's
limits usually has. So do damping and friction that the joint's own drive could not overcome.
"""

from dataclasses import dataclass
import math

from ..model.parameters import DISSIPATION, owner_of, STANDARD_GRAVITY
from .parametrization import Prior

# Friction and damping that the URDF leaves at zero: this share of the largest effort, at the
# largest velocity.
_TYPICAL_LOSS = 0.02
GUESSED_SD = 1.5
# An armature that the URDF leaves at zero: so long the largest effort takes to bring a drive that
# moves nothing else to its largest velocity [s]; what is felt of a rotor through gears.
_SPIN_UP = 0.02
_ARMATURE_SD = 0.5
# What CAD exporters leave of a moment of inertia that they round to zero [kg m^2].
_DUST = 1e-15
# A moment of inertia that is zero, of a link with mass: this part of the largest of the link, and
# of a point those of a ball as dense as water [kg/m^3].
_SLENDER, _DENSITY = 0.05, 1000.0
# Limits of 1000 say that nobody knew them: no joint of a robot is much faster than this
# [rad/s or m/s].
_FASTEST = 30.0


@dataclass(frozen=True)
class Kind:
    """
    Prior of a kind of quantity.

    sd: relative, of the logarithm, where `is_log`, else in the quantity's unit; share: of the
    length of its link, where that is more; is_of_limit: whether sd is a part of the largest
    effort of its joint.
    """

    sd: float
    is_log: bool = True
    share: float = 0.0
    is_of_limit: bool = False


# By the last words of a parameter's name.
KINDS = {
    'mass': Kind(0.3),
    'com': Kind(0.015, is_log=False, share=0.1),
    'inertia': Kind(0.4),
    'length': Kind(0.1),
    'origin': Kind(0.005, is_log=False),
    'damping': Kind(0.7),
    'friction': Kind(0.7),
    'friction_velocity': Kind(0.7),
    'load_friction': Kind(0.1, is_log=False),
    'coupled_armature': Kind(0.2, is_log=False),
    'coupled_damping': Kind(0.1, is_log=False, is_of_limit=True),
    'coupled_friction': Kind(0.1, is_log=False, is_of_limit=True),
    'armature': Kind(0.25),
    'stiffness': Kind(0.25),
    'rest': Kind(0.02, is_log=False),
    'offset': Kind(0.02, is_log=False),
    'gain': Kind(0.1),
    'torque_constant': Kind(0.1),
    'back_emf': Kind(0.1),
    'resistance': Kind(0.1),
    'reduction': Kind(0.02),
    'delay': Kind(0.005, is_log=False),
    'noise': Kind(0.5),
    'gravity': Kind(0.001),
    'mount': Kind(0.03, is_log=False),
    'mocap': Kind(0.03, is_log=False),
    # Of a camera: what a tape measure and a look at its picture tell; pixels are 1 to 5 mm.
    'scale': Kind(0.1),
    'tilt': Kind(0.03, is_log=False),
    'origin_u': Kind(20.0, is_log=False),
    'origin_v': Kind(20.0, is_log=False),
}
# A centre of mass is known to this part of the distance that the mass has from it on average.
_CENTRE_SHARE = 0.5
# Products of inertia: this share of the mean moment of the same link.
_PRODUCT_SHARE = 0.1


def default_prior(parameters, name):
    """Return the usual `Prior` of a parameter; its mean is 0 where nothing tells its size."""
    kind = _kind(parameters, name)
    if name in parameters and parameters[name].is_of_contact:
        return Prior(parameters[name].nominal, parameters[name].sd, True)
    if name not in parameters:
        return Prior(1.0 if kind.is_log else 0.0, kind.sd, kind.is_log)
    nominal = parameters[name].nominal
    owner, _, entry = name.rpartition('.')
    sd = kind.sd
    if kind.share:
        rule = parameters.length_rules.get(owner_of(name))
        sd = max(sd, kind.share * rule.nominal) if rule else sd
        sd = min(sd, _CENTRE_SHARE * _radius(parameters, owner_of(name)) or sd)
    if kind.is_of_limit:
        sd *= largest_effort(parameters, parameters.model.joint(owner))
    if kind_of(name) == 'inertia':
        moments = _moments(parameters, owner_of(name))
        if entry[0] == entry[1]:
            return Prior(moments['xyz'.index(entry[0])], sd, True)
        return Prior(nominal, max(_PRODUCT_SHARE * sum(moments) / 3, 1e-9), False)
    if nominal == 0 and entry in ('damping', 'friction', 'armature'):
        sd = _ARMATURE_SD if entry == 'armature' else GUESSED_SD
        return Prior(_typical(parameters, owner, entry), sd, True)
    if entry in DISSIPATION and _is_stuck(parameters, parameters.model.joint(owner)):
        typical = _typical(parameters, owner, entry)
        return Prior(typical, GUESSED_SD, True) if typical else Prior(nominal, sd, True)
    return Prior(nominal, sd, kind.is_log)


def stuck_joints(parameters):
    """
    Return the names of joints whose described damping and friction cannot be right.

    At its fastest such a joint would take more than its drive has, and more than lifts the whole
    robot: it could not move as its limits say.
    """
    joints = (moving.joint for moving in parameters.model.moving_joints)
    return tuple(joint.name for joint in joints if _is_stuck(parameters, joint))


def kind_of(name):
    """
    Return the key of KINDS: the last word of a name, or the one before an axis.

    None where there is no such kind; the parameter then says itself how well it is known.
    """
    words = name.split('.')
    return next((word for word in reversed(words) if word in KINDS), None)


def _kind(parameters, name):
    """Return the `Kind` of a parameter: the usual one of its name, or the one that it declares."""
    if kind_of(name) is not None:
        return KINDS[kind_of(name)]
    own = parameters[name]
    return Kind(own.sd, own.is_positive and not own.is_of_limit, is_of_limit=own.is_of_limit)


def _moments(parameters, link):
    """Return the moments of inertia [3] that a link has, or would have if it had any extent."""
    mass, *rest = (parameters[n].nominal for n in parameters.inertial_names(link))
    moments = rest[3:6]
    largest = max(moments)
    if mass > 0 and largest <= _DUST:
        radius = (3 * mass / (4 * math.pi * _DENSITY)) ** (1 / 3)
        return [0.4 * mass * radius**2] * 3
    least = _SLENDER * largest if mass > 0 else 0.0
    return [moment if abs(moment) > _DUST else least for moment in moments]


def _radius(parameters, link):
    """Return the root mean square distance of a link's mass from its centre [m], 0 of none."""
    mass = parameters[f'{link}.mass'].nominal
    return math.sqrt(sum(_moments(parameters, link)) / (2 * mass)) if mass > 0 else 0.0


def _is_stuck(parameters, joint):
    """Tell whether a joint is one of `stuck_joints`; without a limit of effort nobody can."""
    if not joint.limits.effort:
        return False
    return dissipation_at_full_speed(joint) > max(
        joint.limits.effort, _strongest(parameters, joint)
    )


def dissipation_at_full_speed(joint):
    """Return the friction and damping effort of a joint at its largest velocity [N m or N]."""
    speed = joint.limits.velocity or 0.0
    known = speed if speed <= _FASTEST else 0.0
    return joint.physics.friction + joint.physics.damping * known


def _typical(parameters, name, quantity):
    """Return a friction, damping or armature that a drive with a joint's limits may have, or 0."""
    joint = parameters.model.joint(name)
    limits = joint.limits
    if not limits.effort or quantity != 'friction' and not limits.velocity:
        return 0.0
    # What is balanced takes no effort to be held, and tells nothing of its drive.
    effort = min(limits.effort, _strongest(parameters, joint) or limits.effort)
    if quantity == 'friction':
        return _TYPICAL_LOSS * effort
    share = _TYPICAL_LOSS if quantity == 'damping' else _SPIN_UP
    return share * effort / min(limits.velocity, _FASTEST)


def largest_effort(parameters, joint):
    """
    Return the effort limit of a joint [N m or N].

    Where the description gives none: what lifts the whole robot, and 1 if that has no mass.
    """
    return joint.limits.effort or _strongest(parameters, joint) or 1.0


def _strongest(parameters, joint):
    """Return the effort [N m or N] that lifts all that moves, stretched out."""
    model = parameters.model
    names = [f'{link.name}.mass' for link in model.links]
    weight = STANDARD_GRAVITY * sum(parameters[n].nominal for n in names if n in parameters)
    if not any(group.is_rotation for group in joint.kind.groups):
        return weight
    reach, farthest = {model.base: 0.0}, 0.0
    for each in model.ordered_joints:
        reach[each.child] = reach[each.parent] + math.hypot(*each.origin)
        farthest = max(farthest, reach[each.child] + _lever(parameters, each.child))
    return weight * farthest


def _lever(parameters, link):
    """Return how far the centre of mass of a link is from its joint [m]."""
    names = parameters.inertial_names(link)[1:4]
    return math.hypot(*(parameters[n].nominal for n in names if n in parameters))
