"""
Known external wrenches on a link: thrust, or the measurements of a force sensor.

Like efforts they have no residual, but are inputs of the frames.
"""

import math

import numpy as np

from ..dynamics.wrenches import LINK, LinkWrench, WRENCH_SIZE
from ..records import Sample, Status
from .decoding import Decoded, stamp_ns


class WrenchInput:
    """
    A source of wrenches on one link, about the origin of its frame.

    values: moment x, y, z [N m], then force x, y, z [N], NaN where a message has none, which
    means unknown, not zero. wrench: the `LinkWrench`; places: indices of its numbers among all
    inputs of a frame; joints: none, as messages name none; limits: unknown.
    """

    message_types = ('geometry_msgs/msg/WrenchStamped',)
    message_type = message_types[0]
    joints = ()
    value_size = WRENCH_SIZE
    limits = (math.nan,) * WRENCH_SIZE

    def __init__(self, name, model, link, axes=LINK, number=0):
        """Take the names, whose axes messages have, and how many wrenches come before it."""
        model.link(link)
        self.name, self.wrench = name, LinkWrench(link, axes)
        first = len(model.commands) + WRENCH_SIZE * number
        self.places = tuple(range(first, first + WRENCH_SIZE))
        # A message that names another frame of the robot is about another link.
        own = link if axes == LINK else model.base
        self._others = {each.name for each in model.links} - {own}

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a message; arrived_ns: when it came."""
        if message.header.frame_id.rpartition('/')[2] in self._others:
            return Decoded(statuses=(Status.MALFORMED,))
        moment, force = message.wrench.torque, message.wrench.force
        values = np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])
        return Decoded((Sample(self.name, stamp_ns(message, arrived_ns), values),))
