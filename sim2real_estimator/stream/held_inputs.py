"""Efforts between their samples: each acts until the next of its source."""

import numpy as np

from ..records import Status


class HeldInputs:
    """
    A zero-order hold over all commands, NaN where an effort is not known.

    What has not been renewed for the hold time is unknown from then on. Samples come in the
    order of time.
    """

    def __init__(self, channels, size, hold_ns, counts):
        """Take name -> `InputChannel`, the number of commands, the hold time and the `Counts`."""
        self._places = {name: np.array(c.places, dtype=int) for name, c in channels.items()}
        self._size, self._hold_ns, self._counts = size, hold_ns, counts
        self.clear()

    def clear(self):
        """Forget all efforts."""
        self._acting = np.full(self._size, np.nan)
        self._changes, self._ends = [], {}

    def put(self, sample):
        """Let the efforts of a sample act from its stamp on."""
        self._expire(sample.stamp_ns)
        self._change(sample.stamp_ns, self._places[sample.sensor], sample.values)
        self._ends[sample.sensor] = sample.stamp_ns + self._hold_ns
        self._counts.add(sample.sensor, Status.USED)

    def between(self, start_ns, end_ns):
        """Return ((from_ns, values), ...) for a time, and forget what was before its end."""
        self._expire(end_ns)
        before = [change for change in self._changes if change[0] <= start_ns]
        first = before[-1] if before else (start_ns, np.full(self._size, np.nan))
        inside = [change for change in self._changes if start_ns < change[0] < end_ns]
        done = [change for change in self._changes if change[0] <= end_ns]
        self._changes = [*done[-1:], *self._changes[len(done) :]]
        return (first, *inside)

    def _expire(self, until_ns):
        """Let efforts that nobody has renewed become unknown."""
        for source, end in sorted(self._ends.items(), key=lambda item: (item[1], item[0])):
            if end < until_ns:
                self._change(end, self._places[source], np.nan)
                self._counts.add(source, Status.MISSING_EFFORT, len(self._places[source]))
                del self._ends[source]

    def _change(self, stamp_ns, places, values):
        self._acting = self._acting.copy()
        self._acting[places] = values
        if self._changes and self._changes[-1][0] == stamp_ns:
            self._changes.pop()
        self._changes.append((stamp_ns, self._acting))
