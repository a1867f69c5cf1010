"""Runs seeded problems in several processes, prints the table and writes it as JSON."""

from concurrent.futures import as_completed, ProcessPoolExecutor
import importlib
import json
import multiprocessing
import os
import time

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import long_picture
from .picture import draw
from .store import code_digest, RESULTS, Store
from .targets import evaluate

# Each is a module of this folder with TITLE, measure(seed) -> record, and lines(); one whose
# problems take long has MOST, which is how many are run at most.
STUDIES = (
    'p1',
    'p1_mocap',
    'p2',
    'p2_outliers',
    'p2_change',
    'p2_worn',
    'p2_friction',
    'p2_long',
    'p2_warming',
    'p2_delay',
    'frame_rates',
    'noise_scale',
    'identifiability',
    'late_mocap',
    'bad_mocap',
    'bad_frames',
    'p3',
    'p3_swing',
    'driven_elbow',
    'silent_elbow',
    'free_body',
    'mujoco_data',
    'seven_joints',
    'seven_joints_load',
    'seven_joints_worn',
    'panda',
    'panda_pushed',
    'panda_load',
    'xarm7',
    'arm_undisturbed',
    'arm_pushed',
    'arm_sharp',
    'arm_stribeck',
    'arm_long',
    'arm_at_rest',
    'arm_late',
    'arm_gains',
)
_COLUMNS = 190


def run(arguments):
    """Run what is missing, print and write the table, and tell whether all lines hold."""
    begin = time.perf_counter()
    names = arguments.study or STUDIES
    records = collect(names, arguments.seed, arguments.problems, arguments.processes)
    outcomes = [
        evaluate(name, line, records[name], arguments.seed)
        for name in names
        for line in study(name).lines()
    ]
    _print(outcomes)
    path = RESULTS / f'estimation_seed{arguments.seed}.json'
    path.write_text(json.dumps([_as_dict(o) for o in outcomes], indent=1) + '\n')
    if 'p2' in records:
        print(f'Drawn: {draw(records["p2"]).relative_to(RESULTS.parent)}')
    if 'p2_long' in records:
        path = long_picture.draw(records['p2_long'])
        print(f'Drawn: {path.relative_to(RESULTS.parent)}')
    missed = sum(not o.holds for o in outcomes)
    print(
        f'{len(outcomes)} lines, {missed} missed; seed {arguments.seed}, '
        f'{time.perf_counter() - begin:.0f} s; as JSON: {path.relative_to(RESULTS.parent)}'
    )
    return not missed


def study(name):
    """Return the module of a study."""
    return importlib.import_module(f'{__package__}.{name}')


def collect(names, seed, problems, processes):
    """Return study -> records of all problems, running those that are not in the store."""
    store = Store(code_digest())
    counts = {name: min(problems, getattr(study(name), 'MOST', problems)) for name in names}
    tasks = [
        (name, seed, index)
        for name, count in counts.items()
        for index in range(count)
        if store.find(name, seed, index) is None
    ]
    columns = (
        TextColumn('{task.description:<12}'),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    # Read by NumPy in the processes: matrices are small, and every core has its problem.
    os.environ['OPENBLAS_NUM_THREADS'] = '1'
    context = multiprocessing.get_context('spawn')
    with (
        Progress(*columns) as progress,
        ProcessPoolExecutor(processes, context, _use_one_thread) as pool,
    ):
        bars = {}
        for name, count in counts.items():
            done = count - sum(task[0] == name for task in tasks)
            bars[name] = progress.add_task(name, total=count, completed=done)
        waiting = {pool.submit(_measure, *task): task for task in tasks}
        for future in as_completed(waiting):
            store.add(*waiting[future], future.result())
            progress.advance(bars[waiting[future][0]])
    return {n: [store.find(n, seed, i) for i in range(count)] for n, count in counts.items()}


def _use_one_thread():
    """Set up a process: it shares the cores with the others."""
    import torch

    torch.set_num_threads(1)


def _measure(name, seed, index):
    return study(name).measure((seed, index))


def _print(outcomes):
    """Print the table, a line per target."""
    table = Table(box=box.SIMPLE, padding=(0, 1), row_styles=())
    table.add_column('name', no_wrap=True)
    for heading in ('target', 'measured', '99 % interval', 'problems'):
        table.add_column(heading, justify='right', no_wrap=True)
    table.add_column('read with', no_wrap=True)
    table.add_column('verdict', no_wrap=True)
    shown = None
    for o in outcomes:
        if o.study != shown:
            table.add_section()
            table.add_row(study(o.study).TITLE, style='bold')
            shown = o.study
        low, high = o.interval
        table.add_row(
            # Units in brackets are no markup.
            f'  {escape(o.line.name)}',
            o.line.wanted,
            f'{o.value:.3g}',
            f'{low:.3g} ... {high:.3g}',
            str(o.problems),
            '' if o.beside is None else f'{o.line.beside[0]} {o.beside:.3g}',
            o.verdict,
        )
    Console(width=_COLUMNS).print(table)


def _as_dict(outcome):
    line = outcome.line
    return {
        'study': outcome.study,
        'name': line.name,
        'band': line.band,
        'measured': outcome.value,
        'interval': outcome.interval,
        'problems': outcome.problems,
        'beside': None if line.beside is None else {line.beside[0]: outcome.beside},
        'verdict': outcome.verdict,
    }
