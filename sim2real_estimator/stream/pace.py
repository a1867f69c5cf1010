"""The pace at which a source renews its efforts, by which one that is overdue is noticed."""

from collections import deque

# Number of latest intervals between messages that make the pace, and the fewest to know it.
_GAPS, _ENOUGH = 31, 8
# This quantile of the intervals is the longest usual one: a hole among them does not count.
_USUAL_PART = 0.9
# An effort is overdue after the usual interval times this factor and these nanoseconds: more than
# jitter, and too short for a stale effort to have an effect that encoders resolve.
_SLACK, _HARMLESS_NS = 1.5, 3_000_000


class Pace:
    """
    The latest efforts of one source, and how long each of them is held.

    It depends on stamps and values in the order of time only. An effort that changes all the
    time is missing when its renewal is overdue. One that has been constant for longer is held
    for as long as it has been constant.
    """

    def __init__(self, stamp_ns, values, since_ns=None, gaps=()):
        """Begin with a sample, values [n]; since_ns [n]: since when each is the same."""
        # Python's numbers, which are faster than arrays for a few joints; this runs every sample.
        self._stamp_ns, self._values = stamp_ns, tuple(values)
        self._since_ns = (stamp_ns,) * len(values) if since_ns is None else tuple(since_ns)
        self._gaps = deque(gaps, _GAPS)

    def snapshot(self):
        """Return the arguments that make an equal one, as plain values."""
        return self._stamp_ns, self._values, self._since_ns, tuple(self._gaps)

    def renew(self, stamp_ns, values):
        """Add the next sample."""
        self._gaps.append(stamp_ns - self._stamp_ns)
        self._since_ns = tuple(
            since_ns if value == before else stamp_ns
            for value, before, since_ns in zip(values, self._values, self._since_ns)
        )
        self._stamp_ns, self._values = stamp_ns, tuple(values)

    def holds_until(self, hold_ns, is_steady):
        """Return the stamp until which no effort is certainly overdue; arguments as `ends`."""
        if not is_steady or len(self._gaps) < _ENOUGH:
            return self._stamp_ns + hold_ns
        return self._stamp_ns + min(self._usual_and_overdue()[1], hold_ns)

    def _usual_and_overdue(self):
        """Return the usual interval between messages, and when one is overdue [ns]."""
        gaps = sorted(self._gaps)
        slow_ns = gaps[int(_USUAL_PART * (len(gaps) - 1))]
        return gaps[len(gaps) // 2], round(_SLACK * slow_ns) + _HARMLESS_NS

    def ends(self, hold_ns, is_steady):
        """
        Return stamps (from_ns, sure_ns), each [n], of efforts that are not renewed.

        They are unknown from the first stamp on, which is certain at the second. hold_ns: the
        longest time that any is held; is_steady: whether the pace says when one is due.
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
