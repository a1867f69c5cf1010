"""
Efforts of joints, measured or commanded.

They have no residual: they are not predicted, but drive the robot as inputs of the frames.
"""

import numpy as np

from ..errors import ConfigError
from ..records import Sample, Status
from .decoding import (
    checked_type,
    Decoded,
    JOINT_STATE,
    NUMBERS,
    read_numbers,
    stamp_ns,
)
from .joint_places import JointPlaces


def _by_name(efforts, message, arrived_ns):
    """Return the `Decoded` of a JointState; one about other joints only has no sample."""
    layout = efforts.places_by_name.layout(message)
    if layout.is_malformed(message.effort):
        return Decoded(statuses=(Status.MALFORMED,))
    if not layout.has_any:
        return Decoded(statuses=layout.remarks)
    values = np.array(layout.read(message.effort))
    return Decoded((Sample(efforts.name, stamp_ns(message, arrived_ns), values),), layout.remarks)


def _by_order(efforts, message, arrived_ns):
    """Return the `Decoded` of a Float64MultiArray, malformed unless it has one number a joint."""
    numbers = read_numbers(message)
    if len(numbers) != len(efforts.order):
        return Decoded(statuses=(Status.MALFORMED,))
    values = numbers[[efforts.order.index(joint) for joint in efforts.joints]]
    return Decoded((Sample(efforts.name, stamp_ns(message, arrived_ns), values),))


class JointEfforts:
    """
    A source of efforts on joints with one degree of freedom.

    values: one effort per joint [N m or N], NaN where a message has none, which means unknown,
    not zero. places: indices of the joints among the model's commands; limits: largest effort by
    the robot description, NaN where it gives none; order: joints of the numbers of a message
    without names; known: names of all joints of the robot; places_by_name: `JointPlaces`.
    """

    readers = {JOINT_STATE: _by_name, NUMBERS: _by_order}
    message_types = tuple(readers)

    def __init__(self, name, model, joints, message_type=None, order=()):
        """Take the names of the joints, and the order of messages that have no names."""
        self.name, self.joints, self.order = name, tuple(joints), tuple(order)
        self.message_type = checked_type(self, message_type)
        for joint in self.joints:
            if joint not in model.commands:
                takes = ', '.join(model.commands) or 'none'
                raise ConfigError(
                    f"efforts: joint '{joint}' takes no single effort; joints that do: {takes}; "
                    "set its effort to 'none', or give it an actuator"
                )
        self.places = tuple(model.commands.index(joint) for joint in self.joints)
        limits = (model.joint(joint).limits.effort for joint in self.joints)
        self.limits = tuple(float('nan') if limit is None else limit for limit in limits)
        self.value_size = len(self.joints)
        self.known = frozenset(joint.name for joint in model.joints)
        self.places_by_name = JointPlaces(self.joints, self.known)
        self._check_order()

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a message; arrived_ns: when it came."""
        return self.readers[self.message_type](self, message, arrived_ns)

    def _check_order(self):
        """Raise a ConfigError where it is not known which number is of which joint."""
        key, order = 'efforts.commanded_joints', self.order
        if self.message_type != NUMBERS:
            if order:
                raise ConfigError(
                    f'{key}: is given, but {self.message_type} has names; take it out, or set '
                    f'efforts.commanded_type to {NUMBERS}'
                )
            return
        for joint in (*self.joints, *order):
            if joint not in self.known:
                raise ConfigError(f"{key}: '{joint}' is no joint of the robot")
            if order.count(joint) != 1:
                raise ConfigError(
                    f"{key}: names '{joint}' {order.count(joint)} times; list the joints of the "
                    f'numbers of a {NUMBERS}, in their order, each once'
                )
