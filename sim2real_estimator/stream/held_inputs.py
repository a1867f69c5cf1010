"""Efforts between their samples: a zero-order hold."""

from bisect import bisect_left, bisect_right
from operator import itemgetter

import numpy as np

from ..records import Status
from .pace import Pace

_instant = itemgetter(0)


class HeldInputs:
    """
    A zero-order hold over all commands, NaN where an effort is unknown.

    An effort that is overdue by the pace of its source, or was not renewed for the hold time, is
    unknown from then on. Samples come in the order of time, stamped by when the first of their
    efforts acts. Delayed efforts still act in the next frame, so that the past is kept for
    `history_ns`, and for `past_ns` more if it is known, in case delays turn out longer. Efforts
    that act before their stamp come stamped earlier by `lead_ns`. data_end_ns: stamp of the last
    sample at the end of the data, None before.
    """

    def __init__(self, channels, size, times_ns, counts, is_steady=True):
        """
        Begin with all efforts unknown.

        channels: name -> `InputChannel`; size: number of commands; times_ns: hold time, history,
        past and lead; counts: `Counts`; is_steady: whether sources renew efforts at a steady
        pace, or only when they change.
        """
        self._places = {name: np.array(c.places, dtype=int) for name, c in channels.items()}
        self._further = {name: c.further_ns for name, c in channels.items()}
        # Delay of a sample after its stamp; None where its values have several delays.
        self._alike_ns = {
            name: further[0] if len(set(further)) == 1 else None
            for name, further in self._further.items()
        }
        self._size, self._counts = size, counts
        self._hold_ns, self._history_ns, past_ns, self._lead_ns = times_ns
        self._kept_ns = self._history_ns + past_ns
        self._is_steady = is_steady
        self.data_end_ns = None
        self.clear()

    def clear(self):
        """Forget all efforts."""
        self._changes, self._paces, self._held_until = [], {}, {}

    def snapshot(self):
        """Return the efforts and the pace of each source, as plain values."""
        paces = {name: pace.snapshot() for name, pace in self._paces.items()}
        return tuple(self._changes), paces

    def restore(self, saved):
        """Continue from a snapshot."""
        changes, paces = saved
        self._changes = list(changes)
        self._paces = {name: Pace(*values) for name, values in paces.items()}
        self._held_until = {name: self._end_of(pace) for name, pace in self._paces.items()}

    def put(self, sample):
        """Set the efforts of a sample from its stamp on."""
        stamp_ns, numbers = sample.stamp_ns + self._lead_ns, sample.values.tolist()
        self._expire(stamp_ns)
        further_ns = self._alike_ns[sample.sensor]
        if further_ns is None:
            self._change(sample.sensor, [stamp_ns] * len(numbers), sample.values)
        else:
            self._act(stamp_ns + further_ns, self._places[sample.sensor], sample.values)
        pace = self._paces.get(sample.sensor)
        if pace is None:
            pace = self._paces[sample.sensor] = Pace(stamp_ns, numbers)
        else:
            pace.renew(stamp_ns, numbers)
        self._held_until[sample.sensor] = self._end_of(pace)
        self._counts.add(sample.sensor, Status.USED)

    def between(self, start_ns, end_ns):
        """
        Return ((from_ns, values [commands]), ...) for a time with its history and its lead.

        The first entry acts from before the history, or from the start where that is unknown.
        Older efforts are dropped.
        """
        until_ns = end_ns + self._lead_ns
        # Efforts after the end of the data are not overdue.
        self._expire(until_ns if self.data_end_ns is None else min(until_ns, self.data_end_ns))
        unknown = (start_ns, np.full(self._size, np.nan))
        # An effort that begins to act with the frame counts even in a frame of length zero.
        last = max(self._count(start_ns), bisect_left(self._changes, until_ns, key=_instant))
        found = self._changes[self._acting(start_ns - self._kept_ns) : last]
        found = _without_gaps(found, start_ns - self._history_ns)
        if not found or found[0][0] > start_ns:
            found = [unknown, *found]
        self._changes = self._changes[self._acting(end_ns - self._kept_ns) :]
        return tuple(found)

    def _count(self, instant):
        """Return the number of changes until an instant."""
        return bisect_right(self._changes, instant, key=_instant)

    def _acting(self, instant):
        """Return the index of the change that acts at an instant, or of the first after it."""
        return max(self._count(instant) - 1, 0)

    def _end_of(self, pace):
        return pace.holds_until(self._hold_ns, self._is_steady)

    def _expire(self, until_ns):
        """Set efforts to unknown that were not renewed in time."""
        for source, held_until_ns in self._held_until.items():
            if held_until_ns >= until_ns:
                continue
            from_ns, sure_ns = self._paces[source].ends(self._hold_ns, self._is_steady)
            places = self._places[source]
            is_over = np.isfinite(self._changes[-1][1][places])
            is_over &= np.array(sure_ns) < until_ns
            self._change(source, from_ns, np.full(len(places), np.nan), is_over)
            self._counts.add(source, Status.MISSING_EFFORT, int(is_over.sum()))

    def _change(self, source, from_ns, values, which=None):
        """Set efforts [n] of a source from their times [n] and delays on; which: None: all."""
        places = self._places[source]
        act_ns = [begin + later for begin, later in zip(from_ns, self._further[source])]
        act_ns, which = np.array(act_ns), np.ones(len(act_ns), bool) if which is None else which
        for stamp_ns in np.unique(act_ns[which]).tolist():
            chosen = which & (act_ns == stamp_ns)
            self._act(stamp_ns, places[chosen], values[chosen])

    def _act(self, stamp_ns, places, values):
        """Set efforts from an instant on; only other commands may have changed since."""
        at = bisect_right(self._changes, stamp_ns, key=_instant)
        acting = self._changes[max(at - 1, 0)][1] if self._changes else np.full(self._size, np.nan)
        later = [(stamp_ns, acting), *self._changes[at:]]
        if at and self._changes[at - 1][0] == stamp_ns:
            at -= 1
        self._changes[at:] = [(ns, _replaced(held, places, values)) for ns, held in later]


def _without_gaps(changes, until_ns):
    """Return the changes without those before the last unknown effort until an instant."""
    first = 0
    for k, (_, values) in enumerate(changes[:-1]):
        if changes[k + 1][0] > until_ns:
            break
        if np.isnan(values).any():
            first = k + 1
    return changes[first:]


def _replaced(acting, places, values):
    """Return efforts with some of them replaced."""
    result = acting.copy()
    result[places] = values
    return result
