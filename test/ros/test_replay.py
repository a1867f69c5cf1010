"""A recording over real DDS, and the node that listens to it by the time of the recording."""

from dataclasses import replace
import os

import pytest
from simulated import CONFIG
import swinging

from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.bags.writer import BagWriter
from sim2real_estimator.cli import main
from sim2real_estimator.config import load_config, to_yaml
from sim2real_estimator.messages import serialized

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from live import command_process, node_process
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from recordings import stamp_ns
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from sim2real_estimator.ros.publishers import read_events
from sim2real_estimator.ros.recording.keys import Keys
from sim2real_estimator.ros.recording.replay import names_of

SECONDS = 2.5


@pytest.fixture(scope='module')
def config_file(tmp_path_factory):
    """Write settings with which the recording is quickly understood; return the path."""
    config = swinging.config()
    urdf = str(CONFIG.with_suffix('.urdf'))
    path = tmp_path_factory.mktemp('settings') / 'robot.yaml'
    path.write_text(to_yaml(replace(config, model=replace(config.model, urdf=urdf))))
    return path


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return swinging.bag(tmp_path_factory.mktemp('recorded') / 'swing', SECONDS)


@pytest.fixture(scope='module')
def node(client, config_file, tmp_path_factory):
    """Start a node by simulated time; yield the events that it tells."""
    events = []

    def hear(message):
        events.extend(read_events(message)[1])

    topic = '/sim2real_estimator/events'
    subscription = client.node.create_subscription(DiagnosticArray, topic, hear, 100)
    output = tmp_path_factory.mktemp('node') / 'output'
    with node_process(config_file, output, '-p', 'use_sim_time:=true') as process:
        client.forget()
        client.wait(lambda: client.status('worker'), 'the first diagnostics')
        client.wait(lambda: client.status('worker')[1] == 'running', 'the worker')
        yield process, events
    client.node.destroy_subscription(subscription)


def test_a_node_by_the_time_of_the_recording_finds_the_robot(
    client, node, bag, config_file, tmp_path
):
    with BagReader(bag) as opened:
        count, end_ns = opened.topics['/joint_states'].count, opened.end_ns
    arguments = 'replay', bag, '--rate', 3, '--config', config_file, '--wait'
    with command_process(tmp_path / 'output', *arguments) as process:
        client.wait(lambda: process.poll() is not None, 'the end of the recording')
        assert process.returncode == 0
    client.wait(
        lambda: (
            client.health['worker'].get('messages taken') == str(2 * count)
            and client.health['estimate'].get('stage') == 'filter'
            and client.estimates
            and stamp_ns(client.estimates[-1]) > end_ns - 10**8
        ),
        'all messages',
    )
    last, truth = client.estimates[-1], swinging.robot().truth.values
    assert abs(last.position[0] - truth[last.name[0]]) < 4 * last.velocity[0]
    assert last.name[0] == 'lower.mass' and last.velocity[0] < 0.05 * truth['lower.mass']
    # Stamps of the recording are years old, and yet none are behind the node's clock.
    assert abs(float(client.health['estimate']['data age [s]'])) < SECONDS


def test_where_it_begins_anew_the_clock_jumps_and_the_node_goes_on(client, node, bag, tmp_path):
    process, events = node
    client.estimates.clear()
    clocks = []
    best_effort = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
    subscription = client.node.create_subscription(Clock, '/clock', clocks.append, best_effort)

    def jumps():
        return any(event.name == 'clock jumped' for event in events)

    def returns():
        stamps = [stamp_ns(message) for message in client.estimates]
        return sum(later < before for before, later in zip(stamps, stamps[1:]))

    with command_process(tmp_path / 'output', 'replay', bag, '--rate', 3, '--loop') as replay:
        # Once where it is played again after the test before, and then at its end.
        client.wait(lambda: jumps() and returns(), 'a jump')
        seen = len(client.estimates)
        client.wait(lambda: len(client.estimates) > seen + 3 and clocks, 'what comes after it')
        assert replay.poll() is None and process.poll() is None
    client.node.destroy_subscription(subscription)
    assert not [event for event in events if event.name == 'worker replaced']
    with BagReader(bag) as opened:
        begin_ns, end_ns = opened.begin_ns, opened.end_ns
    times = [message.clock.sec * 10**9 + message.clock.nanosec for message in clocks]
    assert begin_ns <= min(times) and max(times) <= end_ns


def test_topics_are_those_of_the_recording_or_those_that_the_config_asks_for(
    bag, config_file, tmp_path
):
    config = load_config(config_file)
    with BagReader(bag) as opened, BagWriter(tmp_path / 'moved') as moved:
        for _, time_ns, content in opened.messages(['/joint_states']):
            moved.write('/left/joint_states', 'sensor_msgs/msg/JointState', time_ns, content)
            moved.write('/clock', 'rosgraph_msgs/msg/Clock', time_ns, serialized(Clock()))
        assert names_of(opened) == {'/joint_states': '/joint_states'}
    with BagReader(tmp_path / 'moved') as opened:
        assert names_of(opened) == {'/left/joint_states': '/left/joint_states'}
        assert names_of(opened, config) == {'/left/joint_states': 'joint_states'}


def test_somebody_at_the_keyboard_goes_from_message_to_message(client, tmp_path):
    kept = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    with BagWriter(tmp_path / 'bag') as bag:
        bag.add('/told', 'std_msgs/msg/String', is_kept=True)
        bag.write('/told', 'std_msgs/msg/String', 10**14, serialized(String(data='<robot/>')))
        for number in range(10):
            content = serialized(JointState(name=[str(number)]))
            # Nobody waits for the next.
            time_ns = (number + 1) * 10**15
            bag.write('/steps', 'sensor_msgs/msg/JointState', time_ns, content)
    heard, told, late, (ours, theirs) = [], [], [], os.openpty()
    listening = [
        client.node.create_subscription(JointState, '/steps', heard.append, 10),
        client.node.create_subscription(String, '/told', told.append, 10),
    ]
    arguments = 'replay', tmp_path / 'bag', '--wait', '--start', 800_000
    with command_process(tmp_path / 'output', *arguments, keyboard=theirs) as process:
        # Also what came before the start, as it was kept; and it is kept again.
        client.wait(lambda: told, 'what was kept')
        listening.append(client.node.create_subscription(String, '/told', late.append, kept))
        os.write(ours, b's')
        client.wait(lambda: len(heard) == 1, 'the first')
        os.write(ours, b'sss')
        client.wait(lambda: len(heard) == 4 and late, 'three more')
        os.write(ours, b'q')
        client.wait(lambda: process.poll() is not None, 'the end')
        assert process.returncode == 0
    for each in listening:
        client.node.destroy_subscription(each)
    for each in (ours, theirs):
        os.close(each)
    assert [message.name[0] for message in heard] == list('0123')
    assert [message.data for message in told] == [message.data for message in late] == ['<robot/>']


def test_keys_are_read_in_a_terminal_and_nowhere_else():
    ours, theirs = os.openpty()
    with open(theirs, 'rb', buffering=0) as terminal, Keys(terminal) as keys:
        assert keys.is_there and keys.pressed() == ''
        os.write(ours, b' s')
        assert keys.pressed() == ' s'
    os.close(ours)
    with open(os.devnull) as nothing, Keys(nothing) as keys:
        assert not keys.is_there and keys.pressed() == ''


def test_a_bag_that_is_not_there_is_named(tmp_path, capsys):
    assert main(['replay', str(tmp_path / 'nowhere')]) == 2
    assert 'does not exist' in capsys.readouterr().err
