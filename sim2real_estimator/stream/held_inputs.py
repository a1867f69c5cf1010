"""Efforts between their samples: each acts until the next of its source."""

from bisect import bisect_left, bisect_right
from operator import itemgetter

import numpy as np

from ..records import Status
from .pace import Pace

_instant = itemgetter(0)


class HeldInputs:
    """
    A zero-order hold over all commands, NaN where an effort is not known.

    What is overdue by the pace of its source, or has not been renewed for the hold time, is
    unknown from then on. Samples come in the order of time. Efforts that act late still act when
    the next frame has begun: as much of the past as `history_ns` stays at hand, and where it is
    known as much more as `past_ns`, which may matter or not. Those that act
    before their stamp are asked for before it: they come stamped earlier by `lead_ns`. A sample is
    stamped by when the first of its efforts acts. data_end_ns: stamp of the newest sample, where
    no more come.
    """

    def __init__(self, channels, size, times_ns, counts, is_steady=True):
        """
        Take name -> `InputChannel`, the number of commands, times and the `Counts`.

        times_ns: how long efforts are held, history, past and lead.

        is_steady: whether sources renew efforts at a steady pace, or only when they change.
        """
        self._places = {name: np.array(c.places, dtype=int) for name, c in channels.items()}
        self._further = {name: c.further_ns for name, c in channels.items()}
        # By how much later than its stamp a sample acts as a whole, None where parts of it do.
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
        """Return what acts, and how long it has done so, as plain values."""
        paces = {name: pace.snapshot() for name, pace in self._paces.items()}
        return tuple(self._changes), paces

    def restore(self, saved):
        """Go on from a snapshot."""
        changes, paces = saved
        self._changes = list(changes)
        self._paces = {name: Pace(*values) for name, values in paces.items()}
        self._held_until = {name: self._end_of(pace) for name, pace in self._paces.items()}

    def put(self, sample):
        """Let the efforts of a sample act from its stamp on."""
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
        Return ((from_ns, values), ...) for a time, its history and what follows within the lead.

        The first entry acts from before the history, or from the start where nothing is known.
        What is older is forgotten.
        """
        until_ns = end_ns + self._lead_ns
        # Nothing is overdue that could only come after the end of the data.
        self._expire(until_ns if self.data_end_ns is None else min(until_ns, self.data_end_ns))
        unknown = (start_ns, np.full(self._size, np.nan))
        # What begins to act with the frame does so in it, be it as short as it may.
        last = max(self._count(start_ns), bisect_left(self._changes, until_ns, key=_instant))
        found = self._changes[self._acting(start_ns - self._kept_ns) : last]
        found = _without_gaps(found, start_ns - self._history_ns)
        if not found or found[0][0] > start_ns:
            found = [unknown, *found]
        self._changes = self._changes[self._acting(end_ns - self._kept_ns) :]
        return tuple(found)

    def _count(self, instant):
        """Return how many changes there have been until an instant."""
        return bisect_right(self._changes, instant, key=_instant)

    def _acting(self, instant):
        """Return the place of the change that acts at an instant, or of the first after it."""
        return max(self._count(instant) - 1, 0)

    def _end_of(self, pace):
        return pace.holds_until(self._hold_ns, self._is_steady)

    def _expire(self, until_ns):
        """Let efforts that nobody has renewed become unknown."""
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
        """Let efforts of a source act, each from its time [n] on, or later; None: all of them."""
        places = self._places[source]
        act_ns = [begin + later for begin, later in zip(from_ns, self._further[source])]
        act_ns, which = np.array(act_ns), np.ones(len(act_ns), bool) if which is None else which
        for stamp_ns in np.unique(act_ns[which]).tolist():
            chosen = which & (act_ns == stamp_ns)
            self._act(stamp_ns, places[chosen], values[chosen])

    def _act(self, stamp_ns, places, values):
        """Let efforts act from an instant on; only others may have changed since."""
        at = bisect_right(self._changes, stamp_ns, key=_instant)
        acting = self._changes[max(at - 1, 0)][1] if self._changes else np.full(self._size, np.nan)
        later = [(stamp_ns, acting), *self._changes[at:]]
        if at and self._changes[at - 1][0] == stamp_ns:
            at -= 1
        self._changes[at:] = [(ns, _replaced(held, places, values)) for ns, held in later]


def _without_gaps(changes, until_ns):
    """Return changes from the last one on before which something was unknown, up to an instant."""
    first = 0
    for k, (_, values) in enumerate(changes[:-1]):
        if changes[k + 1][0] > until_ns:
            break
        if np.isnan(values).any():
            first = k + 1
    return changes[first:]


def _replaced(acting, places, values):
    """Return efforts with other values at some places."""
    result = acting.copy()
    result[places] = values
    return result
