"""Troubles of the inputs, each reported when it begins and when it ends."""

from dataclasses import dataclass

_NANO = 1e9
# For so long a topic may be silent, and joints may wait for another publisher [s].
_PATIENCE = 3.0
# So many other topics are named in a message.
_MOST_TOPICS = 5
# No latency and no drift of a clock is as large [s].
_HOURS = 3600.0

SILENT, CLOCK, NAMES, JUMP, RIVALS = 'silent', 'clock', 'names', 'jump', 'rivals'


@dataclass(frozen=True)
class Trouble:
    """
    Something that is wrong with a topic, or no longer is.

    kind: SILENT, CLOCK, NAMES, JUMP or RIVALS; text: what it is and what to do about it; seconds:
    how long it has been silent, or by how much the stamps jumped; has_ended.
    """

    kind: str
    topic: str
    text: str
    seconds: float | None = None
    has_ended: bool = False


class Watch:
    """Checks an `Input` now and then; `troubles` holds the present ones by kind."""

    def __init__(self, watched):
        """Take the `Input`."""
        self._input = watched
        self.begin(None)

    def begin(self, now):
        """Begin with no troubles; now: by a steady clock [s], None: it does not matter yet."""
        self._received, self._heard, self._first = self._input.received, now, None
        self._jumps, self._jumped = self._input.jumps, None
        self.troubles = {}

    def look(self, now, clock_ns):
        """
        Return the `Trouble`s that have begun or ended.

        now: by a steady clock [s]; clock_ns: the node's time, 0 where it has none yet.
        """
        if self._heard is None:
            self.begin(now)
        has_news = self._input.received > self._received
        if has_news:
            self._received, self._heard = self._input.received, now
            self._first = now if self._first is None else self._first
        found = {SILENT: self._silence(now), JUMP: self._jump(now), RIVALS: self._rivals()}
        if has_news:
            found[CLOCK] = self._clock(clock_ns)
            found[NAMES] = self._names(now)
        seconds = {SILENT: now - self._heard, JUMP: self._input.jump}
        changes = [self._change(kind, text, seconds.get(kind)) for kind, text in found.items()]
        return [change for change in changes if change]

    def _change(self, kind, text, seconds):
        """Record a trouble; return the `Trouble` where it begins or ends."""
        before = self.troubles.pop(kind, '')
        if text:
            self.troubles[kind] = text
        if bool(text) == bool(before):
            return None
        return Trouble(kind, self._input.topic, text or before, seconds, has_ended=not text)

    def _silence(self, now):
        if now - self._heard < _PATIENCE:
            return ''
        if SILENT in self.troubles:
            return self.troubles[SILENT]
        others = self._input.of_same_type()
        there = f'; of its type there is {", ".join(others[:_MOST_TOPICS])}' if others else ''
        return (
            'nothing comes in; see that somebody publishes it, under this name and in this '
            f'domain, or remap it{there}'
        )

    def _clock(self, clock_ns):
        stamp_ns = self._input.stamp_ns
        if not clock_ns or abs(clock_ns - stamp_ns) / _NANO < _HOURS:
            return ''
        hours = abs(clock_ns - stamp_ns) / _NANO / _HOURS
        side = 'behind' if stamp_ns < clock_ns else 'ahead of'
        return (
            f"stamps are {hours:.1f} hours {side} the node's clock; set use_sim_time where time "
            'is simulated or replayed, else synchronise the clocks'
        )

    def _jump(self, now):
        """Return the latest jump of stamps."""
        if self._input.jumps > self._jumps:
            self._jumps, self._jumped = self._input.jumps, now
        if self._jumped is None or now - self._jumped > _PATIENCE:
            return ''
        jump = self._input.jump
        return (
            f'stamps jumped {"back" if jump < 0 else "ahead"} by {abs(jump):.1f} s; what is known '
            'stays, what waited is left out; unless a bag is played again, see that one node '
            'publishes it and that its clock is not set'
        )

    def _rivals(self):
        """Return the names of several nodes that publish the same joints."""
        nodes = self._input.publishers()
        if len(nodes) < 2 or self._input.has_parts(len(nodes)):
            return ''
        return f'the nodes {", ".join(nodes)} publish the same; stop all but one, or remap'

    def _names(self, now):
        """Return which joints never come; several publishers may send a part of them each."""
        missing = [joint for joint in self._input.joints if joint not in self._input.names]
        if not missing or now - self._first < _PATIENCE:
            return ''
        return (
            f'no message has the joints {", ".join(missing)}; there are '
            f'{", ".join(sorted(self._input.names)) or "no names"}; publish them by the names of '
            'the robot description'
        )
