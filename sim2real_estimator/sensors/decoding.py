"""
Numbers from messages, read by plain attributes, without ROS.

A reader returns (values, status): the status is USED, or says why there are no values.
"""

from dataclasses import dataclass
import math

import numpy as np

from ..errors import ConfigError, DataError
from ..records import Sample, Status

JOINT_STATE = 'sensor_msgs/msg/JointState'
NUMBERS = 'std_msgs/msg/Float64MultiArray'
# Tolerance of the norm of a quaternion; drivers send zeros for a body that they do not see.
_NORM_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Decoded:
    """The samples that a message holds for a sensor, and a `Status` for each remark."""

    samples: tuple = ()
    statuses: tuple = ()


def stamp_ns(message, arrived_ns=None):
    """Return the stamp of the header [ns], the time of arrival where there is no header."""
    if not hasattr(message, 'header'):
        if arrived_ns is None:
            raise DataError(
                f'a {type(message).__name__} has no stamp; say when it came, as arrived_ns'
            )
        return arrived_ns
    stamp = message.header.stamp
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def read_pose_stamped(message):
    """Read geometry_msgs/msg/PoseStamped: x, y, z, then w, x, y, z."""
    return read_pose(message.pose.position, message.pose.orientation)


def read_transform_stamped(message):
    """Read geometry_msgs/msg/TransformStamped: x, y, z, then w, x, y, z."""
    return read_pose(message.transform.translation, message.transform.rotation)


def read_point_stamped(message):
    """Read geometry_msgs/msg/PointStamped: x, y, z."""
    point = message.point
    return np.array([point.x, point.y, point.z]), Status.USED


def read_pose(p, o):
    """Read position and quaternion: x, y, z, then w, x, y, z; OCCLUDED where that is no turn."""
    is_occluded = abs(math.hypot(o.w, o.x, o.y, o.z) - 1) > _NORM_TOLERANCE
    values = np.array([p.x, p.y, p.z, o.w, o.x, o.y, o.z])
    return values, Status.OCCLUDED if is_occluded else Status.USED


def decode_by_readers(sensor, message, arrived_ns):
    """Return the `Decoded` of a sensor whose class has `readers`; arrived_ns: when it came."""
    values, status = sensor.readers[sensor.message_type](message)
    if not all(map(math.isfinite, values.tolist())):
        status = Status.NON_FINITE
    if status is not Status.USED:
        return Decoded(statuses=(status,))
    return Decoded((Sample(sensor.name, stamp_ns(message, arrived_ns), values),))


def read_numbers(message):
    """Return the numbers of a MultiArray."""
    return np.array(message.data[message.layout.data_offset :], dtype=float)


def name_remarks(names, known):
    """Return a Status for every name that is no joint of the robot."""
    return (Status.UNKNOWN_JOINT,) * len(set(names) - known)


def checked_type(sensor, message_type):
    """Return the message type of a sensor, its usual one for None; refuse others."""
    if message_type is None:
        return sensor.message_types[0]
    if message_type not in sensor.message_types:
        raise ConfigError(
            f"sensor '{sensor.name}': message type '{message_type}' cannot be read; "
            f'choose one of {", ".join(sensor.message_types)}'
        )
    return message_type


def joints_to(model, link):
    """Return the names of the joints that move a link; for a follower, that of its source."""
    above = {joint.child: joint for joint in model.joints}
    names = []
    while link in above:
        joint = above[link]
        link = joint.parent
        while joint.mimic is not None:
            joint = model.joint(joint.mimic.source)
        if not joint.is_fixed:
            names.append(joint.name)
    return tuple(dict.fromkeys(names))
