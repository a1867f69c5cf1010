"""The places of joints in JointState messages, found by name."""

from dataclasses import dataclass
import math

import numpy as np

from .decoding import name_remarks


@dataclass(frozen=True)
class Layout:
    """
    The places of some joints in messages with certain names.

    names: of the message, in its order; places: index of each joint among them, None for one
    that is not named; is_clear: whether there are names, each once; remarks: a Status for every
    name that is no joint of the robot.
    """

    names: tuple
    places: tuple
    is_clear: bool
    remarks: tuple

    @property
    def has_any(self):
        """Whether any of the joints is named."""
        return self.places.count(None) < len(self.places)

    def is_malformed(self, *fields):
        """Tell whether the numbers of fields cannot be assigned to joints."""
        return not self.is_clear or max(map(len, fields)) > len(self.names)

    def read(self, field):
        """Return the numbers [n] of the joints, NaN where one is missing."""
        numbers = np.asarray(field, dtype=float).tolist()
        if len(numbers) < len(self.names):
            numbers += [math.nan] * (len(self.names) - len(numbers))
        return [math.nan if place is None else numbers[place] for place in self.places]


class JointPlaces:
    """
    Finds some joints in messages by their names.

    Drivers name the same joints in the same order in each message, so they are looked up once.
    """

    def __init__(self, joints, known):
        """Set the names of the joints, and the `known` ones of all joints of the robot."""
        self._joints, self._known, self._latest = tuple(joints), frozenset(known), None

    def layout(self, message):
        """Return the `Layout` of a message with a field `name`."""
        names = tuple(message.name)
        if self._latest is None or names != self._latest.names:
            places = {name: place for place, name in enumerate(names)}
            self._latest = Layout(
                names,
                tuple(places.get(joint) for joint in self._joints),
                0 < len(names) == len(places),
                name_remarks(names, self._known),
            )
        return self._latest
