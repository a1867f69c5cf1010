"""Recordings of simulated robots, as long as one likes."""

from dataclasses import replace
from pathlib import Path
import struct

from load.preparation import prepare

from sim2real_estimator.app.synthetic.bag import record
from sim2real_estimator.app.synthetic.settings import load_estimator, load_synthetic, StreamConfig
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.bags.writer import BagWriter
from sim2real_estimator.config import load_config, to_yaml, with_values
from sim2real_estimator.config.settings_tree import SensorConfig

_CONFIG = Path(__file__).resolve().parents[2] / 'config'
_NANO = 10**9
_ENCODERS, _MOCAP, _ARM_ENCODERS, _ARM_FRAMES = 1000.0, 200.0, 1000.0, 250.0
# As much of a recording is simulated, at three times real time; the rest repeats it.
_SIMULATED = 60.0
# Longer than the gap at which frames begin anew: the robot does not end where it began.
_PAUSE_NS = _NANO
# After the four bytes that say how a message is encoded comes the stamp of its header.
_STAMP_PLACE, _STAMP = 4, '<iI'


def record_pendulum(folder, seconds):
    """
    Record a double pendulum; return (path of the bag, of the config).

    Encoders and efforts at 1 kHz, motion capture at 200 Hz, frames at 100 Hz.
    """
    config = load_config(_CONFIG / 'double_pendulum.yaml')
    body = SensorConfig('link_pose', 'mocap', link='lower', position_sd=0.001, orientation_sd=0.01)
    config = replace(config, sensors={**config.sensors, 'body': body})
    config = with_values(config, {'model.urdf': str(_CONFIG / config.model.urdf)})
    settings = load_synthetic(_CONFIG / 'synthetic' / 'double_pendulum.yaml')
    streams = {
        'joint_states': StreamConfig(rate=_ENCODERS, latency=0.001, jitter=0.0005),
        'mocap': StreamConfig(rate=_MOCAP, latency=0.005),
    }
    settings = replace(settings, rate=_ENCODERS, finer=1, payloads={}, streams=streams)
    return _recorded(folder, SyntheticRobot(settings, config=config), seconds)


def record_arm(folder, seconds):
    """
    Record an arm of seven joints that is known to about a percent; return as `record_pendulum`.

    Encoders and efforts at 1 kHz, two bodies of motion capture at 200 Hz, frames at 250 Hz; no
    disturbances are reckoned with, so the filter has one component.
    """
    _, robot = prepare(_CONFIG / 'synthetic' / 'seven_joint_arm.yaml', folder)
    settings = load_synthetic(robot)
    config = load_estimator(settings)
    estimator = config.estimator
    estimator = replace(
        estimator, settings={**estimator.settings, 'disturbances': [0.0], 'friction_errors': []}
    )
    config = replace(
        config, estimator=estimator, frames=replace(config.frames, max_rate=_ARM_FRAMES)
    )
    return _recorded(folder, SyntheticRobot(settings, config=config), seconds)


def _recorded(folder, robot, seconds):
    """Record a robot; return (path of the bag, of the config)."""
    bag, config = folder / 'bag', folder / 'config.yaml'
    config.write_text(to_yaml(robot.config), encoding='utf-8')
    record(bag, robot, min(seconds, _SIMULATED))
    return (bag if seconds <= _SIMULATED else _repeated(bag, folder / 'long', seconds)), config


def _repeated(source, path, seconds):
    """Write a recording again and again, with later stamps, until it is as long; return where."""
    with BagReader(source) as bag, BagWriter(path) as long:
        kinds = {name: topic.message_type for name, topic in bag.topics.items()}
        period_ns = bag.end_ns - bag.begin_ns + _PAUSE_NS
        for count in range(round(seconds / _SIMULATED)):
            later_ns = count * period_ns
            for topic, time_ns, content in bag.messages(kinds):
                content = bytearray(content)
                second, rest = struct.unpack_from(_STAMP, content, _STAMP_PLACE)
                stamp_ns = second * _NANO + rest + later_ns
                struct.pack_into(_STAMP, content, _STAMP_PLACE, *divmod(stamp_ns, _NANO))
                long.write(topic, kinds[topic], time_ns + later_ns, bytes(content))
    return path
