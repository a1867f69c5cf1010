"""How often what happened to whose samples."""

from collections import Counter

from ..records import Status


class Counts:
    """Numbers of every `Status`, sensor by sensor."""

    def __init__(self):
        """Begin at zero."""
        self._numbers = Counter()

    def add(self, sensor, status, number=1):
        """Count a status of a sensor once, or `number` times."""
        if number:
            self._numbers[sensor, status] += number

    def of(self, sensor, status):
        """Return how often a status befell a sensor."""
        return self._numbers[sensor, status]

    def outcomes(self, sensor):
        """Return for how many samples of a sensor it is known what became of them."""
        return sum(
            n for (s, status), n in self._numbers.items() if s == sensor and status.is_outcome
        )

    def snapshot(self):
        """Return the numbers as plain values."""
        return tuple((s, status.value, n) for (s, status), n in self._numbers.items())

    def restore(self, saved):
        """Go on from a snapshot."""
        self._numbers = Counter({(s, Status(word)): n for s, word, n in saved})

    def table(self):
        """Return sensor -> {status in words: number}, in the order of names."""
        result = {}
        for (sensor, status), number in sorted(
            self._numbers.items(), key=lambda item: (item[0][0], item[0][1].value)
        ):
            result.setdefault(sensor, {})[status.value] = number
        return result
