"""
Six robots of different kinds: `init`, a simulated recording, `identify`, nothing tuned by hand.

The truth of each is drawn from the priors that `init` writes; servos move its joints about,
encoders and efforts are measured at 250 Hz. Judged are the combinations of parameters in which
torques are linear.
"""

from concurrent.futures import as_completed, ProcessPoolExecutor
from dataclasses import dataclass
import json
import multiprocessing
import os
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / 'test'))

from any_robot.kinds import KINDS  # noqa: E402
from any_robot.measuring import measure  # noqa: E402
from estimation.metrics import bootstrap, coverage  # noqa: E402
import numpy as np  # noqa: E402
from report import print_table  # noqa: E402
from scipy.stats import chi2, norm  # noqa: E402

_BAND, _RESULTS = (0.80, 0.97), ROOT / 'results'
# Deviations that cover as little, or as much, are wrong by so much in their squares.
_NEES_BAND = tuple(float((norm.ppf(0.95) / norm.ppf((1 + c) / 2)) ** 2) for c in _BAND[::-1])
_CHANCE = 0.01
_HEADER = [
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
            'intervals': not _may_be_in(self.interval, _BAND),
            'NEES': not _may_be_in(self.nees_interval, _NEES_BAND),
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
            _words(self.interval),
            f'{self.nees:.2f}',
            _words(self.nees_interval),
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


def _words(interval):
    return f'{interval[0]:.2f} ... {interval[1]:.2f}'


def run(arguments):
    """Measure, print the table, and tell whether all rows hold."""
    wanted = {name: KINDS[name] for name in arguments.robot or KINDS}
    there = {name: kind for name, kind in wanted.items() if kind.exists}
    for name in wanted.keys() - there.keys():
        print(f'{name}: left out, as example-robot-data is not installed or has no such file')
    if not there:
        return True
    seeds = range(arguments.seed, arguments.seed + arguments.robot_seeds)
    # Read by NumPy in the processes: every core has its robot.
    os.environ |= dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'), '1')
    context, found = multiprocessing.get_context('spawn'), {}
    # A process for each, so that its memory is its own.
    with ProcessPoolExecutor(arguments.processes, context, max_tasks_per_child=1) as pool:
        tasks = {
            pool.submit(measure, kind, seed): (name, seed)
            for name, kind in there.items()
            for seed in seeds
        }
        for task in as_completed(tasks):
            found[tasks[task]] = task.result()
            name, seed = tasks[task]
            reason = task.result().get('refused')
            print(
                f'{name}, seed {seed}: {"MISSES: " + reason if reason else "measured"}', flush=True
            )
    refused = {name for name, seed in found if 'refused' in found[name, seed]}
    rows = [
        Row(name, tuple(found[name, s] for s in seeds), arguments.seed)
        for name in there
        if name not in refused
    ]
    print()
    print_table(_HEADER, [row.cells() for row in rows])
    _RESULTS.mkdir(exist_ok=True)
    path = _RESULTS / f'robots_seed{arguments.seed}.json'
    path.write_text(json.dumps({row.name: row.records for row in rows}, indent=1) + '\n')
    print(f'band of 90 % intervals: {_words(_BAND)}; of NEES / p: {_words(_NEES_BAND)}')
    print(f'as JSON: {path.relative_to(ROOT)}')
    return all(row.holds for row in rows) and not refused
