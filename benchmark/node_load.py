"""
The node under load: a 7-joint arm at 1 kHz and two bodies of motion capture at 200 Hz, over DDS.

Everything runs on this computer: a recorded robot that publishes, the node with its worker, and
this process, which listens. What became of every message is asked of the node once the robot has
stopped and nothing waits any more. The arm is known to a percent beforehand: measured is how the
node keeps pace, not how long a first batch takes.
"""

import importlib.util
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time

from load.preparation import prepare
import numpy as np
from report import print_notes, print_table, Target

from sim2real_estimator.app.demo.domain import environment, own_domain
from sim2real_estimator.config import load_config
from sim2real_estimator.setup.sources import topics

_ROOT = Path(__file__).resolve().parents[1]
_ROBOT = _ROOT / 'config' / 'synthetic' / 'seven_joint_arm.yaml'
_PATIENCE = 120.0
# Memory still grows while the first draws are made and the first fits done [s].
_SETTLING = 120.0
_PERIOD, _TAIL = 1.0, 4.0
# Node, worker and robot together take no more processors than this.
_NEEDED = 1.5


def run(name, arguments):
    """Print the tables and return the targets."""
    if importlib.util.find_spec('rclpy') is None:
        print_notes(['rclpy is missing: the node is not measured'])
        return []
    seconds = 60.0 * arguments.minutes
    with tempfile.TemporaryDirectory() as folder:
        config, robot = prepare(_ROBOT, Path(folder))
        with own_domain() as domain:
            seen = _measured(Path(folder), config, robot, seconds, domain)
        return _told(seen, load_config(config), seconds)


