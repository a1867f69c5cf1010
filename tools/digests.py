"""
Compare what comes out of many streams before and after a change of the code, bit for bit.

    tools/digests.py                 compares with what was recorded, all streams or those named
    tools/digests.py --record        records
    tools/digests.py --speed OTHER   compares the time of a frame with that of another clone,
                                     in turns: the least of five runs of each

Bits depend on processor and libraries: what another machine has recorded says nothing here.
"""

import argparse
import json
import os
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[1]
_TURNS = 5
_TIMED = ('arm_with_payload', 'pendulum')
_TIME = 'import recorded_streams as s; d = s.digest({!r}); print(d.seconds / d.frames)'


def main():
    """Compare or record, and return how many streams differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('names', nargs='*', help='of streams; none: all')
    parser.add_argument('--record', action='store_true', help='what comes out from now on')
    parser.add_argument('--speed', metavar='OTHER', help='folder of another clone')
    arguments = parser.parse_args()
    if arguments.speed:
        return _compare_speed(arguments.names or _TIMED, Path(arguments.speed))
    sys.path[:0] = [str(ROOT), str(ROOT / 'test')]
    from digests import machine, read, RECORDED
    from recorded_streams import digest, STREAMS

    names, recorded = arguments.names or [*STREAMS], read()
    is_ours = recorded.get('machine') == machine()
    if not arguments.record and not is_ours:
        parser.error('these digests are of another machine: record some at the commit before')
    found, differ = (recorded['streams'] if is_ours else {}), 0
    for name in names:
        now = digest(name)
        new, old = {'numbers': now.numbers, 'words': now.words}, found.get(name)
        different = [part for part in new if not old or new[part] != old[part]]
        differ += bool(different)
        said = 'other ' + ' and '.join(different) if different else 'the same'
        print(f'{name:20} {now.frames:5} frames {now.seconds:6.1f} s  {said}', flush=True)
        found[name] = new
    if arguments.record:
        content = {'machine': machine(), 'streams': dict(sorted(found.items()))}
        RECORDED.write_text(json.dumps(content, indent=1) + '\n', encoding='utf-8')
        return 0
    return differ


def _compare_speed(names, other):
    """Print seconds of a frame here and in another clone, and return 0."""
    for name in names:
        least = {ROOT: float('inf'), other.resolve(): float('inf')}
        for _ in range(_TURNS):
            for root in least:
                least[root] = min(least[root], _seconds(root, name))
        here, there = least.values()
        print(f'{name:20} {1e3 * here:8.3f} ms a frame, {here / there:.3f} of the other clone')
    return 0


def _seconds(root, name):
    """Return the seconds of a frame of a stream in a process of its own."""
    paths = {'PYTHONPATH': os.pathsep.join([str(root), str(root / 'test')])}
    given = {**os.environ, **paths, 'OMP_NUM_THREADS': '1', 'OMP_WAIT_POLICY': 'passive'}
    command = [sys.executable, '-c', _TIME.format(name)]
    # Of two clones the one in which Python is started would win otherwise.
    options = {'env': given, 'cwd': root, 'stdout': subprocess.PIPE, 'text': True, 'check': True}
    found = subprocess.run(command, **options)
    return float(found.stdout.splitlines()[-1])


if __name__ == '__main__':
    sys.exit(main())
