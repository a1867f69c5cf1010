"""The recorder over real DDS: killed, ended, and with topics of any kind."""

from contextlib import suppress
import signal

import pytest
from simulated import CONFIG
import swinging

from sim2real_estimator import identify
from sim2real_estimator.app.synthetic.readings import message_of
from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.errors import DataError
from sim2real_estimator.messages import ros_class

pytest.importorskip('rclpy')

from live import command_process
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from waiting import PATIENCE, until

from sim2real_estimator.ros.recording.recorder import NAME

JOINTS, KILLED, ESTIMATE = '/joint_states', '/killed/joint_states', '/sim2real_estimator/estimate'


def sent():
    """Return the messages of a robot."""

    def make(kind, **fields):
        return ros_class(kind)(**fields)

    readings = swinging.robot().run(swinging.SECONDS)
    return [message_of(reading, make) for reading in readings]


def recorded(path, topic=JOINTS, kind=JointState):
    """Return the messages of a topic of a recording, even while it grows."""
    with suppress(DataError), BagReader(path) as bag:
        if topic in bag.topics:
            return [deserialize_message(raw, kind) for _, _, raw in bag.messages([topic])]
    return []


def publisher_to_recorder(client, topic, qos=None):
    """Return a publisher that the recorder listens to, not only a node killed some seconds ago."""
    publisher = client.publisher(JointState, topic, qos)

    def is_heard():
        found = client.node.get_subscriptions_info_by_topic(topic)
        return any(info.node_name == NAME for info in found)

    client.wait(is_heard, f'the recorder at {topic}')
    return publisher


def publish(client, messages, topic=JOINTS):
    publisher = publisher_to_recorder(client, topic)
    for message in messages:
        publisher.publish(message)
    return publisher


def test_after_a_kill_all_is_there_but_for_the_last_moment(client, tmp_path):
    path, messages = tmp_path / 'bag', sent()
    arguments = 'record', '--config', CONFIG, '--output', path
    # For some seconds more the others take it for one who listens.
    arguments = *arguments, '--ros-args', '-r', '__ns:=/killed'
    with command_process(tmp_path / 'output', *arguments) as process:
        publisher = publish(client, messages, KILLED)
        # Nothing but time closes the chunk: there is less than what makes a recorder do it.
        until(lambda: len(recorded(path, KILLED)) == len(messages), 'the messages in the file')
        publisher.publish(messages[-1])
        process.kill()
        process.wait(PATIENCE)
    client.node.destroy_publisher(publisher)
    assert not (path / 'metadata.yaml').exists()
    assert recorded(path, KILLED)[: len(messages)] == messages
    found = identify(path, swinging.config(), held_out=0)
    assert 'has no end' in found.bags[0].warnings[0]
    expected = swinging.fed()
    assert found.posterior.mixture.means.tobytes() == expected.mixture.means.tobytes()


def test_inputs_and_outputs_are_recorded_as_they_come(client, tmp_path):
    path, messages = tmp_path / 'bag', sent()[:20]
    arguments = 'record', '--config', CONFIG, '--output', path
    with command_process(tmp_path / 'output', *arguments) as process:
        estimates = publisher_to_recorder(client, ESTIMATE, QoSProfile(depth=10))
        publisher = publish(client, messages)
        estimates.publish(JointState(name=['lower.mass'], position=[1.5]))
        both = JOINTS, ESTIMATE
        until(lambda: sum(len(recorded(path, topic)) for topic in both) == 21, 'all in the file')
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    for each in (publisher, estimates):
        client.node.destroy_publisher(each)
    with BagReader(path) as bag:
        assert bag.warnings == ()
        counts = {name: topic.count for name, topic in bag.topics.items()}
        kept = {name for name, topic in bag.topics.items() if topic.is_kept}
    assert counts.pop(JOINTS) == 20 and counts.pop(ESTIMATE) == 1
    assert '/diagnostics' in counts and not any(counts.values())
    assert kept == {
        f'/sim2real_estimator/{name}'
        for name in ('posterior', 'coordinates', 'samples', 'payload', 'payload_uncertainty')
    }
    assert recorded(path) == messages
    assert f'20  {JOINTS}' in (tmp_path / 'output').read_text()


def test_without_a_config_whatever_there_is_is_recorded(client, tmp_path):
    path = tmp_path / 'bag'
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    with command_process(tmp_path / 'output', 'record', '--output', path) as process:
        publisher = client.node.create_publisher(String, 'robot_description', latched)
        publisher.publish(String(data='<robot/>'))
        until(lambda: recorded(path, '/robot_description', String), 'the description in the file')
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    client.node.destroy_publisher(publisher)
    assert recorded(path, '/robot_description', String) == [String(data='<robot/>')]
    with BagReader(path) as bag:
        assert bag.topics['/robot_description'].is_kept and '/rosout' not in bag.topics


def test_a_recording_that_is_there_is_left_alone(client, tmp_path):
    (tmp_path / 'bag').mkdir()
    arguments = 'record', '--config', CONFIG, '--output', tmp_path / 'bag'
    with command_process(tmp_path / 'output', *arguments) as process:
        assert process.wait(PATIENCE) == 2
    assert 'exists already' in (tmp_path / 'output').read_text()
    assert list((tmp_path / 'bag').iterdir()) == []
