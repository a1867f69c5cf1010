"""The time span of the samples of a sensor that wait in the buffer."""

from bisect import bisect_left


class WaitingTime:
    """
    The stamps of a sensor in order, and the gaps between them.

    The span is needed after every frame, when ten thousands of stamps may wait, so that no method
    goes through all of them.
    """

    def __init__(self, is_gap, stamps=()):
        """
        Begin with some stamps [ns].

        is_gap: function of two successive stamps that tells whether their interval is a gap.
        """
        self._is_gap, self._stamps, self._gaps = is_gap, [], {}
        for stamp in sorted(stamps):
            self.add(stamp)

    def add(self, stamp):
        """Add a stamp that is not there yet."""
        place = bisect_left(self._stamps, stamp)
        self._stamps.insert(place, stamp)
        self._look(place)
        self._look(place + 1)

    def drop_first(self):
        """Remove the earliest stamp."""
        self._stamps.pop(0)
        if self._stamps:
            self._gaps.pop(self._stamps[0], None)

    def before(self, limit):
        """Return the time [ns] from the first to the last stamp before a limit, without gaps."""
        count = bisect_left(self._stamps, limit)
        if count < 2:
            return 0
        first, last = self._stamps[0], self._stamps[count - 1]
        return last - first - sum(gap for end, gap in self._gaps.items() if end <= last)

    def _look(self, place):
        """Record whether there is a gap before the stamp at an index."""
        if not 0 < place < len(self._stamps):
            return
        before, stamp = self._stamps[place - 1], self._stamps[place]
        self._gaps.pop(stamp, None)
        if self._is_gap(before, stamp):
            self._gaps[stamp] = stamp - before
