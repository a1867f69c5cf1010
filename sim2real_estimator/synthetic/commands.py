"""Efforts on their way to the motors: given at one instant, acting from a later one on."""

from collections import deque


class LateCommands:
    """What acts when commands take a constant time to act, never less than none."""

    def __init__(self, delay_ns):
        """Take the delay [ns]."""
        self._delay, self._given, self._acting = delay_ns, deque(), None

    def give(self, time_ns, efforts):
        """Take the efforts that are given at a time, none before the latest; the first act."""
        if self._acting is None:
            self._acting = efforts
        self._given.append((time_ns + self._delay, efforts))

    def pieces(self, start_ns, end_ns):
        """Return (duration [s], efforts) of what acts from start to end, in the order of time."""
        found = []
        while self._given and self._given[0][0] < end_ns:
            at, efforts = self._given.popleft()
            if at > start_ns:
                found.append((1e-9 * (at - start_ns), self._acting))
                start_ns = at
            self._acting = efforts
        return [*found, (1e-9 * (end_ns - start_ns), self._acting)]
