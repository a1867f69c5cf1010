"""
How fast recordings are identified, reading and estimating apart, on one thread.

A double pendulum with encoders at 1 kHz and motion capture at 200 Hz, frames at 100 Hz, every
sample in the likelihood; nothing is held out, and nothing written.
"""

from dataclasses import replace
import os
from pathlib import Path
import tempfile

from peers.timing import conditions, set_torch_threads
from report import print_table, Target

from sim2real_estimator import identify
from sim2real_estimator.bags.simulated import record
from sim2real_estimator.config import load_config
from sim2real_estimator.config.tree import SensorConfig
from sim2real_estimator.synthetic.robot import SyntheticRobot
from sim2real_estimator.synthetic.settings import load_synthetic, StreamConfig

_CONFIG = Path(__file__).resolve().parents[1] / 'config'
_ENCODERS, _MOCAP = 1000.0, 200.0
# Seconds of data for a second that may be spent: as if it went at this speed.
_PER_SECOND, _LEAST = 3.0, 10.0
_WANTED = 12.0


def run(name, arguments):
    """Print the table and return the targets."""
    set_torch_threads(1)
    length = max(_PER_SECOND * arguments.seconds, _LEAST)
    with tempfile.TemporaryDirectory() as folder:
        found = _identified(Path(folder) / 'bag', length)
    spent, messages = found.timings, sum(each.messages for each in found.bags[0].topics)
    speeds = {part: spent['data'] / spent[part] for part in ('reading', 'estimating')}
    both = spent['data'] / (spent['reading'] + spent['estimating'])
    print(f'{messages} messages, {spent["data"]:.0f} s of data; {conditions(1)}\n')
    rows = [[part, f'{spent[part]:.2f}', f'{speed:.1f}', ''] for part, speed in speeds.items()]
    rows.append(['both', '', f'{both:.1f}', f'> {_WANTED:g}'])
    print_table(['double pendulum', 's of the core', 'times real time', 'wanted'], rows)
    is_disturbed = os.getloadavg()[0] > (os.cpu_count() or 1)
    title = 'recording of a double pendulum'
    return [Target(title, both, _WANTED, 'x', at_least=True, disturbed=is_disturbed)]


def _identified(path, seconds):
    """Return the `Identification` of a synthetic recording of so many seconds."""
    config = load_config(_CONFIG / 'double_pendulum.yaml')
    body = SensorConfig('link_pose', 'mocap', link='lower', position_sd=0.001, orientation_sd=0.01)
    config = replace(config, sensors={**config.sensors, 'body': body})
    settings = load_synthetic(_CONFIG / 'synthetic' / 'double_pendulum.yaml')
    streams = {
        'joint_states': StreamConfig(rate=_ENCODERS, latency=0.001, jitter=0.0005),
        'mocap': StreamConfig(rate=_MOCAP, latency=0.005),
    }
    settings = replace(settings, rate=_ENCODERS, finer=1, payloads={}, streams=streams)
    record(path, SyntheticRobot(settings, config=config), seconds)
    return identify(path, config, held_out=0)