def _measured(folder, config, robot, seconds, domain):
    """Return what was seen of a run in a domain, by name."""
    os.environ |= environment(domain)
    from load.observer import Observer

    variables = {**os.environ, 'PYTHONPATH': f'{_ROOT}{os.pathsep}{_ROOT / "benchmark"}'}
    player = subprocess.Popen(
        [sys.executable, '-m', 'load.player', robot, str(seconds)],
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    observer, node = Observer(domain), None
    try:
        if player.stdout.readline().strip() != 'ready':
            raise RuntimeError('the robot cannot be recorded; its message is above')
        command = [sys.executable, '-m', 'sim2real_estimator.ros.node', '--ros-args', '-p']
        with open(folder / 'node.log', 'w', encoding='utf-8') as log:
            node = subprocess.Popen(
                [*command, f'config_file:={config}'], env=variables, stdout=log, stderr=log
            )
        _wait(observer, lambda: observer.value('worker', 'backend', ''))
        return _watched(observer, player, node, seconds)
    finally:
        for process in (player, node):
            if process:
                process.terminate()
                process.wait()
        observer.close()


def _watched(observer, player, node, seconds):
    """Let the robot publish, and return what was seen meanwhile and afterwards."""
    from load import observer as seen

    pids = [node.pid, int(observer.number('worker', 'pid'))]
    began, busy = time.monotonic(), seen.machine_seconds()
    used = [seen.cpu_seconds(pid) for pid in pids]
    memories = []
    player.stdin.write('go\n')
    player.stdin.flush()
    while time.monotonic() - began < seconds + _TAIL:
        observer.listen(_PERIOD)
        memories.append((time.monotonic() - began, seen.memory(pids)))
    elapsed = time.monotonic() - began
    used = [(seen.cpu_seconds(pid) - u) / elapsed for pid, u in zip(pids, used)]
    busy = (seen.machine_seconds() - busy) / elapsed
    sent = json.loads(player.stdout.readline())
    works = list(observer.course.works)
    is_done = _wait(observer, lambda: _has_settled(observer), patience=_PATIENCE)
    return {
        'began': began,
        'player': sent,
        'node': used[0],
        'worker': used[1],
        'others': busy - sum(used) - sent['cpu'],
        'memory': memories,
        'works': [(at - began, *rest) for at, *rest in works],
        'estimates': [(at - began, age) for at, age in observer.course.estimates],
        'statuses': observer.course.statuses,
        'is done': is_done,
    }


def _wait(observer, is_so, patience=_PATIENCE):
    """Listen until something is so, and return whether it has come to be."""
    end = time.monotonic() + patience
    while not is_so():
        if time.monotonic() > end:
            return False
        observer.listen(0.2)
    return True


def _has_settled(observer):
    """Tell whether nothing waits any more, and nobody publishes."""
    tasks = [task for task in observer.course.statuses if task.startswith('input ')]
    return (
        observer.number('worker', 'backlog [messages]') == 0
        and observer.number('worker', 'data waiting [s]') == 0
        and all(observer.number(task, 'rate [1/s]') == 0 for task in tasks)
    )


def _told(seen, config, seconds):
    """Print tables and notes; return the targets."""
    from load.account import accounts, course, frame_rate, late_periods, since_hand_over, slope

    sent = seen['player']
    rows, unknown = accounts(seen['statuses'], sent['sent'], topics(config))
    print_table(['source', 'sent', 'received', 'used', 'others', 'unaccounted'], rows)
    settled = min(_SETTLING, seconds / 2)
    found, frames = since_hand_over(seen), frame_rate(seen)
    memory = [m for m in seen['memory'] if m[0] < seconds]
    growth = slope(memory, settled)
    ages = 1000 * np.array([age for at, age in found if at < seconds])
    rate = len(ages) / (seconds - found[0][0]) if len(ages) > 1 else None
    print_table(
        ['', 'value'],
        [
            ['processor time of the node', _share(seen['node'])],
            ['processor time of the worker', _share(seen['worker'])],
            ['processor time of the robot that publishes', _share(sent['cpu'])],
            [f'processor time of others, of {os.cpu_count()} processors', _share(seen['others'])],
            ['messages sent too late, 99 % below', f'{1000 * sent["late"]:.1f} ms'],
            ['time until the filter has caught up', _seconds(found[0][0] if found else None)],
            ['frames since then', f'{frames:.1f} /s' if frames else 'none'],
            ['  asked for', f'{config.frames.max_rate:g} /s'],
            ['estimates since then', f'{rate:.1f} /s' if rate else 'none'],
            ['stamp to estimate, 50 %', _quantile(ages, 0.5)],
            ['stamp to estimate, 99 %', _quantile(ages, 0.99)],
            [f'memory from {settled:.0f} s on', f'{growth:+.2f} MiB/min'],
            ['memory, minute by minute', ' '.join(f'{m:.0f}' for m in course(memory, 60.0))],
        ],
    )
    # What holds the estimator up now and then, or another program, shows in when it was.
    print_notes(
        [
            f'data waited from {begin:.0f} to {end:.0f} s, up to {worst:.2f} s'
            for begin, end, worst in late_periods([each for each in found if each[0] < seconds])
        ]
    )
    return _targets(seen, seconds, unknown, rate, ages, growth)


def _targets(seen, seconds, unknown, rate, ages, growth):
    """Return the targets."""
    is_disturbed = seen['others'] > os.cpu_count() - _NEEDED
    if is_disturbed:
        print_notes([f'others left less than {_NEEDED} processors: a disturbed run'])
    is_long = seconds >= 2 * _SETTLING
    if not is_long:
        print_notes(["too short to judge memory; ARGS='--only node_load --minutes 10' does"])
    late = float(np.quantile(ages, 0.99)) if len(ages) else None
    return [
        # What still waits has no fate yet.
        Target(
            'node, messages unaccounted for', float(unknown) if seen['is done'] else None, 0, ''
        ),
        Target('node, all data done', float(seen['is done']), 1, '', True, is_disturbed),
        Target('node, estimates', rate, 20, '1/s', True, is_disturbed),
        Target('node, stamp to estimate, 99 %', late, 100, 'ms', disturbed=is_disturbed),
        Target('node, growth of memory', growth if is_long else None, 0.2, 'MiB/min'),
    ]


def _seconds(number):
    return 'none' if number is None else f'{number:.1f} s'


def _share(processors):
    return f'{100 * processors:.0f} %'


def _quantile(ages, share):
    return f'{np.quantile(ages, share):.1f} ms' if len(ages) else 'none'
