"""Efforts between their samples: each acts until the next of its source."""

import numpy as np

from ..records import Status
from .pace import Pace


class HeldInputs:
    """
    A zero-order hold over all commands, NaN where an effort is not known.

    What is overdue by the pace of its source, or has not been renewed for the hold time, is
    unknown from then on. Samples come in the order of time. Efforts that act late still act when
    the next frame has begun: as much of the past as `history_ns` stays at hand. Those that act
    before their stamp are asked for before it: they come stamped earlier by `lead_ns`.
    """

    def __init__(self, channels, size, hold_ns, history_ns, lead_ns, counts, is_steady=True):
        """
        Take name -> `InputChannel`, the number of commands, times and the `Counts`.

        is_steady: whether sources renew efforts at a steady pace, or only when they change.
        """
        self._places = {name: np.array(c.places, dtype=int) for name, c in channels.items()}
        self._size, self._counts = size, counts
        self._hold_ns, self._history_ns, self._lead_ns = hold_ns, history_ns, lead_ns
        self._is_steady = is_steady
        self.clear()

    def clear(self):
        """Forget all efforts."""
        self._changes, self._paces, self._ends = [], {}, {}

    def snapshot(self):
        """Return what acts, and how long it has done so, as plain values."""
        paces = {name: pace.snapshot() for name, pace in self._paces.items()}
        return tuple(self._changes), paces

    def restore(self, saved):
        """Go on from a snapshot."""
        changes, paces = saved
        self._changes = list(changes)
        self._paces = {name: Pace(*values) for name, values in paces.items()}
        self._ends = {name: self._ends_of(pace) for name, pace in self._paces.items()}

    def put(self, sample):
        """Let the efforts of a sample act from its stamp on."""
        stamp_ns = sample.stamp_ns + self._lead_ns
        self._expire(stamp_ns)
        self._change(stamp_ns, self._places[sample.sensor], sample.values)
        pace = self._paces.get(sample.sensor)
        if pace is None:
            pace = self._paces[sample.sensor] = Pace(stamp_ns, sample.values)
        else:
            pace.renew(stamp_ns, sample.values)
        self._ends[sample.sensor] = self._ends_of(pace)
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

    def _ends_of(self, pace):
        return pace.ends(self._hold_ns, self._is_steady)

    def _expire(self, until_ns):
        """Let efforts that nobody has renewed become unknown."""
        for source, (from_ns, sure_ns) in self._ends.items():
            if sure_ns.min() >= until_ns:
                continue
            places = self._places[source]
            is_over = (sure_ns < until_ns) & np.isfinite(self._changes[-1][1][places])
            for stamp_ns in np.unique(from_ns[is_over]).tolist():
                self._forget(stamp_ns, places[is_over & (from_ns == stamp_ns)])
            self._counts.add(source, Status.MISSING_EFFORT, int(is_over.sum()))

    def _forget(self, stamp_ns, places):
        """Let efforts be unknown from an instant on, after which other sources may have come."""
        at = sum(change[0] <= stamp_ns for change in self._changes)
        before = self._changes[max(at - 1, 0)][1]
        later = [(stamp_ns, before), *self._changes[at:]]
        self._changes[at:] = [(ns, _replaced(acting, places, np.nan)) for ns, acting in later]

    def _change(self, stamp_ns, places, values):
        acting = self._changes[-1][1] if self._changes else np.full(self._size, np.nan)
        if self._changes and self._changes[-1][0] == stamp_ns:
            self._changes.pop()
        self._changes.append((stamp_ns, _replaced(acting, places, values)))


def _replaced(acting, places, values):
    """Return efforts with other values at some places."""
    result = acting.copy()
    result[places] = values
    return result
