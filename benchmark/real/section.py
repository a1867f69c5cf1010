"""
Real arms: held-out torques and motion, calibration, agreement with least squares, and payloads.

The recordings are not part of the repository; `recordings` tells where they come from.
"""

from concurrent.futures import as_completed, ProcessPoolExecutor
from dataclasses import dataclass
import json
import multiprocessing
import os
from pathlib import Path
import time
import traceback

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy.stats import binomtest

from . import agreement, calibration, changes, picture
from .open_loop import LEADS, open_loop
from .prediction import predict
from .recordings import trials

PARTS = ('torque', 'open_loop', 'calibration', 'agreement', 'payload', 'alarms')
_RESULTS = Path(__file__).resolve().parents[2] / 'results'
# Largest torque errors on held-out data [%], and beside least squares of the same prior.
_ERRORS = {'TX40': 6.5, 'TIAGo': 10.5, 'Panda': 1.25, 'UR10e': 4.2}
_OF_LEAST_SQUARES = 1.0
# What draws' 90 % intervals hold of the positions that open loop leads to.
_HELD = (0.80, 0.97)
_SHARES = {'90 % intervals': (0.85, 0.97), '50 % intervals': (0.40, 0.62), 'NEES': (0.4, 1.4)}
# A load is named after so many seconds of motion, and its mass off by so much at marks [s, kg].
_NAMED_AFTER, _MASS_ERRORS = 4.0, {5.0: 0.2, 10.0: 0.05}
# Of these all armatures and friction have to agree with least squares; what is called identified
# is off by no more standard deviations on any robot.
_AGREEING, _OFF = ('TX40', 'Panda'), 3.0
_COLUMNS = 150


@dataclass(frozen=True)
class Line:
    """
    A measured number and what is wanted of it: from least to most, None where open.

    interval: that holds what the number is about, where it was counted on few cases.
    """

    group: str
    name: str
    value: float
    least: float | None = None
    most: float | None = None
    beside: str = ''
    interval: tuple | None = None

    @property
    def is_target(self):
        """Whether anything is wanted."""
        return self.least is not None or self.most is not None

    @property
    def holds(self):
        """Whether the number is within its bounds; one that is missing is not."""
        return self._meets(self.value, self.value)

    @property
    def is_open(self):
        """Whether the number is outside, but there are too few cases to tell."""
        return not self.holds and self.interval is not None and self._meets(*self.interval)

    def _meets(self, low, high):
        return (self.least is None or high >= self.least) and (
            self.most is None or low <= self.most
        )

    @property
    def wanted(self):
        """The bounds in words."""
        if not self.is_target:
            return ''
        if self.least is None:
            return f'<= {self.most:g}'
        return f'>= {self.least:g}' if self.most is None else f'{self.least:g} ... {self.most:g}'

    @property
    def verdict(self):
        """The verdict in a word."""
        if not self.is_target:
            return ''
        return 'holds' if self.holds else 'open' if self.is_open else 'MISSES'


def run(arguments):
    """Measure what there are recordings for, print the table, and tell whether all lines hold."""
    data = arguments.data or os.environ.get('REAL_DATA')
    shared = arguments.shared or os.environ.get('REAL_SHARED')
    begin, parts = time.perf_counter(), arguments.real_part or PARTS
    tasks, missing = _tasks(parts, data, shared, arguments)
    for what, why in missing.items():
        print(f'{what}: left out, as its recordings are not there: {why}')
    if not tasks:
        print('Give folders of recordings by --data and --shared.')
        return True
    found = _measured(tasks, arguments.processes)
    lines = [
        line
        for part in parts
        for line in _LINES[part]({key[1:]: r for key, r in found.items() if key[0] == part})
    ]
    _print(lines)
    _RESULTS.mkdir(exist_ok=True)
    path = _RESULTS / 'real.json'
    # Of a posterior only what was said on the way to it.
    records = {
        ' / '.join(map(str, key)): record[1:] if isinstance(record, tuple) else record
        for key, record in found.items()
    }
    rows = [vars(line) | {'verdict': line.verdict} for line in lines]
    path.write_text(json.dumps({'lines': rows, 'records': records}, indent=1, default=str) + '\n')
    missed = sum(line.verdict == 'MISSES' for line in lines)
    print(
        f'{sum(line.is_target for line in lines)} targets, {missed} missed, '
        f'{sum(line.verdict == "open" for line in lines)} open as cases are too few; '
        f'{time.perf_counter() - begin:.0f} s; as JSON: {path.relative_to(_RESULTS.parent)}'
    )
    return not missed


