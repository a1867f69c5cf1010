"""Efforts between their samples: each acts until the next of its source."""

import numpy as np

from ..records import Status


class HeldInputs:
    """
    A zero-order hold over all commands, NaN where an effort is not known.

    What has not been renewed for the hold time is unknown from then on. Samples come in the
    order of time. Efforts that act late still act when the next frame has begun: as much of the
    past as `history_ns` stays at hand. Those that act before their stamp are asked for before it:
    they come stamped earlier by `lead_ns`.
    """

    def __init__(self, channels, size, hold_ns, history_ns, lead_ns, counts):
        """Take name -> `InputChannel`, the number of commands, times and the `Counts`."""
        self._places = {name: np.array(c.places, dtype=int) for name, c in channels.items()}
        self._size, self._counts = size, counts
        self._hold_ns, self._history_ns, self._lead_ns = hold_ns, history_ns, lead_ns
        self.clear()

    def clear(self):
        """Forget all efforts."""
        self._acting = np.full(self._size, np.nan)
        self._changes, self._ends = [], {}

    def snapshot(self):
        """Return what acts and until when, as plain values."""
        return self._acting, tuple(self._changes), dict(self._ends)

    def restore(self, saved):
        """Go on from a snapshot."""
        self._acting, changes, ends = saved
        self._changes, self._ends = list(changes), dict(ends)

    def put(self, sample):
        """Let the efforts of a sample act from its stamp on."""
        stamp_ns = sample.stamp_ns + self._lead_ns
        self._expire(stamp_ns)
        self._change(stamp_ns, self._places[sample.sensor], sample.values)
        self._ends[sample.sensor] = stamp_ns + self._hold_ns
        self._counts.add(sample.sensor, Status.USED)

    def between(self, start_ns, end_ns):
        """
        Return ((from_ns, values), ...) for a time, its history and what follows within the lead.

        The first entry acts from before the history, or from the start where nothing is known.
        What is older is forgotten.
        """
        self._expire(end_ns + self._lead_ns)
        unknown = (start_ns, np.full(self._size, np.nan))
        found = self._since(start_ns - self._history_ns, before=end_ns + self._lead_ns)
        if not found or found[0][0] > start_ns:
            found = [unknown, *found]
        self._changes = self._since(end_ns - self._history_ns)
        return tuple(found)

    def _since(self, instant, before=None):
        """Return the change that acts at an instant and all after it, up to another instant."""
        old = sum(at <= instant for at, _ in self._changes)
        changes = self._changes[max(old - 1, 0) :]
        return [c for c in changes if before is None or c[0] < before or c[0] <= instant]

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
