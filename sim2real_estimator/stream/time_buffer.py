"""Samples of several sensors, put in the order of their stamps."""

import heapq

from ..records import Status


class TimeBuffer:
    """
    Holds samples back for a while, so that late ones can still take their place.

    A sample is let go when it is older than the newest by more than the lateness window, all of
    one stamp together, in the order of (stamp, sensor). Whether one is late depends on stamps
    only, not on when somebody asks. The wall clock is never looked at.
    """

    def __init__(self, lateness_ns, jump_ns, aheads):
        """
        Take the lateness window, and by how much a stamp of a sensor may go back.

        aheads: sensor -> by how many nanoseconds its clock may be ahead of the others, whose
        samples are not late for that.
        """
        self._lateness_ns, self._jump_ns, self._aheads = lateness_ns, jump_ns, dict(aheads)
        # (stamp, sensor) of those that wait, as a heap and with their samples.
        self._heap, self._waiting, self._last, self._floor_ns = [], {}, {}, None

    def __len__(self):
        return len(self._heap)

    def clear(self):
        """Forget everything, and return the samples that were waiting."""
        waiting = [self._waiting[key] for key in self._heap]
        self._heap, self._waiting, self._last, self._floor_ns = [], {}, {}, None
        return waiting

    def snapshot(self):
        """Return what waits and what was seen, as plain values."""
        waiting = tuple(self._waiting[key] for key in self._heap)
        return waiting, dict(self._last), self._floor_ns

    def restore(self, saved):
        """Go on from a snapshot."""
        waiting, last, self._floor_ns = saved
        self._waiting = {(sample.stamp_ns, sample.sensor): sample for sample in waiting}
        self._heap, self._last = list(self._waiting), dict(last)

    def push(self, sample):
        """
        Take a sample in and return USED; any other `Status` says why it is left out.

        JUMPED_BACK means that its clock was set back: clear everything and begin again.
        """
        stamp, last = sample.stamp_ns, self._last.get(sample.sensor)
        if last is not None and stamp + sample.moved_ns == 0:
            # Simulated time begins at zero; later it only says that nobody has set the stamp.
            return Status.UNSTAMPED
        if last is not None and last - stamp > self._jump_ns:
            return Status.JUMPED_BACK
        # Late comes before repeated: what still waits depends on when somebody asked.
        if self._floor_ns is not None and stamp < self._floor_ns and stamp != last:
            return Status.LATE
        key = stamp, sample.sensor
        if stamp == last or key in self._waiting:
            return Status.REPEATED
        heapq.heappush(self._heap, key)
        self._waiting[key] = sample
        self._last[sample.sensor] = stamp if last is None else max(stamp, last)
        floor = stamp - self._aheads.get(sample.sensor, 0) - self._lateness_ns
        self._floor_ns = floor if self._floor_ns is None else max(floor, self._floor_ns)
        return Status.USED

    def ready(self):
        """Return the samples of the next stamp if no earlier one can come any more, else none."""
        if not self._heap or self._heap[0][0] >= self._floor_ns:
            return []
        ready, stamp = [], self._heap[0][0]
        while self._heap and self._heap[0][0] == stamp:
            ready.append(self._waiting.pop(heapq.heappop(self._heap)))
        return ready

    def newest(self):
        """Return sensor -> stamp of its newest sample."""
        return dict(self._last)

    @property
    def floor_ns(self):
        """No earlier stamp can come any more [ns]; None before any sample."""
        return self._floor_ns

    def stamps(self, sensor):
        """Return the stamps of a sensor's samples that wait."""
        return [stamp for stamp, name in self._heap if name == sensor]

    def flush(self):
        """Make all samples ready: the data have come to their end."""
        if self._heap:
            self._floor_ns = max(self._heap)[0] + 1
