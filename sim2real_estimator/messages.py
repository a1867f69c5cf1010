"""
Message classes by name, with or without ROS.

With ROS they are those of rclpy; without it, those of `rosbags`, which have the same attributes.
Whoever reads or makes messages asks here, and so needs no ROS.
"""

from functools import cache
import importlib
import struct

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import get_typestore, Stores

from .errors import DataError

# What a field of a number, a truth value or a text has where nothing is given.
_ZEROS = {'string': '', 'bool': False, 'float32': 0.0, 'float64': 0.0}
# The only default that the common types have: no turn. The typestore does not keep it.
_DEFAULTS = {'geometry_msgs/msg/Quaternion': {'w': 1.0}}
# Bytes before the fields, of which the first two say in which order numbers have theirs.
_HEAD, _ORDERS = 4, (b'\x00\x00', b'\x00\x01')
_LARGEST_REST = 32
_NUMBER_TYPES = {'byte': 'uint8', 'char': 'uint8', 'octet': 'uint8'}


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


def maker(name):
    """
    Return what makes messages of a type, and has its constants.

    With ROS it is the class itself; else a `TypestoreMaker`, to be called in the same way.
    """
    try:
        return ros_class(name)
    except ImportError:
        return TypestoreMaker(name)


def serialized(message):
    """
    Return a message made by a `maker` as the bytes that travel, and that bags hold.

    The same content gives the same bytes: what rclpy has between two fields is anything.
    """
    name = getattr(message, '__msgtype__', None)
    if name is None:
        package, kind, _ = type(message).__module__.split('.')
        name = f'{package}/{kind}/{type(message).__name__}'
        travelling = importlib.import_module('rclpy.serialization').serialize_message(message)
        message = deserialized(travelling, name)
    return bytes(typestore().serialize_cdr(message, name))


def deserialized(content, name, store=None):
    """
    Return the message that bytes are; a DataError where they are none of that type.

    store: of the types, as a bag defines them; by default those of Jazzy.
    """
    store = store or typestore()
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise DataError(f"a '{name}' is no bytes but {type(content).__name__}")
    if len(content) < _HEAD or bytes(content[:2]) not in _ORDERS:
        raise DataError(f"bytes of a '{name}' begin with no mark of their order")
    kind = store.get_msgdef(name)
    read = kind.deserialize_cdr_le if content[1] else kind.deserialize_cdr_be
    try:
        message, end = read(content[_HEAD:], 0, kind.cls, store)
    except (SerdeError, struct.error, IndexError, ValueError) as error:
        raise DataError(f"bytes of a '{name}' are cut off or of another type ({error})") from error
    # rclpy keeps more room than it uses, so `Typestore.deserialize_cdr` refuses what it sends.
    if len(content) - _HEAD - end > _LARGEST_REST:
        raise DataError(f"bytes of a '{name}' are more than it has fields for")
    return message


class TypestoreMaker:
    """Makes messages of `rosbags` like rclpy: what is not given is empty, lists become arrays."""

    def __init__(self, name):
        """Take the name of a message type."""
        self._class = typestore_class(name)
        _, fields = typestore().fielddefs[name]
        self._fields, self._defaults = dict(fields), _DEFAULTS.get(name, {})

    def __call__(self, **given):
        """Return a message with these fields."""
        given = {**self._defaults, **given}
        values = {name: _empty(field) for name, field in self._fields.items() if name not in given}
        values |= {name: _converted(self._fields[name], value) for name, value in given.items()}
        return self._class(**values)

    def __getattr__(self, name):
        """Return a constant of the type."""
        return getattr(self._class, name)


def _empty(field):
    """Return what a field has where nothing is given."""
    kind, content = field
    if kind is Nodetype.BASE:
        return _ZEROS.get(content[0], 0)
    if kind is Nodetype.NAME:
        return TypestoreMaker(content)()
    element, size = content
    if _is_number(element):
        return np.zeros(size, _number_type(element))
    return [_empty(element) for _ in range(size)]


def _converted(field, value):
    """Return the value of a field as `rosbags` writes it: numbers in a row as an array."""
    kind, content = field
    if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE) and _is_number(content[0]):
        return np.asarray(value, dtype=_number_type(content[0]))
    return value


def _is_number(element):
    kind, content = element
    return kind is Nodetype.BASE and content[0] != 'string'


def _number_type(element):
    name = element[1][0]
    return _NUMBER_TYPES.get(name, name)


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
