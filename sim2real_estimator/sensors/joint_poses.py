"""Encoders of ball joints, and estimates of how a base stands: joints with a quaternion."""

from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError
from ..records import Sample, Status
from .base import AbstractSensor, Rows, Signal
from .decoding import checked_type, Decoded, name_remarks, read_pose, stamp_ns
from .turns import inverse_right_jacobians, quaternion_turns, turns_of_quaternions


@dataclass(frozen=True)
class Quantity:
    """What may be measured of a joint: its setting, and where it is among `_SIZE` numbers."""

    setting: str
    numbers: slice
    is_rotation: bool
    is_velocity: bool


_QUANTITIES = (
    Quantity('position_sd', slice(0, 3), False, False),
    Quantity('orientation_sd', slice(3, 7), True, False),
    Quantity('velocity_sd', slice(7, 10), False, True),
    Quantity('angular_velocity_sd', slice(10, 13), True, True),
)
_SIZE = 13


@dataclass(frozen=True)
class Part:
    """A quantity of one joint with its standard deviation; states: its place in states."""

    joint: str
    quantity: Quantity
    states: slice
    sd: float

    @property
    def size(self):
        """How many numbers it has."""
        return self.states.stop - self.states.start

    @property
    def is_quaternion(self):
        """Whether its numbers are those of a quaternion."""
        return self.quantity.is_rotation and not self.quantity.is_velocity

    @property
    def scale(self):
        """Standard deviation of each of its numbers; half of an angle's for a quaternion's."""
        return self.sd / 2 if self.is_quaternion else self.sd

    def signals(self, start):
        """Return a `Signal` for each of its rows; start: place of its first number."""
        about = self.quantity
        unit = ('rad' if about.is_rotation else 'm') + ('/s' if about.is_velocity else '')
        word = about.setting.removesuffix('_sd').replace('_', ' ')
        if self.is_quaternion:
            return [Signal(f'{self.joint} turn about {x}', unit, self.sd, None) for x in 'xyz']
        return [
            Signal(f'{self.joint} {word} {axis}', unit, self.sd, start + k)
            for k, axis in enumerate('xyz')
        ]


@dataclass(frozen=True)
class _Alike:
    """Where of J parts of one size rows [J, 3], numbers [J, size] and states [J, size] are."""

    rows: np.ndarray
    numbers: np.ndarray
    states: np.ndarray

    @staticmethod
    def of(parts, is_quaternion):
        """Return those of the parts that are quaternions, or of the others."""
        starts = np.cumsum([0, *(part.size for part in parts)])
        which = [k for k, part in enumerate(parts) if part.is_quaternion == is_quaternion]
        own, size = range(3), np.arange(4 if is_quaternion else 3)
        return _Alike(
            np.array([[3 * k + row for row in own] for k in which], dtype=int).reshape(-1, 3),
            np.array([starts[k] + size for k in which], dtype=int).reshape(-1, len(size)),
            np.array([parts[k].states.start + size for k in which], dtype=int).reshape(
                -1, len(size)
            ),
        )


