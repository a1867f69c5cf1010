"""A buffer that puts the samples of several sensors into the order of their stamps."""

import heapq

from ..records import Status


class TimeBuffer:
    """
    Holds samples back for the lateness window, so that late ones can still take their place.

    A sample is released when it is older than the newest by more than the window, all samples of
    one stamp together, in the order of (stamp, sensor). Whether one is late depends on stamps
    only, neither on the wall clock nor on when `ready` is called.
    """

    def __init__(self, lateness_ns, jump_ns, aheads):
        """
        Begin without samples.

        lateness_ns: the window; jump_ns: by how much a stamp of a sensor may go back; aheads:
        sensor -> by how many nanoseconds its clock may be ahead of the others, whose samples are
        not late because of that.
        """
        self._lateness_ns, self._jump_ns, self._aheads = lateness_ns, jump_ns, dict(aheads)
        # (stamp, sensor) of those that wait, as a heap and with their samples.
        self._heap, self._waiting, self._last, self._floor_ns = [], {}, {}, None

    def __len__(self):
        return len(self._heap)

    def clear(self):
        """Begin again, and return the samples that were waiting."""
        waiting = [self._waiting[key] for key in self._heap]
        self._heap, self._waiting, self._last, self._floor_ns = [], {}, {}, None
        return waiting

    def snapshot(self):
        """Return the samples that wait and the latest stamps, as plain values."""
        waiting = tuple(self._waiting[key] for key in self._heap)
        return waiting, dict(self._last), self._floor_ns

    def restore(self, saved):
        """Continue from a snapshot."""
        waiting, last, self._floor_ns = saved
        self._waiting = {(sample.stamp_ns, sample.sensor): sample for sample in waiting}
        self._heap, self._last = list(self._waiting), dict(last)

    def push(self, sample):
        """
        Add a sample and return USED; any other `Status` says why it is left out.

        JUMPED_BACK means that its clock was set back: the caller has to clear the buffer.
        """
        stamp, last = sample.stamp_ns, self._last.get(sample.sensor)
        if last is not None and stamp + sample.moved_ns == 0:
            # Simulated time begins at zero; a later zero means that the stamp was not set.
            return Status.UNSTAMPED
        if last is not None and last - stamp > self._jump_ns:
            return Status.JUMPED_BACK
        # LATE goes before REPEATED: which samples still wait depends on when `ready` was called.
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
        """Return the samples of the next stamp if no earlier one can come any more, else []."""
        if not self._heap or self._heap[0][0] >= self._floor_ns:
            return []
        ready, stamp = [], self._heap[0][0]
        while self._heap and self._heap[0][0] == stamp:
            ready.append(self._waiting.pop(heapq.heappop(self._heap)))
        return ready

    def drop_before(self, stamp):
        """Remove the samples that wait of earlier stamps, and return them."""
        dropped = []
        while self._heap and self._heap[0][0] < stamp:
            dropped.append(self._waiting.pop(heapq.heappop(self._heap)))
        return dropped

    def newest(self):
        """Return sensor -> stamp of its newest sample."""
        return dict(self._last)

    @property
    def floor_ns(self):
        """The stamp before which no sample can come any more [ns]; None before any sample."""
        return self._floor_ns

    def stamps(self, sensor):
        """Return the stamps of a sensor's samples that wait."""
        return [stamp for stamp, name in self._heap if name == sensor]

    def flush(self):
        """Make all samples ready at the end of the data."""
        if self._heap:
            self._floor_ns = max(self._heap)[0] + 1
