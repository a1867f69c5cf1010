"""
How fast recordings are identified, reading and estimating apart, on one thread.

A double pendulum with encoders at 1 kHz and motion capture at 200 Hz, frames at 100 Hz, and an arm
of seven joints with frames at 250 Hz: every sample in the likelihood; nothing is held out, and
nothing written. Long recordings (--bag-minutes) are a minute that is simulated and then repeated
with later stamps, so that frames begin anew once a minute. Of these the memory is measured too,
with all files of the result, and that of a recording of a sixth of the length besides.
"""

import os
from pathlib import Path
import tempfile

from offline.identifying import identified
from offline.recordings import record_arm, record_pendulum
from peers.timing import conditions
from report import print_notes, print_table, Target

# Seconds of data for a second that may be spent: as if it went at this speed.
_PER_SECOND, _LEAST = 3.0, 10.0
# The arm is as long at most [s]: it is the pendulum that may last an hour.
_LONGEST_ARM = 60.0
_SHORTER, _GROWTH = 6.0, 10.0
_MINUTE = 60.0


def run(name, arguments):
    """Print the tables and return the targets."""
    length = max(_PER_SECOND * arguments.seconds, _LEAST)
    if arguments.bag_minutes:
        length = _MINUTE * arguments.bag_minutes
    targets = [
        _speed('double pendulum', record_pendulum, length, 12.0),
        _speed('arm of seven joints', record_arm, min(length, _LONGEST_ARM), 2.0),
    ]
    if not arguments.bag_minutes:
        print_notes(["memory is measured with ARGS='--only bags --bag-minutes 60'"])
        return targets
    return [*targets, _memory(length)]


def _speed(title, record, length, wanted):
    """Print how fast a recording of so many seconds is identified, and return the target."""
    with tempfile.TemporaryDirectory() as folder:
        seen = identified(*record(Path(folder), length))
    speeds = {part: seen['data'] / seen[part] for part in ('reading', 'estimating')}
    both = seen['data'] / (seen['reading'] + seen['estimating'])
    print(
        f'{title}: {seen["messages"]} messages, {seen["data"]:.0f} s of data, '
        f'{seen["components"]} components at the end; {conditions(1)}\n'
    )
    rows = [[part, f'{seen[part]:.2f}', f'{speed:.1f}', ''] for part, speed in speeds.items()]
    rows.append(['both', '', f'{both:.1f}', f'> {wanted:g}'])
    print_table([title, 's of the core', 'times real time', 'wanted'], rows)
    is_disturbed = os.getloadavg()[0] > (os.cpu_count() or 1)
    return Target(f'recording, {title}', both, wanted, 'x', at_least=True, disturbed=is_disturbed)


def _memory(length):
    """Print the largest memory of recordings of two lengths, and return the target."""
    peaks = {}
    for seconds in (length / _SHORTER, length):
        with tempfile.TemporaryDirectory() as folder:
            bag, config = record_pendulum(Path(folder), seconds)
            peaks[seconds] = identified(bag, config, Path(folder) / 'result')['peak']
    rows = [[f'{seconds / _MINUTE:.1f}', f'{peak:.0f}'] for seconds, peak in peaks.items()]
    print_table(['minutes of data', 'largest memory [MiB]'], rows)
    short, long = peaks.values()
    growth = 100 * (long / short - 1)
    return Target('recording, memory over that of a sixth', growth, _GROWTH, '%')
