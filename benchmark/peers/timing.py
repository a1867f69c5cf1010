"""
Interleaved timing that distrusts itself.

Rows are timed turn by turn in one process, so that whatever else the machine does meets all of
them; every call so finds the caches as another row left them, and is also repeated at once for
comparison. Ratios are medians over the turns. What cannot be quoted is named in notes: a load
above the number of cores, a median above twice the minimum, more CPUs than threads asked for or
much less than one, threads without a free second core.
"""

from dataclasses import dataclass, field
import os
import sys
import time

import numpy as np

_MOST_TURNS, _FEWEST_TURNS = 40, 8


@dataclass
class Row:
    """
    One implementation: its name, a function without arguments, and what was measured.

    times [s] of calls that follow another row; again: of the calls right after those.
    """

    name: str
    run: object
    error: float | None = None
    times: list = field(default_factory=list)
    again: list = field(default_factory=list)
    cpus: list = field(default_factory=list)

    @property
    def median(self):
        """Median time [s]."""
        return float(np.median(self.times))

    def ratio_to(self, other):
        """Return the median of the quotients of times measured in the same turn."""
        return float(np.median([a / b for a, b in zip(self.times, other.times)]))


def set_torch_threads(count):
    """Set torch's number of threads; some libraries reset it behind one's back."""
    torch = sys.modules.get('torch')
    if torch is not None and torch.get_num_threads() != count:
        torch.set_num_threads(count)


def measure(rows, threads, seconds, tries, repeat=1):
    """
    Time the rows until a try is undisturbed; return the disturbances of the last one.

    seconds: of a try, unless 40 turns are done before or 8 take longer; repeat: calls that are
    timed together, for what takes microseconds.
    """
    for _ in range(tries):
        for row in rows:
            row.times, row.again, row.cpus = [], [], []
        _time_in_turns(rows, threads, seconds, repeat)
        notes = _disturbances(rows, threads)
        if not notes:
            break
    return notes


def _time_in_turns(rows, threads, seconds, repeat):
    start = time.perf_counter()
    for turn in range(_MOST_TURNS):
        if turn >= _FEWEST_TURNS and time.perf_counter() - start > seconds:
            break
        for row in rows:
            set_torch_threads(threads)
            cpu, begin = time.process_time(), time.perf_counter()
            _call(row.run, repeat)
            wall = time.perf_counter() - begin
            row.times.append(wall / repeat)
            row.cpus.append((time.process_time() - cpu) / wall)
            begin = time.perf_counter()
            _call(row.run, repeat)
            row.again.append((time.perf_counter() - begin) / repeat)


def _call(function, repeat):
    for _ in range(repeat):
        function()


def _disturbances(rows, threads):
    """Return why these times should not be quoted, as sentences; none if they may be."""
    notes, load = [], os.getloadavg()[0]
    if load > os.cpu_count():
        notes.append(f'disturbed, the load of the machine is {load:.1f}')
    for row in rows:
        cpus = np.median(row.cpus)
        if row.median > 2 * min(row.times):
            notes.append(f'{row.name}: disturbed, the median is above twice the minimum')
        if cpus > threads + 0.3:
            notes.append(f'{row.name}: used {cpus:.1f} CPUs, not {threads}')
        if cpus < 0.7:
            notes.append(f'{row.name}: disturbed, it had only {cpus:.1f} of a CPU')
    if threads > 1 and max(np.median(row.cpus) for row in rows) < 1.3:
        notes.append(f'no second core was free: these are not numbers of {threads} threads')
    return notes


def conditions(threads):
    """Return one line about what the times depend on."""
    policy = os.environ.get('OMP_WAIT_POLICY', 'unset')
    return f'{threads} thread(s), load {os.getloadavg()[0]:.1f}, OMP_WAIT_POLICY={policy}'
