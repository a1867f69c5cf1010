"""The command `sim2real-estimator init`: a config from a URDF, and from what the robot says."""

import argparse
import logging
from pathlib import Path
import sys
import tempfile

from ..ros import require_ros
from .export_command import require_free

_NANO = 1e9
# A recording is read in whole up to so many messages a topic, and at so many places beyond.
_MESSAGES, _LOOKS = 40_000, 20
_JOINT_STATE = 'sensor_msgs/msg/JointState'
_DESCRIPTION = 'std_msgs/msg/String'
# How long a robot is listened to unless asked otherwise [s].
_LISTEN = 20.0


def add_init(commands):
    """Add the command to those of the parser."""
    init = commands.add_parser(
        'init', help='write a commented config for a robot, from its URDF and from what it says'
    )
    init.add_argument(
        'urdf',
        type=Path,
        nargs='?',
        help='robot description (with --bag or --listen: the one on topic robot_description)',
    )
    init.add_argument('-o', '--output', type=Path, help='file to write (print it)')
    heard = init.add_mutually_exclusive_group()
    heard.add_argument(
        '--bag',
        type=Path,
        help='recording of the robot: topics, noise, who knows efforts and in what unit are read '
        'from it, each with the reason as a comment',
    )
    heard.add_argument(
        '--listen',
        type=_seconds,
        nargs='?',
        const=_LISTEN,
        metavar='SECONDS',
        help=f'the same from the robot itself, which should move meanwhile ({_LISTEN:.0f})',
    )
    init.add_argument(
        '--joints',
        nargs='+',
        default=(),
        metavar='PATTERN',
        help="joints to estimate, such as 'arm_*'; others are taken as welded, or as driven "
        'where a recording shows them away from zero (all)',
    )
    init.add_argument(
        '--base', choices=('fixed', 'floating'), default='fixed', help='of the robot (fixed)'
    )
    init.add_argument(
        '--effort',
        choices=('measured', 'commanded', 'none', 'unknown'),
        help='on driven joints: measured by torque sensors or motor currents, with noise; '
        'commanded, which is just what acts; none: they swing freely; unknown: nobody reports '
        'it (as heard; else measured where all joints have encoders)',
    )
    init.add_argument(
        '--trust-units',
        action='store_true',
        help='damping and friction of the robot description are right, even where they look as '
        'if in other units; so are those of the recording',
    )
    init.add_argument('--force', action='store_true', help='overwrite the file')
    init.set_defaults(run=_init)


