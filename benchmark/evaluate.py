"""Measure the accuracy against known truth; `make evaluate ARGS=...` runs this."""

import argparse
import importlib
from pathlib import Path
import sys
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import drawings  # noqa: E402, after the path is set

# Each is a module of this folder with `run(arguments) -> bool`. A new one is a file and a line.
SECTIONS = (
    'oracles',
    'drift',
    'contact',
    'optimizers',
    'mixture',
    'robots',
    'estimation',
    'real',
    'workday',
    'excitation',
    'tracking',
    'bridge',
    'pictures',
)


def parse(arguments=None):
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog='make evaluate', description=__doc__)
    parser.add_argument(
        '--only', choices=SECTIONS, action='append', help='run this section only; may be repeated'
    )
    parser.add_argument('--seed', type=int, default=0, help='of all random draws')
    parser.add_argument('--trees', type=int, default=60, help='how many random trees to compare')
    parser.add_argument(
        '--problems', type=int, default=130, help='how many problems of each study to estimate'
    )
    parser.add_argument(
        '--study',
        action='append',
        help='of the sections estimation and workday, run this study only; may be repeated',
    )
    parser.add_argument(
        '--processes', type=int, default=2, help='how many problems to estimate side by side'
    )
    parser.add_argument(
        '--robot',
        action='append',
        help='of the section robots, this robot only; may be repeated',
    )
    parser.add_argument(
        '--robot-seeds', type=int, default=1, help='how many robots of each kind to identify (1)'
    )
    parser.add_argument(
        '--data',
        help='of the section real: folder with dynamic_calibration, FrankaEmikaPandaDynModel and, '
        'for the description of TIAGo, figaroh-plus; else $REAL_DATA',
    )
    parser.add_argument(
        '--shared',
        help='of the section real: folder with data/staubli_tx40 and data/tiago_arm; else '
        '$REAL_SHARED',
    )
    parser.add_argument(
        '--real-part',
        choices=(
            'torque',
            'open_loop',
            'calibration',
            'agreement',
            'payload',
            'alarms',
            'picture',
        ),
        action='append',
        help='of the section real, this part only; may be repeated; picture, which draws '
        'real_arm.png, is run only when it is asked for',
    )
    parser.add_argument(
        '--real-robot',
        choices=('UR10e', 'Panda', 'TX40', 'TIAGo'),
        action='append',
        help='of the section real, this robot only; may be repeated',
    )
    parser.add_argument(
        '--real-pairs',
        type=int,
        help='of the section real: so many pairs of days at most are run for false alarms (all)',
    )
    parser.add_argument(
        '--estimator',
        default='',
        help="of the section workday: its name in settings; 'none': least squares alone",
    )
    parser.add_argument(
        '--seconds', type=float, help='of the section workday: read no more of motion than this'
    )
    drawings.add_argument(parser)
    return parser.parse_args(arguments)


def main():
    """Run the sections, print a summary, and return the exit code."""
    arguments = parse()
    drawings.choose(arguments.draw)
    verdicts = {}
    for name in arguments.only or SECTIONS:
        print(f'\n== {name} ==\n', flush=True)
        start = time.perf_counter()
        verdict = importlib.import_module(name).run(arguments)
        verdicts[name] = verdict, time.perf_counter() - start
    print('\n== summary ==\n')
    for name, (is_good, seconds) in verdicts.items():
        print(f'{name:<12} {"ok" if is_good else "FAILED":<8} {seconds:6.1f} s')
    return 0 if all(is_good for is_good, _ in verdicts.values()) else 1


if __name__ == '__main__':
    sys.exit(main())
