"""The commands `record`, `replay` and `convert`, which make and play recordings."""

import argparse
import math
from pathlib import Path

from ..config import load_config
from ..ros import require_ros


def add_bag_commands(commands):
    """Add the commands to those of the parser."""
    record = commands.add_parser(
        'record', help='record what an estimator reads and says, where there is no ros2 bag'
    )
    record.add_argument(
        '--config', type=Path, help='settings of the estimator (record every topic there is)'
    )
    record.add_argument('-o', '--output', type=Path, required=True, help='folder to make')
    record.add_argument(
        '--node', default='sim2real_estimator', help='its name (sim2real_estimator)'
    )
    _add_ros_arguments(record)
    record.set_defaults(run=_record)
    replay = commands.add_parser('replay', help='publish a recording with its time on /clock')
    replay.add_argument('bag', type=Path, metavar='BAG', help='folder or file')
    replay.add_argument(
        '--rate', type=above_zero, default=1.0, help='seconds of the recording in a second (1)'
    )
    replay.add_argument('--loop', action='store_true', help='begin anew at the end')
    replay.add_argument(
        '--start', type=_not_below_zero, default=0.0, help='leave out so many seconds (0)'
    )
    replay.add_argument(
        '--config',
        type=Path,
        help='settings of an estimator: only what it reads, by the names there (all topics)',
    )
    replay.add_argument(
        '--wait', action='store_true', help='until somebody listens to every topic'
    )
    _add_ros_arguments(replay)
    replay.set_defaults(run=_replay)
    convert = commands.add_parser('convert', help='make a bag of measurements as CSV or npz')
    convert.add_argument('table', type=Path, metavar='TABLE', help='.csv or .npz file')
    convert.add_argument('--map', type=Path, required=True, help='YAML file: which column is what')
    convert.add_argument('-o', '--output', type=Path, required=True, help='folder to make')
    convert.add_argument(
        '--trust-units', action='store_true', help='units that look wrong are right'
    )
    convert.add_argument(
        '--rows',
        type=_rows,
        default=slice(None),
        metavar='FIRST:LAST',
        help='only these rows, the first of all being 1; either may be left out (all)',
    )
    convert.add_argument(
        '--start',
        type=float,
        metavar='SECONDS',
        help="the time at which the table's clock is zero, since 1970; give several recordings "
        'of one robot different ones',
    )
    convert.set_defaults(run=_convert)


def _add_ros_arguments(parser):
    parser.add_argument(
        '--ros-args',
        nargs=argparse.REMAINDER,
        default=[],
        metavar='ARGUMENT',
        help='for ROS, up to the end, such as -r __ns:=/left -p use_sim_time:=true',
    )


def above_zero(text):
    """Return a number above zero, for argparse."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f'{text} is not above zero')
    return value


def _not_below_zero(text):
    """Return a number that is not below zero, for argparse."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text} is below zero')
    return value


def _rows(text):
    """Return the slice of FIRST:LAST, both counted from 1 and both included, for argparse."""
    first, colon, last = text.partition(':')
    begin, end = int(first or 1), int(last) if last else None
    if not colon or begin < 1 or (end is not None and end <= begin):
        raise argparse.ArgumentTypeError(f'{text} is not FIRST:LAST, with two rows at least')
    return slice(begin - 1, end)


def _ros_arguments(chosen):
    return ['--ros-args', *chosen.ros_args]


def _record(chosen):
    """Record until Ctrl-C, and print what there is."""
    require_ros()
    # Imported here, so that `--help` answers at once.
    from ..ros.process import run
    from ..ros.recording.recorder import RecorderNode, wishes_of

    wishes = chosen.config and wishes_of(load_config(chosen.config), chosen.node)
    made = []

    def make():
        made.append(RecorderNode(chosen.output, wishes))
        return made[0]

    status = run('sim2real-estimator', make, RecorderNode.drive, _ros_arguments(chosen))
    if made:
        _tell(made[0].counts, chosen.output)
    return status


def _replay(chosen):
    """Publish a recording until its end, or until Ctrl-C."""
    require_ros()
    # Imported here, so that `--help` answers at once.
    from ..bags.playback import Playback
    from ..bags.reader import BagReader
    from ..ros.process import run
    from ..ros.recording.replay import names_of, ReplayNode

    with BagReader(chosen.bag) as bag:
        names = names_of(bag, chosen.config and load_config(chosen.config))
        playback = Playback(bag, names, chosen.rate, chosen.start, chosen.loop)

        def make():
            return ReplayNode(bag, playback, names, chosen.rate, chosen.wait)

        return run('sim2real-estimator', make, ReplayNode.drive, _ros_arguments(chosen))


def _convert(chosen):
    """Make a bag of a table, and print what is in it."""
    from ..offline.tables.converting import (
        convert,  # imported here, so that `--help` answers at once
    )

    counts = convert(
        chosen.table,
        chosen.map,
        chosen.output,
        is_trusting=chosen.trust_units,
        rows=chosen.rows,
        start=chosen.start,
    )
    _tell(counts, chosen.output)
    return 0


def _tell(counts, output):
    """Print how many messages each topic has, and where they are."""
    for topic, count in sorted(counts.items()):
        print(f'{count:9}  {topic}')
    print(f'written: {output}')