class JointPoses(AbstractSensor):
    """
    Measured coordinates of spherical and free joints, and velocities if asked for.

    values: of one joint after the other the position x, y, z [m] and the quaternion w, x, y, z of
    the child link in the joint frame, its velocity [m/s] along the axes of the joint frame and
    its angular velocity [rad/s] along its own; each only where it has a standard deviation, as
    `parts` lists them. q and -q are the same.
    """

    message_types = ('sensor_msgs/msg/MultiDOFJointState',)
    measures_joints = True

    def __init__(
        self,
        name,
        model,
        joints,
        position_sd=None,
        orientation_sd=None,
        velocity_sd=None,
        angular_velocity_sd=None,
        message_type=None,
    ):
        """Take the joints' names, and standard deviations [m], [rad], [m/s], [rad/s]; or None."""
        self.name, self.joints = name, tuple(joints)
        self.message_type = checked_type(self, message_type)
        self._state_size = model.state_size
        self._known = frozenset(joint.name for joint in model.joints)
        deviations = (position_sd, orientation_sd, velocity_sd, angular_velocity_sd)
        wanted = [(q, sd) for q, sd in zip(_QUANTITIES, deviations) if sd is not None]
        parts = [part for joint in self.joints for part in _parts(name, model, joint, wanted)]
        for quantity, _ in wanted:
            if not any(part.quantity is quantity for part in parts):
                raise ConfigError(
                    f"sensor '{name}': {quantity.setting} is of free joints, and it measures "
                    'none; take it out'
                )
        for joint in self.joints:
            if not any(part.joint == joint for part in parts):
                raise ConfigError(
                    f"sensor '{name}': measures nothing of joint '{joint}'; give an orientation_sd"
                )
        self.parts, self.row_size = parts, 3 * len(parts)
        self.value_size = sum(part.size for part in parts)
        self._turns, self._others = _Alike.of(parts, True), _Alike.of(parts, False)
        self._deviations = np.repeat([part.sd for part in parts], 3)

    @property
    def scale(self):
        """Standard deviations of the values."""
        return np.concatenate([[part.scale] * part.size for part in self.parts])

    @property
    def signals(self):
        """Of one part after the other."""
        starts = np.cumsum([0, *(part.size for part in self.parts)]).tolist()
        pairs = zip(self.parts, starts)
        return tuple(signal for part, start in pairs for signal in part.signals(start))

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a message; one about other joints only has no sample."""
        names = list(message.joint_names)
        remarks = name_remarks(names, self._known)
        if not set(self.joints) & set(names):
            return Decoded(statuses=remarks)
        found = {joint: _read(message, names, joint) for joint in self.joints}
        statuses = {status for _, status in found.values()}
        pieces = [found[part.joint][0][part.quantity.numbers] for part in self.parts]
        missing = {p.joint for p, numbers in zip(self.parts, pieces) if np.isnan(numbers).any()}
        remarks += (Status.MISSING_JOINT,) * len(missing)
        if Status.USED not in statuses:
            is_occluded = Status.OCCLUDED in statuses and Status.NON_FINITE not in statuses
            outcome = Status.OCCLUDED if is_occluded else Status.NON_FINITE
            return Decoded(statuses=(*remarks, outcome))
        values = np.concatenate(pieces)
        return Decoded((Sample(self.name, stamp_ns(message, arrived_ns), values),), remarks)

    def observe(self, robot, q, v):
        """Return nothing: the state is what is measured."""
        return []

    def rows(self, states, outputs, values):
        """Return the `Rows`; what is missing leaves its rows empty."""
        error, turns, others = self._missed(states, values), self._turns, self._others
        slope = np.zeros((*error.shape, self._state_size))
        slope[:, others.rows, others.states] = 1.0
        here = states[turns.states.ravel()].T.reshape(-1, 4)
        bent = inverse_right_jacobians(error[:, turns.rows].reshape(-1, 3))
        bent = (bent @ turns_of_quaternions(here)).reshape(len(error), len(turns.rows), 3, 4)
        slope[:, turns.rows[..., None], turns.states[:, None]] = bent
        missing = np.isnan(error)
        if missing.any():
            error[missing], slope[missing] = 0.0, 0.0
        return Rows(error / self._deviations, by_state=slope / self._deviations[:, None])

    def errors(self, states, outputs, values):
        """Return the values of the `Rows` alone."""
        error = self._missed(states, values)
        return np.where(np.isnan(error), 0.0, error / self._deviations)

    def _missed(self, states, values):
        """Return by how much states miss values [B, m], NaN where something is missing."""
        error, turns, others = np.empty((len(values), self.row_size)), self._turns, self._others
        error[:, others.rows] = states.T[:, others.states] - values[:, others.numbers]
        here = states[turns.states.ravel()].T.reshape(-1, 4)
        seen = values[:, turns.numbers.ravel()].reshape(-1, 4)
        turned = quaternion_turns(seen, here)
        error[:, turns.rows] = turned.reshape(len(values), len(turns.rows), 3)
        return error


def _parts(name, model, joint, wanted):
    """Return what is measured of a joint; wanted: [(quantity, standard deviation)]."""
    moving = {m.joint.name: m for m in model.moving_joints if m.is_independent}
    kind = moving[joint].joint.kind if joint in moving else None
    if kind is None or not _has_quaternion(kind):
        fitting = ', '.join(n for n, m in moving.items() if _has_quaternion(m.joint.kind))
        raise ConfigError(
            f"sensor '{name}': joint '{joint}' is neither spherical nor free; joints that are: "
            f'{fitting or "none"}'
        )
    position = moving[joint].positions.start
    velocity = model.position_size + moving[joint].velocities.start
    places = {}
    for group in kind.groups:
        size = 4 if group.is_rotation else 3
        places[group.is_rotation, False] = slice(position, position + size)
        places[group.is_rotation, True] = slice(velocity, velocity + 3)
        position, velocity = position + size, velocity + 3
    return [
        Part(joint, quantity, places[quantity.is_rotation, quantity.is_velocity], sd)
        for quantity, sd in wanted
        if (quantity.is_rotation, quantity.is_velocity) in places
    ]


def _has_quaternion(kind):
    """Tell whether a joint type turns by a quaternion, and moves in space if it moves at all."""
    return kind.position_size > kind.velocity_size and all(g.spans_space for g in kind.groups)


def _read(message, names, joint):
    """Return ([_SIZE] numbers of a joint, NaN where there is none, the `Status` of its pose)."""
    values = np.full(_SIZE, np.nan)
    place = names.index(joint) if joint in names else len(message.transforms)
    if place >= len(message.transforms):
        return values, Status.MISSING_JOINT
    transform = message.transforms[place]
    pose, status = read_pose(transform.translation, transform.rotation)
    if not np.isfinite(pose).all():
        return values, Status.NON_FINITE
    if status is Status.USED:
        # The same turn is always the same numbers, so that motion can be recognised.
        values[:3], values[3:7] = pose[:3], pose[3:] if pose[3] >= 0 else -pose[3:]
        if place < len(message.twist):
            linear, angular = message.twist[place].linear, message.twist[place].angular
            twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
            values[7:] = np.where(np.isfinite(twist), twist, np.nan)
    return values, status
