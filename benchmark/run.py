"""Measure the speed next to other simulators; `make benchmark ARGS=...` runs this."""

import argparse
import importlib
import os
from pathlib import Path
import sys

# Threads that wait by spinning cost up to a hundredfold on a shared core; libraries read these
# when they are loaded.
os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
os.environ.setdefault('OMP_NUM_THREADS', '1')
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import drawings  # noqa: E402, after the path is set

# Name and module; a module has `run(name, arguments) -> list of Target`.
SECTIONS = {
    'W3': 'windows',
    'W2': 'windows',
    'S7': 'windows',
    'S12': 'windows',
    'frame_jacobian': 'frame_jacobian',
    'build_times': 'build_times',
    'estimator_cost': 'estimator_cost',
    'node_load': 'node_load',
    'bags': 'bags',
    'draws': 'draws',
    'sysid': 'sysid.section',
}


def parse(arguments=None):
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog='make benchmark', description=__doc__)
    parser.add_argument(
        '--only', choices=SECTIONS, action='append', help='run this section only; may be repeated'
    )
    parser.add_argument(
        '--threads',
        type=int,
        default=1,
        help='of the C++, MuJoCo and Pinocchio rows of the windows',
    )
    parser.add_argument('--seconds', type=float, default=20.0, help='to spend on a table')
    parser.add_argument(
        '--tries',
        type=int,
        default=3,
        help='how often a table is measured while others disturb it',
    )
    parser.add_argument(
        '--minutes', type=float, default=1.0, help='for which the node is under load (1)'
    )
    parser.add_argument(
        '--bag-minutes',
        type=float,
        help='length of the recordings that are identified: 60 for an hour, which also measures '
        'memory against that of a sixth (default: three times --seconds)',
    )
    _add_sysid(parser)
    drawings.add_argument(parser)
    return parser.parse_args(arguments)


def _add_sysid(parser):
    """Add the arguments of the comparison with mujoco.sysid."""
    parser.add_argument('--seed', type=int, default=0, help='of the recordings of sysid')
    parser.add_argument(
        '--sysid-seeds',
        type=int,
        default=2,
        help='recordings of every row of sysid (2): 100 for what docs/benchmarks.md is about',
    )
    parser.add_argument(
        '--peer-seeds',
        type=int,
        default=20,
        help='of these the peer is given so many at most (20): its single shots take long',
    )
    parser.add_argument(
        '--sysid-robot',
        choices=('pendulum', 'arm'),
        action='append',
        help='of sysid, this robot only; may be repeated',
    )
    parser.add_argument(
        '--sysid-row',
        default='',
        help='of sysid, only rows with this in their name; no picture is drawn of a part',
    )


def main():
    """Run the sections, print a summary, and return the exit code."""
    from report import print_summary  # after the path is set, like all that follows

    arguments, targets = parse(), []
    drawings.choose(arguments.draw)
    for name in arguments.only or SECTIONS:
        print(f'\n== {name} ==\n', flush=True)
        targets += importlib.import_module(SECTIONS[name]).run(name, arguments)
    print('== summary ==\n')
    print_summary(targets)
    return 1 if any(target.fails for target in targets) else 0


if __name__ == '__main__':
    sys.exit(main())
