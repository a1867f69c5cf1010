"""
Message classes by name, with or without ROS.

With ROS they are those of rclpy; without it, those of `rosbags`, which have the same attributes.
Whoever reads bags asks here, and so needs no ROS.
"""

from functools import cache
import importlib

from rosbags.typesys import get_typestore, Stores

from ..errors import DataError


def message_class(name):
    """Return the class of a message type such as 'sensor_msgs/msg/JointState'."""
    try:
        return ros_class(name)
    except ImportError:
        return typestore_class(name)


def ros_class(name):
    """Return the class that rclpy publishes and subscribes; an ImportError without ROS."""
    package, kind, word = _parts(name)
    module = importlib.import_module(f'{package}.{kind}')
    if not hasattr(module, word):
        raise _unknown(name)
    return getattr(module, word)


def typestore_class(name):
    """Return the class that `rosbags` reads bags into."""
    _parts(name)
    if name not in typestore().types:
        raise _unknown(name)
    return typestore().types[name]


@cache
def typestore():
    """Return the message types of ROS 2 Jazzy, as `rosbags` knows them."""
    return get_typestore(Stores.ROS2_JAZZY)


def _parts(name):
    """Return package, 'msg' and the class of a type's name."""
    parts = name.split('/')
    if len(parts) != 3:
        raise _unknown(name)
    return parts


def _unknown(name):
    return DataError(
        f"there is no message type '{name}'; write it as in 'sensor_msgs/msg/JointState'"
    )
