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

_BAND, _RESULTS = (0.80, 0.97), ROOT / 'results'
_HEADER = [
    'robot',
    'unknowns',
    'told',
    '90 % intervals',
    '99 % of it',
    'left of the prior',
    'filter after [s]',
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
    def holds(self):
        """Whether the share may be in its band, all can be built, and nothing has changed."""
        low, high = self.interval
        is_covered = high >= _BAND[0] and low <= _BAND[1]
        return is_covered and all(r['possible'] and not r['alarms'] for r in self.records)

    def median(self, key, form='.0f'):
        """Return the median of a number in words; a dash where some robots have none."""
        values = [record[key] for record in self.records]
        return '-' if None in values else f'{np.median(values):{form}}'

    def cells(self):
        """Return the row of the table."""
        low, high = self.interval
        built = sum(record['possible'] for record in self.records)
        return [
            KINDS[self.name].title,
            self.median('unknowns'),
            self.median('combinations'),
            f'{self.covered:.2f}',
            f'{low:.2f} ... {high:.2f}',
            self.median('left', '.1%'),
            self.median('began', '.1f'),
            self.median('frame', '.2f'),
            self.median('identify'),
            self.median('memory'),
            f'{built} of {len(self.records)}',
            str(sum(record['alarms'] for record in self.records)),
            'holds' if self.holds else 'MISSES',
        ]


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
    print(f'band of 90 % intervals: {_BAND[0]:.2f} ... {_BAND[1]:.2f}')
    print(f'as JSON: {path.relative_to(ROOT)}')
    return all(row.holds for row in rows) and not refused
