"""Stamps of data, in integer nanoseconds, as headers of messages."""

from std_msgs.msg import Header

_NANO = 10**9


def header(stamp_ns, frame_id=''):
    """Return a header of a stamp [ns] and a frame."""
    message = Header(frame_id=frame_id)
    message.stamp.sec, message.stamp.nanosec = divmod(stamp_ns, _NANO)
    return message


def stamp_ns_of(message):
    """Return the stamp [ns] in a message's header."""
    stamp = message.header.stamp
    return stamp.sec * _NANO + stamp.nanosec
