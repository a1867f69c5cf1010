"""Stamps of data, in integer nanoseconds, as headers of messages."""

from ...messages import maker

Header = maker('std_msgs/msg/Header')
_NANO = 10**9


def header(stamp_ns, frame_id=''):
    """Return a header of a stamp [ns] and a frame."""
    message = Header(frame_id=frame_id)
    set_stamp(message.stamp, stamp_ns)
    return message


def set_stamp(stamp, stamp_ns):
    """Set the time of a message to a stamp [ns]."""
    stamp.sec, stamp.nanosec = divmod(stamp_ns, _NANO)


def stamp_ns_of(message):
    """Return the stamp [ns] in a message's header."""
    stamp = message.header.stamp
    return stamp.sec * _NANO + stamp.nanosec
