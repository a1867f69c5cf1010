"""What is said of the robots of a kind, and whether it holds."""

from dataclasses import dataclass

from estimation.metrics import bootstrap, coverage
import numpy as np
from scipy.stats import chi2, norm

from .kinds import KINDS

BAND = (0.80, 0.97)
# Deviations that cover as little, or as much, are wrong by so much in their squares.
NEES_BAND = tuple(float((norm.ppf(0.95) / norm.ppf((1 + c) / 2)) ** 2) for c in BAND[::-1])
_CHANCE = 0.01
HEADER = [
    'robot',
    'unknowns',
    'told',
    '90 % intervals',
    '99 % of it',
    'NEES / p',
    '99 % of it',
    'left of the prior',
    'filter took over',
    'after [s]',
    'frame [ms]',
    'identify [s]',
    'memory [MiB]',
    'can be built',
    'false changes',
    'verdict',
]


@dataclass(frozen=True)
class Row:
    """What was measured of a kind of robot; records: one for each seed, of `measure`."""

    name: str
    records: tuple
    seed: int

    @property
    def covered(self):
        """The share of truths in the middle 90 % of the posterior."""
        return coverage(np.concatenate([record['rank'] for record in self.records]), 0.9)

    @property
    def interval(self):
        """The 99 % interval of that share, by drawing combinations of all robots again."""
        ranks = np.concatenate([record['rank'] for record in self.records])
        draw = np.random.default_rng(self.seed)
        return bootstrap(ranks, lambda which: coverage(ranks[which], 0.9), draw)

    @property
    def _squares(self):
        """The sum of squared errors in the metric of the posteriors, and how many there are."""
        count = sum(record['combinations'] for record in self.records)
        return sum(record['nees'] * record['combinations'] for record in self.records), count

    @property
    def nees(self):
        """The mean squared error in the metric of the posteriors, one where they are right."""
        total, count = self._squares
        return total / count

    @property
    def nees_interval(self):
        """The 99 % interval of its expectation."""
        total, count = self._squares
        return tuple(total / chi2.ppf([1 - _CHANCE / 2, _CHANCE / 2], count))

    @property
    def misses(self):
        """What is wanting: a robot whose filter did not take over, was not identified."""
        wanting = {
            'no hand-over': any(record['began'] is None for record in self.records),
            'intervals': not _may_be_in(self.interval, BAND),
            'NEES': not _may_be_in(self.nees_interval, NEES_BAND),
            'draws': not all(record['possible'] for record in self.records),
            'false changes': any(record['alarms'] for record in self.records),
        }
        return [word for word, is_so in wanting.items() if is_so]

    @property
    def holds(self):
        """Whether nothing is wanting."""
        return not self.misses

    def median(self, key, form='.0f'):
        """Return the median of a number in words, of those robots that have one."""
        values = [record[key] for record in self.records if record[key] is not None]
        return f'{np.median(values):{form}}' if values else '-'

    def count(self, is_so):
        """Return in words for how many records a function holds."""
        return f'{sum(map(is_so, self.records))} of {len(self.records)}'

    def cells(self):
        """Return the row of the table."""
        return [
            KINDS[self.name].title,
            self.median('unknowns'),
            self.median('combinations'),
            f'{self.covered:.2f}',
            words(self.interval),
            f'{self.nees:.2f}',
            words(self.nees_interval),
            self.median('left', '.1%'),
            self.count(lambda record: record['began'] is not None),
            self.median('began', '.1f'),
            self.median('frame', '.2f'),
            self.median('identify'),
            self.median('memory'),
            self.count(lambda record: record['possible']),
            str(sum(record['alarms'] for record in self.records)),
            'holds' if self.holds else f'MISSES: {", ".join(self.misses)}',
        ]


def _may_be_in(interval, band):
    return interval[1] >= band[0] and interval[0] <= band[1]


def words(interval):
    """Return the ends of an interval as text."""
    return f'{interval[0]:.2f} ... {interval[1]:.2f}'
