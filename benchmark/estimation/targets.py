"""Lines of the table: what is wanted, what was measured, and the verdict."""

from dataclasses import dataclass

import numpy as np

from .metrics import bootstrap, coverage, efficiency


@dataclass(frozen=True)
class Line:
    """
    One target.

    statistic: function of a list of records -> float, or NaN where they say nothing; band:
    (least, most), None where open; unit: 'share', '%', or ''; beside: the same for what has to
    be read together with it, as (name, statistic).
    """

    name: str
    statistic: object
    band: tuple
    unit: str = ''
    beside: tuple | None = None

    @property
    def wanted(self):
        """The band in words."""
        least, most = self.band
        if least is None:
            return f'<= {most:g}'
        return f'>= {least:g}' if most is None else f'{least:g} ... {most:g}'


@dataclass(frozen=True)
class Outcome:
    """A line that was measured; interval: of the statistic, by drawing problems again."""

    study: str
    line: Line
    problems: int
    value: float
    interval: tuple
    beside: float | None

    @property
    def holds(self):
        """Whether the interval meets the band."""
        least, most = self.line.band
        low, high = self.interval
        return (least is None or high >= least) and (most is None or low <= most)

    @property
    def verdict(self):
        """The verdict in a word."""
        return 'holds' if self.holds else 'MISSES'


def evaluate(study, line, records, seed):
    """Return the `Outcome` of a line from the records of all problems."""
    usable = [r for r in records if np.isfinite(line.statistic([r]))]

    def of(indices):
        return line.statistic([usable[i] for i in indices])

    interval = bootstrap(usable, of, np.random.default_rng(seed))
    beside = None if line.beside is None else line.beside[1](usable)
    return Outcome(study, line, len(usable), line.statistic(usable), interval, beside)


def median_error(mark):
    """Return the statistic of the median relative error [%] at a mark."""
    return _of_judgements(mark, 'error', lambda errors: 100 * np.median(np.abs(errors)))


def median_width(mark):
    """Return the statistic of the median relative standard deviation [%] at a mark."""
    return _of_judgements(mark, 'sd', lambda deviations: 100 * np.median(deviations))


def covered(mark, level):
    """Return the statistic of the coverage of middle intervals at a mark."""
    return _of_judgements(mark, 'rank', lambda ranks: coverage(ranks, level))


def median_nees(mark):
    """Return the statistic of the median squared error in the posterior's own metric."""
    return _of_judgements(mark, 'nees', np.median)


def efficient(mark):
    """Return the statistic of the efficiency at a mark."""
    return _of_judgements(mark, 'ratios', efficiency)


def share(key):
    """Return the statistic of the mean of a number that a record may have as None."""
    return _of_numbers(key, np.mean)


def total(key):
    """Return the statistic of the sum of a number."""
    return _of_numbers(key, np.sum)


def an_hour(key, seconds):
    """Return the statistic of how often an hour happens what is counted in runs of so long [s]."""
    return lambda records: float(3600 * np.mean([r[key] for r in records]) / seconds)


def coverage_lines(when, mark, beside):
    """Return the lines of coverage at a mark, each with what must stand beside it."""
    return [
        Line(f'50 % intervals, {when}', covered(mark, 0.5), (0.43, 0.57), 'share', beside),
        Line(f'90 % intervals, {when}', covered(mark, 0.9), (0.85, 0.95), 'share', beside),
    ]


def _of_judgements(mark, key, function):
    """Return the statistic of a part of the judgements at a mark; some have none there."""

    def statistic(records):
        values = [r[mark][key] for r in records if r[mark] is not None]
        return float(function(np.array(values))) if values else np.nan

    return statistic


def _of_numbers(key, function):
    def statistic(records):
        values = [r[key] for r in records if r[key] is not None]
        return float(function(values)) if values else np.nan

    return statistic
