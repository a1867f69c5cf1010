"""The schedule of a simulation in real time: when the next tick is due."""

_CATCHING_UP = 2
_GIVING_UP = 10**9


class Pace:
    """
    A schedule in times of a steady clock [ns].

    Ticks that are late are made up for at twice the speed, not in one burst: what they publish
    keeps the stamps of the schedule, so that receivers see how late it is. After a second the
    schedule is given up for a later one. lateness: the largest since `forget`.
    """

    def __init__(self, period_ns, now_ns):
        """Begin now with tick 0, whose time is 0."""
        self._least, self._start, self._latest = period_ns // _CATCHING_UP, now_ns, 0
        self.lateness = 0

    def elapsed(self, now_ns):
        """Return the time of the schedule."""
        return now_ns - self._start

    def wait(self, time_ns, now_ns):
        """Return the time to wait before a tick [s]; not positive: it is due."""
        return max(self._start + time_ns, self._latest + self._least) - now_ns

    def begin(self, time_ns, now_ns):
        """Record that a tick is done; return by how much the schedule was postponed."""
        late = now_ns - self._start - time_ns
        self._latest, self.lateness = now_ns, max(self.lateness, late)
        if late < _GIVING_UP:
            return 0
        self._start += late
        return late

    def forget(self):
        """Begin anew to look for the largest lateness."""
        self.lateness = 0
