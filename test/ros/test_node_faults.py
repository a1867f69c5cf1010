"""What becomes of a running node when things around it go wrong, one after the other."""

import os
import resource
import signal

import numpy as np
import pytest
from simulated import CONFIG, record

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from listening import Listener
from live import Client, node_process
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from recordings import joint_state, SECOND, stamp_ns
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from waiting import PATIENCE

from sim2real_estimator.posterior.file import load

# The first part identifies the parameters; the other parts are of the same motion, later on.
FIRST, PART = 250, 100
SOURCES = ('encoders', 'commanded_efforts')


class Robot:
    """A recording that is sent piece by piece, and what the node says of it."""

    def __init__(self, client, process, folder):
        """Take the client, the node's process, and the folder of its posteriors."""
        self.client, self.process, self.folder = client, process, folder
        recording = record((FIRST + 5 * PART) / 100)
        self._rows = [*zip(recording.stamps, recording.angles, recording.torques)]
        self.sent, self._shift_ns = 0, 0
        self.publisher = client.publisher(JointState, 'joint_states')
        self._listener = Listener(client, ('events',))

    def set_clock(self, seconds):
        """Stamp from now on as if the latest one had been so much later."""
        self._shift_ns += round(seconds * SECOND)

    def send(self, number):
        """Send so many messages, and return the stamp of the last."""
        for stamp, *rest in self._rows[self.sent : self.sent + number]:
            self.publisher.publish(joint_state(stamp + self._shift_ns, *rest))
        self.sent += number
        return int(self._rows[self.sent - 1][0]) + self._shift_ns

    def estimate_after(self, stamp, before=None):
        """Wait for an estimate of a stamp or a later one, up to another, and return it."""

        def is_there():
            latest = self.client.estimates and stamp_ns(self.client.estimates[-1])
            return latest and stamp <= latest and (before is None or latest < before)

        self.client.wait(is_there, 'an estimate')
        return self.client.estimates[-1]

    def learn(self, number):
        """Send so many messages, and return the estimate that knows of all but the latest."""
        last = self.send(number)
        # The last ones wait for others that may come late.
        return self.estimate_after(last - SECOND // 5, last + 1)

    def count(self, source, status):
        """Return how often the latest diagnostics say that something became of a sample."""
        return int(self.client.health[f'samples of {source}'].get(status, 0))

    def wait_for_count(self, source, status, number):
        self.client.wait(lambda: self.count(source, status) >= number, f'{status} of {source}')

    def wait_for_status(self, task, words):
        """Wait until a status has some words, or the level OK where there are none."""

        def is_so():
            level, text = self.client.status(task)
            return words in text if words else level == DiagnosticStatus.OK

        self.client.wait(is_so, f'{task}: {words}')

    def event(self, name):
        """Wait for an event, and return its values; those before it are forgotten."""
        events = self._listener.events

        def found():
            return [event for _, event in events() if event.name == name]

        self.client.wait(found, f'the event {name}')
        (event, *_) = found()
        self._listener.heard['events'].clear()
        return event.values


def widths(estimate):
    return np.array(estimate.velocity)[: len(estimate.name)].sum()


@pytest.fixture(scope='module')
def robot(client, tmp_path_factory):
    """Run a node that has identified the parameters; at the end see it stop as it should."""
    folder = tmp_path_factory.mktemp('node')
    output, posteriors = folder / 'output', folder / 'posteriors'
    settings = ('-p', f'saving.folder:={posteriors}', '-p', 'node.rate:=500.0')
    with node_process(CONFIG, output, *settings) as process:
        client.forget()
        client.wait(
            lambda: client.status('worker') and client.status('worker')[1] == 'running', 'a node'
        )
        robot = Robot(client, process, posteriors)
        robot.learn(FIRST)
        yield robot
        client.node.destroy_publisher(robot.publisher)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    said = output.read_text()
    assert 'Traceback' not in said
    errors = [line for line in said.splitlines() if '[ERROR]' in line]
    assert all('was killed by SIGKILL' in e or 'is not saved' in e for e in errors)


def test_a_worker_killed_during_an_update_loses_what_came_since_and_no_more(robot):
    client = robot.client
    client.forget()
    client.wait(lambda: client.health.get('worker', {}).get('messages at risk') == '0', 'a copy')
    before = client.estimates[-1]
    known = {source: robot.count(source, 'used') for source in SOURCES}
    first, worker = stamp_ns(before), int(client.health['worker']['pid'])
    robot.send(PART // 2)
    robot.estimate_after(first + 1)
    # From now on it cannot send a copy either, and what it is given is lost.
    os.kill(worker, signal.SIGSTOP)
    client.forget()
    last = robot.send(PART - PART // 2)
    client.wait(
        lambda: client.health.get('worker', {}).get('messages at risk', '0') != '0', 'loss'
    )
    os.kill(worker, signal.SIGKILL)
    lost = int(robot.event('worker replaced')['messages lost'])
    assert 0 < lost <= 2 * PART
    robot.set_clock(1.0)
    after = robot.learn(PART)
    # What was known is known still, and the time that was lost is a gap.
    assert widths(after) < 1.1 * widths(before)
    assert stamp_ns(after) > last
    robot.wait_for_count('encoders', 'gap', 1)
    client.wait(lambda: client.health['worker']['backlog [messages]'] == '0', 'the backlog')
    worker = client.health['worker']
    assert (worker['deaths'], worker['messages lost by deaths']) == ('1', str(lost))
    # Each message was taken in or is counted as lost.
    assert int(worker['messages taken']) + lost == 2 * 2 * PART
    assert robot.count('encoders', 'used') > known['encoders']


def test_a_publisher_that_stops_and_comes_back_is_used_again(robot):
    robot.event('input lost')
    robot.wait_for_status('input /joint_states', 'nothing comes in')
    used, gaps = (robot.count('encoders', status) for status in ('used', 'gap'))
    before = robot.client.estimates[-1]
    robot.set_clock(3.0)
    after = robot.learn(PART)
    robot.event('input back')
    robot.wait_for_count('encoders', 'gap', gaps + 1)
    robot.wait_for_count('encoders', 'used', used + 1)
    assert widths(after) < 1.1 * widths(before)


@pytest.mark.parametrize(('seconds', 'status'), [(-60.0, 'jumped back'), (3600.0, 'gap')])
def test_where_the_clock_jumps_what_waited_is_left_and_what_is_known_stays(robot, seconds, status):
    before, number = robot.client.estimates[-1], robot.count('encoders', status)
    robot.set_clock(seconds)
    after = robot.learn(PART)
    values = robot.event('clock jumped')
    assert values['topic'] == '/joint_states'
    assert float(values['by [s]']) == pytest.approx(seconds, abs=1)
    assert abs(stamp_ns(after) - stamp_ns(before) - seconds * SECOND) < 2 * SECOND
    assert widths(after) < 1.1 * widths(before)
    robot.wait_for_count('encoders', status, number + 1)
    client = robot.client
    client.wait(lambda: 'jumped' not in client.status('input /joint_states')[1], 'the end of it')


def test_two_nodes_that_publish_one_topic_are_named(robot):
    intruder = Client('intruder')
    try:
        other = intruder.publisher(JointState, 'joint_states')
        names = '/client, /intruder'
        robot.wait_for_status('input /joint_states', f'the nodes {names} publish the same')
        assert robot.client.health['input /joint_states']['publishers'] == names
        intruder.node.destroy_publisher(other)
    finally:
        intruder.close()
    client = robot.client
    client.wait(
        lambda: client.health['input /joint_states']['publishers'] == '/client', 'the intruder off'
    )


def test_where_there_is_no_space_the_file_before_stays_and_it_is_told(robot):
    client, worker = robot.client, int(robot.client.health['worker']['pid'])
    response = client.call(Trigger, 'save')
    assert response.success, response.message
    (file,) = robot.folder.glob('*.npz')
    content = file.read_bytes()
    # Less than the file has, more than the log.
    before = resource.prlimit(worker, resource.RLIMIT_FSIZE, (len(content) // 2, -1))
    try:
        response = client.call(Trigger, 'save')
        assert not response.success
        assert 'cannot be written' in response.message
        robot.wait_for_status('saving', 'cannot be written')
        assert client.status('saving')[0] == DiagnosticStatus.ERROR
        assert [*robot.folder.iterdir()] == [file]
        assert file.read_bytes() == content
    finally:
        resource.prlimit(worker, resource.RLIMIT_FSIZE, before)
    assert client.call(Trigger, 'save').success
    robot.wait_for_status('saving', '')
    assert load(max(robot.folder.iterdir())).run is not None


def set_to(robot, name, value):
    """Set a parameter, and return the result."""
    kind = ParameterValue(type=ParameterType.PARAMETER_DOUBLE)
    if isinstance(value, str):
        kind = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    else:
        kind.double_value = value
    wish = Parameter(name=name, value=kind)
    return robot.client.call(SetParameters, 'set_parameters', parameters=[wish]).results[0]


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('node.rate', -5.0, 'node.rate: is -5.0; give a value above 0'),
        ('node.rate', float('nan'), 'node.rate: is nan'),
        ('node.rate', float('inf'), 'node.rate: is inf'),
        ('node.rate', 'often', "node.rate: is 'often'; give a number"),
        ('markers.horizon', 99.0, 'at most 10'),
        ('frames.max_rate', 5.0, 'clean up, set it, and configure again'),
        ('config_file', 'other.yaml', 'clean up, set it, and configure again'),
    ],
)
def test_parameters_that_cannot_be_set_are_refused_with_the_reason(robot, name, value, reason):
    refused = set_to(robot, name, value)
    assert not refused.successful
    assert reason in refused.reason


def test_parameters_that_may_change_do(robot):
    assert set_to(robot, 'node.rate', 5.0).successful
