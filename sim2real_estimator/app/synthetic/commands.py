"""Efforts on their way to the motors: given at one instant, acting from a later one on."""

from collections import deque

import numpy as np


class LateCommands:
    """What acts when each command takes a constant time to act, never less than none."""

    def __init__(self, delays_ns):
        """Take the delay of every command [ns]."""
        delays_ns = np.array(delays_ns, dtype=int)
        found = np.unique(delays_ns).tolist()
        self._groups = [(late_ns, delays_ns == late_ns, deque()) for late_ns in found]
        self._acting = None

    def give(self, time_ns, efforts):
        """Take the efforts that are given at a time, none before the latest; the first act."""
        efforts = np.asarray(efforts, dtype=float)
        if self._acting is None:
            self._acting = efforts
        for late_ns, which, given in self._groups:
            given.append((time_ns + late_ns, np.where(which, efforts, 0.0)))

    def pieces(self, start_ns, end_ns):
        """Return (duration [s], efforts) of what acts from start to end, in the order of time."""
        found = []
        while (at := self._next_ns()) < end_ns:
            if at > start_ns:
                found.append((1e-9 * (at - start_ns), self._acting))
                start_ns = at
            for _, which, given in self._groups:
                if given and given[0][0] == at:
                    self._acting = np.where(which, given.popleft()[1], self._acting)
        return [*found, (1e-9 * (end_ns - start_ns), self._acting)]

    def _next_ns(self):
        """Return when the next of the efforts given begin to act."""
        return min((given[0][0] for _, _, given in self._groups if given), default=np.inf)
