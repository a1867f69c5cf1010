"""What the robot sends: one record per message, before it is a message of anybody's."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """
    One message.

    topic, message_type: as in the estimator's config; number: of the message among those of its
    topic, lost ones included, from 0; due_ns: when it arrives, since the start; stamp_ns: its
    header's; content: one of the classes below.
    """

    topic: str
    message_type: str
    number: int
    due_ns: int
    stamp_ns: int
    content: object


@dataclass(frozen=True)
class JointValues:
    """
    Of several joints by name: lists as long as `names`, or empty; NaN where there is none.

    position [rad or m]; velocity [per s]; effort [N m or N].
    """

    names: tuple
    position: tuple = ()
    velocity: tuple = ()
    effort: tuple = ()


@dataclass(frozen=True)
class JointPoseValues:
    """
    Of several joints by name, for each a tuple.

    position [m], orientation w, x, y, z, velocity [m/s], angular_velocity [rad/s].
    """

    names: tuple
    position: tuple
    orientation: tuple
    velocity: tuple
    angular_velocity: tuple


@dataclass(frozen=True)
class EffortValues:
    """Efforts [N m or N] in an order that the messages do not tell; they have no stamp either."""

    effort: tuple


@dataclass(frozen=True)
class PoseValues:
    """A body's position x, y, z [m] and quaternion w, x, y, z, all zero where it is hidden."""

    position: tuple
    orientation: tuple


@dataclass(frozen=True)
class PointValues:
    """A marker's position x, y, z [m], or u, v [px] and 0; NaN where it is hidden."""

    position: tuple


@dataclass(frozen=True)
class WrenchValues:
    """Force x, y, z [N] and torque x, y, z [N m] on a link."""

    force: tuple
    torque: tuple
