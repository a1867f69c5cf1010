"""What of a recording is due by a steady clock: at a rate, paused, step by step, in a loop."""

from ..errors import DataError

_NANO = 1e9


class Playback:
    """
    A recording on its way.

    All times are in ns: `now_ns` by a steady clock, others in the recording. begin_ns, end_ns:
    between them it plays; is_paused; is_over: all was handed out, and it is not played again;
    rounds: how often it has begun anew.
    """

    def __init__(self, bag, topics, rate=1.0, start=0.0, is_looped=False):
        """
        Take a `BagReader` and the topics to play.

        rate: seconds of the recording in a second; start: of the recording, left out [s]. A
        DataError where nothing is left.
        """
        self._bag, self._topics = bag, tuple(topics)
        self._rate, self._is_looped = rate, is_looped
        self.begin_ns, self.end_ns = bag.begin_ns + round(start * _NANO), bag.end_ns
        if self.begin_ns >= self.end_ns:
            length = (bag.end_ns - bag.begin_ns) / _NANO
            raise DataError(f'{bag.path}: is {length:.1f} s long; begin before its end')
        self.is_paused, self.is_over, self.rounds = False, False, 0
        self._now_ns = 0
        self._rewind()

    def begin(self, now_ns):
        """Let it run from now on."""
        self._now_ns = now_ns

    def time_ns(self, now_ns):
        """Return where it is."""
        if self.is_paused:
            return self._time_ns
        return min(self.end_ns, self._time_ns + round(self._rate * (now_ns - self._now_ns)))

    def wait_ns(self, now_ns):
        """Return for how long nothing is due; not positive: something is."""
        if self.is_paused:
            return self.end_ns - self.begin_ns
        due_ns = self._next[1] if self._next else self.end_ns
        return round((due_ns - self.time_ns(now_ns)) / self._rate)

    def due(self, now_ns):
        """Yield (topic, bytes) of what is due and was not handed out yet."""
        time_ns = self.time_ns(now_ns)
        while self._next and self._next[1] <= time_ns:
            topic, _, content = self._next
            self._next = next(self._messages, None)
            yield topic, content
        if self._next is None and time_ns >= self.end_ns:
            self._end(now_ns)

    def toggle(self, now_ns):
        """Pause, or go on."""
        self._time_ns, self._now_ns = self.time_ns(now_ns), now_ns
        self.is_paused = not self.is_paused

    def step(self, now_ns):
        """Go on to the next message, which is due then, and pause there."""
        if not self.is_paused:
            self.toggle(now_ns)
        self._time_ns = self._next[1] if self._next else self.end_ns

    def before(self, topics):
        """Return topic -> bytes of the last message of each before the begin, if there is one."""
        if self.begin_ns == self._bag.begin_ns:
            return {}
        earlier = self._bag.messages(topics, self._bag.begin_ns, self.begin_ns)
        return {topic: content for topic, _, content in earlier}

    def _end(self, now_ns):
        if not self._is_looped:
            self.is_over = True
            return
        self.rounds, self._now_ns = self.rounds + 1, now_ns
        self._rewind()

    def _rewind(self):
        self._time_ns = self.begin_ns
        self._messages = self._bag.messages(self._topics, self.begin_ns, self.end_ns + 1)
        self._next = next(self._messages, None)
