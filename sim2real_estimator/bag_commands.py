"""The commands `record`, `replay` and `convert`, which make and play recordings."""

import argparse
from importlib.util import find_spec
from pathlib import Path

from .config import load_config
from .errors import ConfigError


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


def require_ros():
    """Refuse to go on where there is no ROS."""
    if find_spec('rclpy') is None:
        raise ConfigError(
            'rclpy is missing: source ROS 2, or install requirements-ros-wheels.txt; docs/setup.md'
        )


def _add_ros_arguments(parser):
    parser.add_argument(
        '--ros-args',
        nargs=argparse.REMAINDER,
        default=[],
        metavar='ARGUMENT',
        help='for ROS, up to the end, such as -r __ns:=/left -p use_sim_time:=true',
    )


def _ros_arguments(chosen):
    return ['--ros-args', *chosen.ros_args]


def _record(chosen):
    """Record until Ctrl-C, and print what there is."""
    require_ros()
    # Imported here, so that `--help` answers at once.
    from .ros.process import run
    from .ros.recorder import RecorderNode, wishes_of

    wishes = chosen.config and wishes_of(load_config(chosen.config), chosen.node)
    made = []

    def make():
        made.append(RecorderNode(chosen.output, wishes))
        return made[0]

    status = run('sim2real-estimator', make, RecorderNode.drive, _ros_arguments(chosen))
    if made:
        for topic, count in sorted(made[0].counts.items()):
            print(f'{count:9}  {topic}')
        print(f'written: {chosen.output}')
    return status
