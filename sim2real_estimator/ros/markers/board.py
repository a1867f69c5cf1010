"""What is shown at present."""

from ...messages import maker
from ..publishers.stamps import header

Marker = maker('visualization_msgs/msg/Marker')
MarkerArray = maker('visualization_msgs/msg/MarkerArray')


class Board:
    """
    Turns scenes into messages.

    One MarkerArray per update, with all markers: each replaces the one of its namespace and id
    at once, and stays until it is replaced or deleted, so nothing flickers.
    """

    def __init__(self):
        """Begin with whatever an earlier run has left in rviz."""
        self._shown = None

    def update(self, markers, stamp_ns):
        """Return the MarkerArray that shows these markers and no others; stamp_ns: of the data."""
        wanted = {(marker.ns, marker.id): marker for marker in markers}
        if self._shown is None:
            orders = [Marker(action=Marker.DELETEALL)]
        else:
            orders = [
                Marker(ns=space, id=number, action=Marker.DELETE)
                for space, number in sorted(self._shown - set(wanted))
            ]
        for marker in wanted.values():
            marker.header.stamp = header(stamp_ns).stamp
        self._shown = set(wanted)
        return MarkerArray(markers=[*orders, *wanted.values()])

    def clear(self):
        """Return the MarkerArray that shows nothing."""
        self._shown = None
        return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
