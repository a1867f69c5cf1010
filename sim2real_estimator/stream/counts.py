"""Counts of what became of the samples of each sensor."""

from collections import Counter

from ..records import Status


class Counts:
    """The number of samples of each sensor and `Status`."""

    def __init__(self):
        """Begin at zero."""
        self._numbers = Counter()

    def add(self, sensor, status, number=1):
        """Add `number` samples of a sensor with a status."""
        if number:
            self._numbers[sensor, status] += number

    def of(self, sensor, status):
        """Return the number of samples of a sensor with a status."""
        return self._numbers[sensor, status]

    def outcomes(self, sensor):
        """Return the number of samples of a sensor whose outcome is known."""
        return sum(
            n for (s, status), n in self._numbers.items() if s == sensor and status.is_outcome
        )

    def snapshot(self):
        """Return the numbers as plain values."""
        return tuple((s, status.value, n) for (s, status), n in self._numbers.items())

    def restore(self, saved):
        """Continue from a snapshot."""
        self._numbers = Counter({(s, Status(word)): n for s, word, n in saved})

    def table(self):
        """Return sensor -> {value of a `Status`: number}, sorted by name."""
        result = {}
        for (sensor, status), number in sorted(
            self._numbers.items(), key=lambda item: (item[0][0], item[0][1].value)
        ):
            result.setdefault(sensor, {})[status.value] = number
        return result