def _tasks(parts, data, shared, arguments):
    """Return (key -> (function, argument) of all that is to be measured, what -> why not)."""
    robots, tasks, missing = arguments.real_robot, {}, {}
    for part, function in {'torque': predict, 'open_loop': open_loop}.items():
        if part in parts:
            all_trials, missing = trials(data, shared)
            for trial in all_trials:
                robot = trial.training.robot.title
                tasks[part, robot, trial.training.name] = function, trial
    if 'agreement' in parts:
        sets, lacking = agreement.sets(data, shared)
        missing |= lacking
        for robot, recordings in sets.items():
            for recording in recordings:
                tasks['agreement', robot, recording.name] = agreement.agree, recording
    if 'calibration' in parts:
        pairs, lacking = calibration.comparisons(data, shared)
        missing |= lacking
        for robot, of_robot in pairs.items():
            for k, pair in enumerate(of_robot):
                for which, recording in zip(('one', 'rest'), pair):
                    tasks['calibration', robot, k, which] = calibration.part_of, recording
    if 'picture' in parts:
        # Beside what is measured, so it is drawn only where it is asked for.
        tasks['picture', 'UR10e'] = picture.draw, data
    try:
        if 'payload' in parts:
            for k, splice in enumerate(changes.splices(data)):
                tasks['payload', 'UR10e', k] = _take_up, splice
        if 'alarms' in parts:
            pairs = changes.unchanged(data, arguments.real_pairs, arguments.seed)
            for k, pair in enumerate(pairs):
                tasks['alarms', 'UR10e', k] = changes.alarms_of, pair
    except OSError as error:
        missing['UR10e'] = str(error)
    wanted = {key: task for key, task in tasks.items() if not robots or key[1] in robots}
    return wanted, {title: missing[title] for title in missing if not robots or title in robots}


def _take_up(splice):
    return changes.take_up(*splice)


def _measured(tasks, processes):
    """Return key -> what came of a task, or the words of the error that it ended in."""
    os.environ |= dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'), '1')
    context, found = multiprocessing.get_context('spawn'), {}
    with ProcessPoolExecutor(processes, context, _use_one_thread) as pool:
        waiting = {pool.submit(_attempt, *task): key for key, task in tasks.items()}
        for number, future in enumerate(as_completed(waiting), 1):
            key = waiting[future]
            found[key] = future.result()
            is_bad = isinstance(found[key], str)
            text = f'FAILED\n{found[key]}' if is_bad else 'measured'
            print(f'[{number}/{len(tasks)}] {" / ".join(map(str, key))}: {text}', flush=True)
    return {key: found[key] for key in tasks}


def _attempt(function, argument):
    """Return what a function makes of its argument; an estimator that fails is an outcome."""
    try:
        return function(argument)
    except Exception:
        return traceback.format_exc()


def _use_one_thread():
    """Set up a process: it shares the cores with the others."""
    import torch

    torch.set_num_threads(1)


# ------------------------------------------------------------------------------ lines of the table
def _torque_lines(found):
    """Return the `Line`s of torque errors [%]; found: (robot, recording) -> record."""
    lines = []
    for (robot, name), record in found.items():
        group = f'torque on held-out data [%], {robot}, {name}'
        if isinstance(record, str):
            lines.append(Line(group, 'ours', np.nan, most=_ERRORS[robot], beside='failed'))
            continue
        words = {
            'nominal': 'the description',
            'plain': 'least squares, no prior',
            'coupled': 'the same, coupled joints',
            'columns': 'our columns, no prior',
            'prior': 'our columns and prior',
        }
        lines += [Line(group, words[key], record[key]) for key in words if key in record]
        joints = ' '.join(f'{error:.0f}' for error in record['joints'])
        lines += [
            Line(group, 'ours', record['ours'], most=_ERRORS[robot], beside=f'joints {joints}'),
            Line(
                group,
                'ours / our columns and prior',
                record['ours'] / record['prior'],
                most=_OF_LEAST_SQUARES,
                beside=f'{record["used"]:.3f} CPU s/s of {record["seconds"]:.0f} s',
            ),
        ]
    return lines


