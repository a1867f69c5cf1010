"""What a term of joint friction must tell the dynamics."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ...spatial.scalar import add, div, mul, sqrt, sum_of, tanh

# Keeps the root of a vanishing speed differentiable; far below any friction velocity.
_TINY_SQUARED = 1e-24


@dataclass(frozen=True)
class JointUnits:
    """The units of a joint's coordinate, effort and inertia: rad, N m, kg m^2 or m, N, kg."""

    position: str
    effort: str
    inertia: str


@dataclass(frozen=True)
class JointMotion:
    """
    What the friction of a joint depends on.

    groups: the joint's `FreedomGroup`s; speeds: its velocities [rad/s or m/s], one scalar per
    degree of freedom; friction_velocity [rad/s or m/s]; load: the effort [N m or N] that holds
    the bodies against gravity, for the terms that need it.
    """

    groups: tuple
    speeds: list
    friction_velocity: object
    load: object = 0.0


class AbstractFriction(ABC):
    """
    One term of what resists a joint: a named parameter times a column.

    The effort is linear in the parameter `JOINT.name` and acts against the motion.

    is_positive: whether only parameters above zero make sense; part_of: the name of another term
    to which this one adds: their sum cannot be negative, this one by itself can; '' if it is no
    part of another. needs_load: whether the column depends on `JointMotion.load`; is_dissipative:
    whether the effort opposes the motion, so that it takes energy and varies with wear and
    temperature. is_effort: whether the parameter scales with efforts: a robot all of whose
    efforts and masses are doubled moves the same if this is doubled too. shown_by: the motion in
    which the term shows, as advice to a person. sd_of_limit: standard deviation before any data;
    sd_of_change: standard deviation of a sudden change, 0 where the term does not change by
    itself. Both are parts of the joint's largest effort.
    """

    name = ''
    description = ''
    is_positive = True
    part_of = ''
    needs_load = False
    is_dissipative = True
    is_effort = True
    shown_by = 'move the joint at constant speeds, slow and fast, in both directions'
    sd_of_limit = 0.1
    sd_of_change = 0.0

    @abstractmethod
    def unit(self, joint_units):
        """Return the unit of the parameter, from the `JointUnits` of its joint."""

    @abstractmethod
    def column(self, motion):
        """Return the effort per unit of the parameter, one scalar per degree of freedom."""

    def usual(self, limit, is_rotation):
        """
        Return (mean, standard deviation) before any data, where torques are measured.

        limit: the joint's largest effort [N m or N]; is_rotation: whether the joint rotates.
        """
        return 0.0, self.sd_of_limit * limit

    @property
    def is_never_negative(self):
        """Whether the parameter by itself cannot be negative."""
        return self.is_positive and not self.part_of

    def applies_to(self, joint):
        """Tell whether a `Joint` has this parameter: one degree of freedom, and no mimic."""
        return joint.kind.velocity_size == 1 and joint.mimic is None

    def nominal(self, physics):
        """Return the value in the `JointPhysics` of a description, None where it has none."""
        return None


def smoothed_sign(motion):
    """
    Return the smoothed sign of the velocity, by which Coulomb friction multiplies.

    One degree of freedom: tanh(v / v_f) with v_f the friction velocity. Several of a kind: the
    direction of v times tanh(|v| / v_f), which no choice of axes changes. It has a finite
    derivative everywhere, at rest too.
    """
    shape, at, width = [], 0, motion.friction_velocity
    for group in motion.groups:
        part = motion.speeds[at : at + len(group.axes)]
        at += len(group.axes)
        if len(part) == 1:
            shape.append(tanh(div(part[0], width)))
        else:
            size = sqrt(add(sum_of(mul(s, s) for s in part), _TINY_SQUARED))
            factor = tanh(size / width) / size
            shape += [mul(s, factor) for s in part]
    return shape