def _seconds(text):
    """Return a time above zero, for argparse."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f'{text} is no time above 0 s')
    return value


def _init(chosen):
    """Write a first config for a robot."""
    if chosen.output is not None:
        require_free(chosen.output, chosen.force)
    if chosen.listen is None:
        return _write(chosen, chosen.bag)
    require_ros()
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder, 'live')
        _listen(bag, chosen.listen)
        return _write(chosen, bag)


def _write(chosen, bag):
    """Write or print the config; bag: a recording, None: only the URDF is asked."""
    # Imported here, so that `--help` answers at once.
    from ..errors import ConfigError, DataError
    from ..setup.starter import starter_yaml

    folder = chosen.output.parent if chosen.output else Path()
    folder.mkdir(parents=True, exist_ok=True)
    name = 'the topics of the robot' if chosen.listen else str(bag)
    seen, urdf = None, chosen.urdf
    if bag is not None:
        seen, text = _seen_in(bag, name)
        if urdf is None and text is not None and chosen.output is not None:
            urdf = chosen.output.with_suffix('.urdf')
            require_free(urdf, chosen.force)
            urdf.write_text(text, encoding='utf-8')
            print(f'written: {urdf}')
    if urdf is None:
        raise ConfigError(
            'init: give the URDF file; it can only be left out with --output, and a recording or '
            'robot that has the topic robot_description'
        )
    options = chosen.base, chosen.effort, chosen.trust_units, chosen.joints, seen
    try:
        text = starter_yaml(urdf, folder, *options)
    except DataError as error:
        raise DataError(f'{name}: {error}') from error
    warning = '' if bag is None else _obstacle(bag, text, folder, chosen.trust_units)
    if warning:
        print(f'sim2real-estimator: WARNING: {warning}', file=sys.stderr)
        lines = ''.join(f'# {line}\n' for line in f'WARNING: {warning}'.splitlines())
        text = lines + text
    if chosen.output is None:
        print(text, end='')
        return 0
    chosen.output.write_text(text, encoding='utf-8')
    print(f'written: {chosen.output}')
    return 0


def _seen_in(path, name):
    """Return (`Seen`, the robot description that was published or None) of a recording."""
    from ..bags.reader import BagReader
    from ..errors import DataError
    from ..setup.starter import Seen

    with BagReader(path) as bag:
        states = [
            _topic(bag, each)
            for each in bag.topics.values()
            if each.message_type == _JOINT_STATE and each.count
        ]
        if not states:
            there = ', '.join(f'{t.name} ({t.message_type})' for t in bag.topics.values())
            raise DataError(
                f'{name}: nobody publishes {_JOINT_STATE}, from which joints are known; there '
                f'is {there or "nothing"}. Write the config from the URDF alone, and its sensors '
                'by hand: docs/configuration.md'
            )
        text = None
        for each in bag.topics.values():
            if each.message_type == _DESCRIPTION and each.name.endswith('/robot_description'):
                *_, content = next(bag.messages([each.name]), (None,))
                text = bag.decoded(each.name, content).data if content else text
        return Seen(name, (bag.end_ns - bag.begin_ns) / _NANO, tuple(states)), text


def _topic(bag, topic):
    """Return the `SeenTopic` of joint states of a recording."""
    import numpy as np

    from ..sensors import stamp_ns
    from ..setup.observed import SeenJoint, SeenTopic

    rows, lates = {}, []
    for time_ns, content in _some(bag, topic):
        message = bag.decoded(topic.name, content)
        stamp = stamp_ns(message, time_ns)
        lates.append((time_ns - stamp) / _NANO)
        seconds = (stamp - bag.begin_ns) / _NANO
        columns = message.position, message.effort
        for k, name in enumerate(message.name):
            values = (float(each[k]) if k < len(each) else np.nan for each in columns)
            rows.setdefault(name, []).append((seconds, *values))
    joints = {name: SeenJoint(*np.array(sorted(each)).T) for name, each in rows.items()}
    late = float(np.median(lates)) if lates else 0.0
    return SeenTopic(topic.name, topic.count, late, topic.is_reliable, joints)


def _some(bag, topic):
    """Yield (time [ns], bytes) of messages: all of a short recording, else at some places."""
    length = bag.end_ns - bag.begin_ns
    if topic.count <= _MESSAGES:
        for _, time_ns, content in bag.messages([topic.name]):
            yield time_ns, content
        return
    stretch = int(length * _MESSAGES / topic.count / _LOOKS)
    for look in range(_LOOKS):
        begin = bag.begin_ns + look * (length // _LOOKS)
        for _, time_ns, content in bag.messages([topic.name], begin, begin + stretch):
            yield time_ns, content


def _obstacle(bag, text, folder, is_trusting):
    """Return why the config does not suit the recording, '' where `identify` takes both."""
    from ..bags.reader import BagReader, digest_of
    from ..config import read_config
    from ..errors import EstimatorError
    from ..offline.identification.feeding import Feed
    from ..pipeline import Pipeline

    level = logging.root.manager.disable
    try:
        logging.disable(logging.WARNING)  # The same was just said of the robot description.
        config = read_config(text, str(folder / 'robot.yaml'))
        with BagReader(bag) as opened:
            Feed(opened, digest_of(bag), config, Pipeline.from_config(config), 0.0, is_trusting)
    except EstimatorError as error:
        return str(error)
    finally:
        logging.disable(level)
    return ''


def _listen(path, seconds):
    """Record for a time what tells of joints."""
    import time

    from ..errors import ProcessError
    from ..ros.process import run
    from ..ros.recording.recorder import RecorderNode

    made = []

    def make():
        made.append(RecorderNode(path, kinds=(_JOINT_STATE, _DESCRIPTION)))
        return made[0]

    def drive(node, stop):
        print(f'listening for {seconds:g} s: let the robot move', file=sys.stderr)
        node.drive(stop, time.monotonic() + seconds)

    status = run('sim2real-estimator', make, drive, [])
    if status or not any(made[0].counts.values()):
        raise ProcessError(
            'nothing was heard of the robot: see that it publishes, and '
            '`sim2real-estimator doctor` for who hears whom'
        )