def _open_loop_lines(found):
    """Return the `Line`s of open loop [mrad]; found: (robot, recording) -> record."""
    lines = []
    words = {
        'nominal': 'the description',
        'plain': 'least squares, no prior',
        'prior': 'our columns and prior',
        'ours': 'ours',
    }
    for (robot, name), record in found.items():
        group = f'open loop on held-out data [mrad], {robot}, {name}'
        if isinstance(record, str):
            lines.append(Line(group, 'ours', np.nan, most=0, beside='failed'))
            continue
        group += f', {record["starts"]} starts'
        joints = ' '.join(f'{share:.2f}' for share in record['joints'])
        for lead in LEADS:
            most = 1e3 * record['errors']['nominal'][lead]
            for way, title in words.items():
                wanted = most if way == 'ours' else None
                error = 1e3 * record['errors'][way][lead]
                lines.append(Line(group, f'after {lead:g} s: {title}', error, None, wanted))
            beside = f'joints {joints}' if lead == LEADS[-1] else ''
            held, starts = record['inside'][lead], record['starts']
            # Joints of one start are no cases of their own.
            test = binomtest(round(held * starts), starts)
            interval = tuple(test.proportion_ci(calibration.SURE))
            title = f'after {lead:g} s: in 90 % of draws'
            lines.append(Line(group, title, held, *_HELD, beside, interval))
    return lines


def _calibration_lines(found):
    """Return the `Line`s of calibration; found: (robot, pair, 'one' or 'rest') -> result."""
    lines, scores, failed = [], {}, {}
    for robot, k, which in found:
        two = found[robot, k, 'one'], found[robot, k, 'rest']
        if which == 'one' and any(isinstance(each, str) for each in two):
            failed[robot] = failed.get(robot, 0) + 1
        elif which == 'one':
            learned = calibration.LEARNED
            if robot != 'UR10e':
                learned = calibration.LEARNED_OF_HALVES
            for group, away in calibration.compare(two[0][0], two[1][0], learned).items():
                scores.setdefault((robot, group), []).append(away)
    for robot, count in failed.items():
        lines.append(Line(f'calibration, {robot}', 'pairs that failed', count, most=0))
    for (robot, group), away in scores.items():
        joined = np.concatenate(away)
        worst = max((np.mean(np.square(each)) for each in away if each), default=np.nan)
        title = f'calibration, {robot}, {group}: {joined.size} learned directions'
        for (name, band), judged in zip(_SHARES.items(), calibration.judged(joined)):
            value, *interval = judged
            beside = f'99 % of it {interval[0]:.2f} ... {interval[1]:.2f}'
            beside += f', worst pair {worst:.2f}' if name == 'NEES' else ''
            # Friction is not the same on two days: only that intervals are not too narrow.
            wanted = band if group != 'friction' or name == '90 % intervals' else (None, None)
            if group == 'friction':
                wanted = (wanted[0], None)
            lines.append(Line(title, name, value, *wanted, beside, tuple(interval)))
    return lines


def _agreement_lines(found):
    """Return the `Line`s of agreement with least squares; found: (robot, recording) -> result."""
    lines = []
    for robot in dict.fromkeys(robot for robot, _ in found):
        group = f'agreement with least squares without prior, {robot}'
        results = {name: each for (title, name), each in found.items() if title == robot}
        failed = [name for name, each in results.items() if isinstance(each, str)]
        if failed:
            lines.append(Line(group, 'recordings that failed', len(failed), most=0))
        good = {name: each for name, each in results.items() if name not in failed}
        if any(good.values()):
            lines += _agreement_of(group, good, robot in _AGREEING)
    return lines


