"""How often a source renews its efforts, and so when one is missing."""

from collections import deque

# The pace is that of so many gaps between messages; before there are a few, nobody knows it.
_GAPS, _ENOUGH = 31, 8
# Gaps up to this part of them count as usual: a hole among them does not.
_USUAL_PART = 0.9
# Later than usual gaps by this factor and these nanoseconds is no jitter; an effort that is stale
# for so short a time does nothing that encoders see.
_SLACK, _HARMLESS_NS = 1.5, 3_000_000


class Pace:
    """
    The latest efforts of one source, and how long each of them may be held.

    A function of stamps and values in the order of time. Efforts that change all the time are
    missing when their renewal is overdue. One that has been the same for longer is taken to stay
    so for as long as it has.
    """

    def __init__(self, stamp_ns, values, since_ns=None, gaps=()):
        """Begin with a sample, values [n]; since_ns [n]: since when each is the same."""
        # Numbers of Python: of a few joints they are faster than arrays, and this is every sample.
        self._stamp_ns, self._values = stamp_ns, tuple(values)
        self._since_ns = (stamp_ns,) * len(values) if since_ns is None else tuple(since_ns)
        self._gaps = deque(gaps, _GAPS)

    def snapshot(self):
        """Return what it takes to make an equal one, as plain values."""
        return self._stamp_ns, self._values, self._since_ns, tuple(self._gaps)

    def renew(self, stamp_ns, values):
        """Take the next sample."""
        self._gaps.append(stamp_ns - self._stamp_ns)
        self._since_ns = tuple(
            since_ns if value == before else stamp_ns
            for value, before, since_ns in zip(values, self._values, self._since_ns)
        )
        self._stamp_ns, self._values = stamp_ns, tuple(values)

    def holds_until(self, hold_ns, is_steady):
        """Return the stamp until which no effort is surely overdue; arguments as of `ends`."""
        if not is_steady or len(self._gaps) < _ENOUGH:
            return self._stamp_ns + hold_ns
        return self._stamp_ns + min(self._usual_and_overdue()[1], hold_ns)

    def _usual_and_overdue(self):
        """Return the usual gap between messages, and after how long one is overdue [ns]."""
        gaps = sorted(self._gaps)
        slow_ns = gaps[int(_USUAL_PART * (len(gaps) - 1))]
        return gaps[len(gaps) // 2], round(_SLACK * slow_ns) + _HARMLESS_NS

    def ends(self, hold_ns, is_steady):
        """
        Return (from_ns, sure_ns), each [n]: when efforts become unknown, and when that is sure.

        hold_ns: the longest that any is held; is_steady: whether a pace says when one is due.
        """
        longest_ns = self._stamp_ns + hold_ns
        if not is_steady or len(self._gaps) < _ENOUGH:
            longest = [longest_ns] * len(self._values)
            return longest, longest
        usual_ns, overdue_ns = self._usual_and_overdue()
        from_ns, sure_ns = [], []
        for since_ns in self._since_ns:
            constant_ns = self._stamp_ns - since_ns
            is_constant = constant_ns > overdue_ns
            after_ns = (constant_ns, constant_ns) if is_constant else (usual_ns, overdue_ns)
            from_ns.append(min(self._stamp_ns + after_ns[0], longest_ns))
            sure_ns.append(min(self._stamp_ns + after_ns[1], longest_ns))
        return from_ns, sure_ns
