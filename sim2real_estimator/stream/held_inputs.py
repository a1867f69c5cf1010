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
    before their stamp are asked for before it: they come stamped earlier by `lead_ns`. A sample is
    stamped by when the first of its efforts acts. data_end_ns: stamp of the newest sample, where
    no more come.
    """

    def __init__(self, channels, size, hold_ns, history_ns, lead_ns, counts, is_steady=True):
        """
        Take name -> `InputChannel`, the number of commands, times and the `Counts`.

        is_steady: whether sources renew efforts at a steady pace, or only when they change.
        """
        self._places = {name: np.array(c.places, dtype=int) for name, c in channels.items()}
        self._further = {name: np.array(c.further_ns, dtype=int) for name, c in channels.items()}
        self._size, self._counts = size, counts
        self._hold_ns, self._history_ns, self._lead_ns = hold_ns, history_ns, lead_ns
        self._is_steady = is_steady
        self.data_end_ns = None
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
        self._change(sample.sensor, np.full(len(sample.values), stamp_ns), sample.values)
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
        until_ns = end_ns + self._lead_ns
        # Nothing is overdue that could only come after the end of the data.
        self._expire(until_ns if self.data_end_ns is None else min(until_ns, self.data_end_ns))
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
            self._change(source, from_ns, np.full(len(places), np.nan), is_over)
            self._counts.add(source, Status.MISSING_EFFORT, int(is_over.sum()))

    def _change(self, source, from_ns, values, which=True):
        """Let those efforts of a source act, each from its time [n] on, or as much later."""
        act_ns, places = from_ns + self._further[source], self._places[source]
        for stamp_ns in np.unique(act_ns[which]).tolist():
            chosen = which & (act_ns == stamp_ns)
            self._act(stamp_ns, places[chosen], values[chosen])

    def _act(self, stamp_ns, places, values):
        """Let efforts act from an instant on; only others may have changed since."""
        at = sum(change[0] <= stamp_ns for change in self._changes)
        acting = self._changes[max(at - 1, 0)][1] if self._changes else np.full(self._size, np.nan)
        later = [(stamp_ns, acting), *self._changes[at:]]
        if at and self._changes[at - 1][0] == stamp_ns:
            at -= 1
        self._changes[at:] = [(ns, _replaced(held, places, values)) for ns, held in later]


def _replaced(acting, places, values):
    """Return efforts with other values at some places."""
    result = acting.copy()
    result[places] = values
    return result