def _agreement_of(group, results, is_wanted):
    """Return the `Line`s of a robot; results: recording -> `Compared` of parameters."""
    every = [(each, name) for name, compared in results.items() for each in compared]

    def told(number, chosen, of=None, most=None):
        """Return a line of how many of some parameters are so, with their names."""
        places = [f' in {name}' if len(results) > 1 else '' for _, name in chosen]
        names = ', '.join(each.name + place for (each, _), place in zip(chosen, places))
        beside = f'of {len(of)}{": " if chosen else ""}{names}' if of is not None else names
        return Line(group, number, len(chosen), None, most, beside)

    wanted = [pair for pair in every if pair[0].is_wanted]
    certain = [pair for pair in every if pair[0].verdict == 'identified']
    scores = [abs(each.score) for each, _ in every]
    worst, where = every[int(np.argmax(scores))]
    plain = [pair for pair in every if abs(pair[0].plain_score) > _OFF]
    apart, off = [pair for pair in wanted if pair[0].is_outside], f'off by more than {_OFF:g} sd'
    return [
        Line(group, 'parameters compared', len(every), beside=f'recordings: {len(results)}'),
        Line(group, 'difference [sd], median', float(np.median(scores))),
        Line(group, 'difference [sd], largest', max(scores), beside=f'{worst.name} in {where}'),
        told(off, [pair for pair in every if abs(pair[0].score) > _OFF], every),
        told('armature, friction: intervals apart', apart, wanted, 0 if is_wanted else None),
        told(f'identified, {off}', [p for p in certain if abs(p[0].score) > _OFF], certain, 0),
        told('least squares: below zero', [pair for pair in wanted if pair[0].is_below]),
        told(f'not read as zero: {off}', plain),
    ]


def _payload_lines(found):
    """Return the `Line`s of loads that are picked up; found: (robot, splice) -> record."""
    group = 'payload picked up at a rest, UR10e'
    records = [record for record in found.values() if not isinstance(record, str)]
    if not found:
        return []
    if not records:
        return [Line(group, 'splices that failed', len(found), most=0)]
    times = [np.inf if r['named'] is None else r['named'] for r in records]
    share = np.mean([time <= _NAMED_AFTER for time in times])
    links = sorted({str(r['link']) for r in records})
    errors = np.array([r['errors'] for r in records])
    inside = np.mean([r['inside'] for r in records], 0)
    lines = [
        Line(group, 'splices', len(found), least=len(changes.SPLICES)),
        Line(
            group, f'named within {_NAMED_AFTER:g} s of motion', share, 1.0, None, ' '.join(links)
        ),
        Line(group, 'latest named [s]', max(times), most=_NAMED_AFTER),
    ]
    for k, mark in enumerate(changes.MARKS):
        beside = f'worst {errors[:, k].max():.2f}, within 90 % {inside[k]:.2f}'
        name, most = f'error of mass at +{mark:g} s [kg], median', _MASS_ERRORS.get(mark)
        lines.append(Line(group, name, float(np.median(errors[:, k])), None, most, beside))
    early = sum(len(r['early']) for r in records)
    return [*lines, Line(group, 'alarms before it is picked up', early, most=0)]


def _alarm_lines(found):
    """Return the `Line`s of false alarms; found: (robot, pair) -> record."""
    records = [record for record in found.values() if not isinstance(record, str)]
    if not found:
        return []
    alarms = sum(len(record['alarms']) for record in records)
    hours = sum(record['seconds'] for record in records) / 3600
    used = np.mean([record['used'] for record in records]) if records else np.nan
    group = 'two days in a row, nothing picked up, UR10e'
    beside = f'{len(records)} pairs, {hours:.2f} h, {used:.3f} CPU s/s'
    lines = [Line(group, 'false alarms', alarms if records else np.nan, most=0, beside=beside)]
    if failed := len(found) - len(records):
        lines.append(Line(group, 'pairs that failed', failed, most=0))
    return lines


def _picture_lines(found):
    """Return a `Line` where the picture could not be drawn."""
    failed = sum(isinstance(record, str) for record in found.values())
    return [Line('picture', 'that failed', failed, most=0)] if failed else []


_LINES = {
    'torque': _torque_lines,
    'open_loop': _open_loop_lines,
    'calibration': _calibration_lines,
    'agreement': _agreement_lines,
    'payload': _payload_lines,
    'alarms': _alarm_lines,
    'picture': _picture_lines,
}


def _print(lines):
    """Print the table, a line per number."""
    table = Table(box=box.SIMPLE, padding=(0, 1))
    table.add_column('name', no_wrap=True)
    for heading in ('target', 'measured'):
        table.add_column(heading, justify='right', no_wrap=True)
    table.add_column('read with')
    table.add_column('verdict', no_wrap=True)
    shown = None
    for line in lines:
        if line.group != shown:
            table.add_section()
            table.add_row(escape(line.group), style='bold')
            shown = line.group
        value = f'{line.value:.3g}'
        row = (f'  {escape(line.name)}', line.wanted, value, escape(line.beside), line.verdict)
        table.add_row(*row)
    Console(width=_COLUMNS).print(table)
