"""How much time the samples of a sensor span that wait."""

from bisect import bisect_left


class WaitingTime:
    """
    Stamps of a sensor in order, and the gaps between them.

    It is asked for after every frame, when ten thousands may wait: nothing here looks at all.
    """

    def __init__(self, is_gap, stamps=()):
        """
        Begin with some stamps [ns].

        is_gap: tells of two stamps that follow whether the time between them counts as none.
        """
        self._is_gap, self._stamps, self._gaps = is_gap, [], {}
        for stamp in sorted(stamps):
            self.add(stamp)

    def add(self, stamp):
        """Take a stamp in that is not there yet."""
        place = bisect_left(self._stamps, stamp)
        self._stamps.insert(place, stamp)
        self._look(place)
        self._look(place + 1)

    def drop_first(self):
        """Forget the earliest stamp."""
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
        """Note whether there is a gap before the stamp at a place."""
        if not 0 < place < len(self._stamps):
            return
        before, stamp = self._stamps[place - 1], self._stamps[place]
        self._gaps.pop(stamp, None)
        if self._is_gap(before, stamp):
            self._gaps[stamp] = stamp - before
