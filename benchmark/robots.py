"""
Six robots of different kinds: `init`, a simulated recording, `identify`, nothing tuned by hand.

The truth of each is drawn from the priors that `init` writes; servos move its joints about,
encoders and efforts are measured at 250 Hz. Judged are the combinations of parameters in which
torques are linear.
"""

from concurrent.futures import as_completed, ProcessPoolExecutor
import json
import multiprocessing
import os
from pathlib import Path
import sys

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / 'test'))

from any_robot.kinds import KINDS  # noqa: E402
from any_robot.measuring import measure  # noqa: E402
from any_robot.table import BAND, HEADER, NEES_BAND, Row, words  # noqa: E402
from report import print_table  # noqa: E402

_RESULTS = ROOT / 'results'


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
    print_table(HEADER, [row.cells() for row in rows])
    _RESULTS.mkdir(exist_ok=True)
    path = _RESULTS / f'robots_seed{arguments.seed}.json'
    path.write_text(json.dumps({row.name: row.records for row in rows}, indent=1) + '\n')
    print(f'band of 90 % intervals: {words(BAND)}; of NEES / p: {words(NEES_BAND)}')
    print(f'as JSON: {path.relative_to(ROOT)}')
    return all(row.holds for row in rows) and not refused
