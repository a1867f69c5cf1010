"""The synthetic robot over real DDS, from a process of its own."""

from dataclasses import dataclass, field
import signal
import time

import numpy as np
import pytest
from simulated import CONFIG, config
import torch

from sim2real_estimator.app.synthetic.settings import load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.config import load_config, to_yaml, with_values
from sim2real_estimator.setup.sources import build_efforts, build_model, build_sensors

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from live import node_process
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from waiting import PATIENCE, until

SECOND = 10**9
LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
ROBOT = """
config: estimator.yaml
rate: 500
clock_offset: 3600
start_position_sd: 0.6
motion: {shoulder: {amplitude: 0.7, frequencies: [0.8, 1.7]}}
streams:
  joint_states: {latency: 0.003, dropout: 0.1}
  hand: {rate: 100, occlusion: 0.2}
payloads: {weight: {link: lower, at: 1.0, mass: 0.3}}
"""


@dataclass
class Heard:
    """All that was heard: messages, and of joint states (sequence number, arrival, message)."""

    joints: list = field(default_factory=list)
    poses: list = field(default_factory=list)
    truths: list = field(default_factory=list)
    sent: list = field(default_factory=list)
    descriptions: list = field(default_factory=list)
    clocks: list = field(default_factory=list)
    late_truths: list = field(default_factory=list)


@dataclass
class Run:
    """What was heard of a node, how it ended, and the same robot without it."""

    heard: Heard
    exit_code: int
    output: str
    robot: SyntheticRobot


@pytest.fixture(scope='module')
def run(client, tmp_path_factory):
    folder = tmp_path_factory.mktemp('robot')
    more = {
        'model.urdf': str(CONFIG.with_suffix('.urdf')),
        'sensors.hand.kind': 'link_pose',
        'sensors.hand.topic': 'hand',
        'sensors.hand.link': 'lower',
        'sensors.hand.position_sd': 0.001,
        'sensors.hand.orientation_sd': 0.002,
    }
    (folder / 'estimator.yaml').write_text(to_yaml(with_values(config(), more)))
    (folder / 'robot.yaml').write_text(ROBOT)
    heard, node, output = Heard(), client.node, folder / 'output'

    def take(message, info):
        heard.joints.append((info['publication_sequence_number'], time.time_ns(), message))

    subscriptions = [
        node.create_subscription(JointState, '/joint_states', take, 1000),
        node.create_subscription(PoseStamped, '/hand', heard.poses.append, BEST_EFFORT),
        node.create_subscription(
            JointState, '/synthetic_robot/truth', heard.truths.append, LATCHED
        ),
        node.create_subscription(JointState, '/synthetic_robot/sent', heard.sent.append, 10),
        node.create_subscription(Clock, '/clock', heard.clocks.append, BEST_EFFORT),
    ]
    arguments = ('-p', 'publish_clock:=true', '-p', 'seed:=6')
    file = folder / 'robot.yaml'
    with node_process(file, output, *arguments, module='app.synthetic.node') as process:
        client.wait(lambda: len(heard.truths) == 2, 'the payload')
        client.wait(
            lambda: heard.sent and heard.sent[-1].position[0] > 1000, 'a thousand joint states'
        )
        # Who comes late is told too.
        for kind, topic, taken in (
            (String, '/robot_description', heard.descriptions),
            (JointState, '/synthetic_robot/truth', heard.late_truths),
        ):
            subscriptions.append(node.create_subscription(kind, topic, taken.append, LATCHED))
        client.wait(lambda: heard.descriptions and len(heard.late_truths) == 2, 'what is latched')
        until(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None, 'the end')
    for subscription in subscriptions:
        node.destroy_subscription(subscription)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    robot = SyntheticRobot(with_values(load_synthetic(file), {'seed': 6}))
    torch.set_num_threads(before)
    return Run(heard, process.returncode, output.read_text(), robot)


def stamp_ns(stamp):
    return stamp.sec * SECOND + stamp.nanosec


