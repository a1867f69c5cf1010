"""What a joint type must tell the dynamics."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ...spatial.motion import Motion
from ...spatial.scalar import add, mul, sub, sum_of
from ...spatial.vector import Vec3


@dataclass(frozen=True)
class FreedomGroup:
    """
    One to three degrees of freedom of the same kind.

    Rotations turn about axes fixed in the child, translations go along axes fixed in the joint
    frame on the parent's side. `axes` are constant unit vectors in that frame.
    """

    is_rotation: bool
    axes: tuple

    @property
    def spans_space(self):
        """Whether the axes span space, so that any orthonormal basis serves as well."""
        return len(self.axes) == 3

    def columns(self, rotation):
        """
        Return the motions of unit speed as world-axes Motions.

        rotation: world rotation of the frame the axes are fixed in. A group that spans space
        uses the world's own axes: constants, which the dynamics then never multiply by.
        """
        if self.spans_space:
            directions = [Vec3.unit(i) for i in range(3)]
        else:
            directions = [rotation * axis for axis in self.axes]
        if self.is_rotation:
            return [Motion(d, Vec3.zero()) for d in directions]
        return [Motion(Vec3.zero(), d) for d in directions]

    def to_columns(self, rotation, values):
        """Express `values` along the axes in the basis of `columns`."""
        return list(rotation * Vec3(*values)) if self.spans_space else list(values)

    def from_columns(self, rotation, values):
        """Express `values` in the basis of `columns` along the axes."""
        if not self.spans_space:
            return list(values)
        return list(rotation.transposed() * Vec3(*values))


class AbstractJoint(ABC):
    """
    A joint type: how coordinates become a placement, and how they advance.

    q: `position_size` scalars; v: `velocity_size` scalars, in the order of `groups`.
    """

    type_name = ''
    position_size = 0
    velocity_size = 0
    groups = ()

    @abstractmethod
    def placement(self, q):
        """Return the child's (Rotation, Vec3 [m]) in the joint frame on the parent's side."""

    @abstractmethod
    def rate(self, q, v):
        """Return dq/dt for velocities v."""

    @abstractmethod
    def advance(self, q, v, duration):
        """Return the coordinates after moving with constant velocities v for `duration` [s]."""

    @abstractmethod
    def difference(self, start, end):
        """Return the tangent v at `start` such that advance(start, v, 1) is `end`."""

    @abstractmethod
    def displacement(self, q, rest):
        """Return the generalised displacement from `rest`, the gradient of `spring_shape`."""

    @abstractmethod
    def spring_shape(self, q, rest):
        """Return the energy [J] of a spring of unit stiffness."""

    def normalized(self, q):
        """Return q brought back onto its manifold."""
        return list(q)

    def neutral(self):
        """Return the coordinates at which the child coincides with the joint frame."""
        return [0.0] * self.position_size

    def with_offset(self, q, offset):
        """Return q with the position offset of a single-coordinate joint added."""
        return list(q)


class AbstractVectorJoint(AbstractJoint):
    """A joint whose coordinates are plain numbers with dq/dt = v."""

    def rate(self, q, v):
        """Return v itself."""
        return list(v)

    def advance(self, q, v, duration):
        """Return q + v * duration."""
        return [x + mul(y, duration) for x, y in zip(q, v)]

    def difference(self, start, end):
        """Return end - start."""
        return [b - a for a, b in zip(start, end)]

    def displacement(self, q, rest):
        """Return q - rest; joints of several coordinates rest at zero."""
        return [sub(q[0], rest)] if len(q) == 1 else list(q)

    def spring_shape(self, q, rest):
        """Return half the squared displacement."""
        return mul(0.5, sum_of(mul(d, d) for d in self.displacement(q, rest)))


class AbstractAxisJoint(AbstractVectorJoint):
    """A joint of one degree of freedom about or along a constant axis."""

    position_size = 1
    velocity_size = 1
    is_rotation = True

    def __init__(self, axis):
        """Take the unit axis as three floats in the joint frame."""
        self.axis = Vec3(*(float(a) for a in axis))
        self.groups = (FreedomGroup(self.is_rotation, (self.axis,)),)

    def with_offset(self, q, offset):
        """Return the physical coordinate q + offset."""
        return [add(q[0], offset)]
