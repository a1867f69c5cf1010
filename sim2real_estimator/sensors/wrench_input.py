"""
Wrenches that act on a link from outside and are known: thrust, or what a force sensor tells.

Like efforts they are no measurements with a residual but inputs of the frames.
"""

import math

import numpy as np

from ..dynamics.wrenches import LINK, LinkWrench, WRENCH_SIZE
from ..records import Sample, Status
from .decoding import Decoded, stamp_ns


class WrenchInput:
    """
    A source of wrenches on one link, about the origin of its frame.

    values: moment x, y, z [N m], then force x, y, z [N], NaN where a message has none: it is then
    unknown, and never zero. wrench: the `LinkWrench`; places: where its numbers stand among all
    inputs of a frame; joints: none, as messages name none; limits: nobody knows any.
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
        # In a message that names another frame of the robot it is of something else.
        own = link if axes == LINK else model.base
        self._others = {each.name for each in model.links} - {own}

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a message; arrived_ns: when it came."""
        if message.header.frame_id.rpartition('/')[2] in self._others:
            return Decoded(statuses=(Status.MALFORMED,))
        moment, force = message.wrench.torque, message.wrench.force
        values = np.array([moment.x, moment.y, moment.z, force.x, force.y, force.z])
        return Decoded((Sample(self.name, stamp_ns(message, arrived_ns), values),))