def test_it_sends_what_the_robot_without_ros_sends(run):
    joints = [reading for reading in run.robot.run(10) if reading.topic == 'joint_states']
    heard = [message for _, _, message in run.heard.joints]
    # Those heard from the start on, as discovery takes what it takes.
    starts = [tuple(reading.content.position) for reading in joints]
    first = starts.index(tuple(heard[0].position))
    assert len(joints) - first > 200
    for reading, message in zip(joints[first:], heard):
        assert tuple(message.name) == reading.content.names
        assert tuple(message.position) == reading.content.position
        assert tuple(message.velocity) == reading.content.velocity
        assert tuple(message.effort) == reading.content.effort


def test_messages_are_those_that_the_sensors_decode(run):
    estimators = load_config(run.robot.settings.source.replace('robot.yaml', 'estimator.yaml'))
    model = build_model(estimators)
    sensors = {sensor.name: sensor for sensor in build_sensors(estimators, model)}
    (efforts,) = build_efforts(estimators, model)
    for _, _, message in run.heard.joints:
        for source in (sensors['encoders'], efforts):
            (sample,) = source.decode(message).samples
            assert np.isfinite(sample.values).all()
    decoded = [sensors['hand'].decode(message) for message in run.heard.poses]
    assert {message.header.frame_id for message in run.heard.poses} == {'map'}
    statuses = [status.value for each in decoded for status in each.statuses]
    assert set(statuses) == {'occluded'}
    assert any(each.samples for each in decoded)


def test_numbers_and_stamps_grow_and_losses_are_accounted_for(run):
    numbers = [number for number, _, _ in run.heard.joints]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    stamps = [stamp_ns(message.header.stamp) for _, _, message in run.heard.joints]
    # The clock's offset, and no arrival before the latency.
    for stamp, (_, arrival, _) in zip(stamps, run.heard.joints):
        assert arrival - (stamp - 3600 * SECOND) > 3_000_000
    gaps = np.round(np.diff(stamps) / 2e6).astype(int)
    assert gaps.min() >= 1
    assert gaps.max() > 1
    for account in run.heard.sent:
        assert account.name == ['joint_states', 'hand']
        assert account.effort[0] >= 0
    made, lost = (np.array([getattr(a, key)[0] for a in run.heard.sent])
                  for key in ('position', 'velocity'))  # fmt: skip
    assert (np.diff(made) >= 0).all()
    assert 0.03 * made[-1] < lost[-1] < 0.2 * made[-1]
    # The publisher's own numbers say the same, as far as all has arrived.
    account = [a for a in run.heard.sent if stamp_ns(a.header.stamp) < stamps[-1]][-1]
    end = stamp_ns(account.header.stamp)
    sent = [number for number, stamp in zip(numbers, stamps) if stamp <= end]
    assert sent[-1] == account.position[0] - account.velocity[0]


def test_the_truth_is_told_at_every_change_and_to_who_comes_late(run):
    assert run.heard.late_truths == run.heard.truths
    list(run.robot.run(1.1))
    for message, truth in zip(run.heard.truths, run.robot.truths):
        assert dict(zip(message.name, message.position)) == truth.values
    first, second = (stamp_ns(message.header.stamp) for message in run.heard.truths)
    assert (second - first) % (2 * 10**6) == 0
    assert second - first >= SECOND


def test_description_and_clock(run):
    assert run.heard.descriptions[0].data == CONFIG.with_suffix('.urdf').read_text()
    clocks = [stamp_ns(message.clock) for message in run.heard.clocks]
    assert len(clocks) > 50
    assert np.diff(clocks).min() >= 10**7
    told = stamp_ns(run.heard.truths[0].header.stamp)
    assert told <= clocks[0] < told + PATIENCE * SECOND


def test_it_ends_cleanly_however_often_it_is_interrupted(run):
    assert run.exit_code == 0
    assert 'Traceback' not in run.output


@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        ((), 'parameter config_file: is empty; give the YAML file of the settings'),
        (('-p', 'seed:=-2'), 'seed'),
        (('-p', 'config_file:=nowhere.yaml'), 'nowhere.yaml: cannot be read'),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(arguments, sentence, tmp_path):
    output = tmp_path / 'output'
    with node_process(None, output, *arguments, module='app.synthetic.node') as process:
        assert process.wait(PATIENCE) == 2
    (said,) = output.read_text().splitlines()
    assert said.startswith('synthetic_robot: ')
    assert sentence in said
