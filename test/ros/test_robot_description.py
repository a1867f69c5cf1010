"""The robot from its topic: waited for, taken, and never mistaken for another, over real DDS."""

from dataclasses import replace
import os
import signal

import pytest
from simulated import CONFIG, config, record

from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.posterior.file import load

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from listening import Listener
from live import node_process
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from recordings import send, stamp_ns
from std_msgs.msg import String
from std_srvs.srv import Trigger
from waiting import PATIENCE

URDF = CONFIG.with_suffix('.urdf').read_text()
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# The same robot, and one with a heavier forearm.
RESPELT = URDF.replace('<robot ', '<!-- printed again -->\n<robot  ').replace('/>', ' />')
HEAVIER = URDF.replace('<mass value="1.0"/>', '<mass value="1.5"/>')
WITHOUT_LOWER = URDF.replace('"lower"', '"forearm"')
WITHOUT_ELBOW = URDF.replace('"elbow"', '"knee"')


class Robot:
    """Whoever publishes the description."""

    def __init__(self, client):
        """Begin with nothing published."""
        self._client = client
        self._publisher = client.node.create_publisher(String, 'robot_description', LATCHED)

    def be(self, text):
        """Publish a description."""
        self._publisher.publish(String(data=text))

    def close(self):
        """Publish no more."""
        self._client.node.destroy_publisher(self._publisher)


@pytest.fixture
def settings(tmp_path):
    """Return a config that leaves the robot to its topic, and a folder to the posterior."""
    file = tmp_path / 'config.yaml'
    changes = {
        'model.urdf': '',
        'node.robot_description': True,
        'estimate.lower.mass.sd': 0.3,
        'node.initial_posterior': 'posteriors',
        'saving.folder': 'posteriors',
    }
    file.write_text(to_yaml(replace(with_values(config(), changes), source='')))
    return file


def wait_for_robot(client, words, level=DiagnosticStatus.WARN):
    """Wait until the diagnostics say so of the robot; return all that they say of it."""
    client.forget()
    client.wait(
        lambda: client.status('robot') and words in client.status('robot')[1], f'robot: {words}'
    )
    assert client.status('robot')[0] == level
    return client.health['robot']


def wait_for_worker(client):
    client.forget()
    client.wait(
        lambda: client.status('worker') and client.status('worker')[1] == 'running', 'the worker'
    )


def change(client, transition):
    number = getattr(Transition, f'TRANSITION_{transition.upper()}')
    response = client.call(ChangeState, 'change_state', transition=Transition(id=number))
    assert response.success, transition


def set_rate(client, rate):
    kind = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=rate)
    wish = Parameter(name='node.rate', value=kind)
    return client.call(SetParameters, 'set_parameters', parameters=[wish]).results[0]


def saved(client):
    """Return the posterior that the node saves now."""
    response = client.call(Trigger, 'save')
    assert response.success, response.message
    return load(response.message.removeprefix('saved to '))


def send_all(client):
    """Send a recording, and wait until it has been taken in or ignored."""
    recording = record(2.0)
    before = handled(client)
    publisher = send(client, recording)
    client.wait(
        lambda: handled(client) >= before + len(recording.stamps) - 10, 'all of a recording'
    )
    client.node.destroy_publisher(publisher)
    return recording


def handled(client):
    counts = client.health['samples of encoders']
    return int(counts.get('used', 0)) + int(counts['ignored'])


def test_a_node_without_a_robot_waits_and_says_for_what(client, settings, tmp_path):
    output = tmp_path / 'output'
    with node_process(settings, output, '-p', 'autostart:=false') as process:
        # It goes through its states with and without a robot.
        for transition in ('configure', 'activate', 'deactivate', 'cleanup'):
            change(client, transition)
        for transition in ('configure', 'activate'):
            change(client, transition)
        found = wait_for_robot(client, 'waiting for the robot on /robot_description')
        assert (found['topic'], found['malformed']) == ('/robot_description', '0')
        assert client.call(GetState, 'get_state').current_state.label == 'active'
        response = client.call(Trigger, 'save')
        assert not response.success
        assert 'waiting for the robot on /robot_description' in response.message

        volatile = client.node.create_publisher(String, 'robot_description', 1)
        client.wait(
            lambda: client.health['robot']['incompatible QoS'] == '1', 'the volatile publisher'
        )
        client.node.destroy_publisher(volatile)
        robot = Robot(client)
        for number, text in enumerate(('arm.urdf', '<robot name="arm">'), 1):
            robot.be(text)
            client.wait(
                lambda number=number: client.health['robot']['malformed'] == str(number), text
            )
        robot.be(WITHOUT_ELBOW)
        wait_for_robot(client, 'elbow', DiagnosticStatus.ERROR)
        # What is to be estimated of it is known in the worker only.
        robot.be(WITHOUT_LOWER)
        wait_for_robot(client, 'lower.mass', DiagnosticStatus.ERROR)

        robot.be(URDF)
        wait_for_robot(client, 'in use', DiagnosticStatus.OK)
        wait_for_worker(client)
        # It is still that of the topic when a setting changes and for the next worker.
        assert set_rate(client, 500.0).successful
        os.kill(int(client.health['worker']['pid']), signal.SIGKILL)
        client.wait(lambda: client.health['worker']['deaths'] == '1', 'the death')
        wait_for_worker(client)
        client.estimates.clear()
        last = send_all(client).stamps[-1]
        # The publishers were made while the node was active.
        client.wait(
            lambda: client.estimates and stamp_ns(client.estimates[-1]) > last - 10**8,
            'an estimate',
        )
        robot.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    said = output.read_text()
    assert said.count('waiting for the robot on /robot_description; see that') == 2
    assert said.count('is no XML and is left out') == 1
    assert 'should be reliable and transient local' in said
    assert 'Traceback' not in said


def test_another_robot_stops_the_filter_until_it_is_configured_again(client, settings, tmp_path):
    output = tmp_path / 'output'
    robot = Robot(client)
    robot.be(URDF)
    with node_process(settings, output) as process:
        wait_for_robot(client, 'in use', DiagnosticStatus.OK)
        wait_for_worker(client)
        events = Listener(client, ('events',))
        recording = send_all(client)
        robot.be(RESPELT)
        for _ in range(2):  # the first may have been on its way already
            wait_for_robot(client, 'in use', DiagnosticStatus.OK)
        robot.be(HEAVIER)
        wait_for_robot(client, 'the robot description has become another')
        robot.be(HEAVIER)
        used = client.health['samples of encoders']['used']
        send_all(client)
        assert client.health['samples of encoders']['used'] == used
        ((stamp, event),) = [(at, e) for at, e in events.events() if e.name == 'stopped']
        assert event.is_warning and 'clean up, configure and activate' in event.text
        assert stamp == recording.stamps[-1]
        # It has been saved at once, and can still be.
        old = load(next((tmp_path / 'posteriors').glob('*.npz')))
        assert old.run['report'].stage != 'prior'
        assert saved(client).identity == old.identity
        for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
            change(client, transition)
        wait_for_robot(client, 'in use', DiagnosticStatus.OK)
        wait_for_worker(client)
        new = saved(client)
        assert new.identity['model_hash'] != old.identity['model_hash']
        # What was known of the other robot is no prior of this one.
        assert new.run['report'].stage == 'prior'
        events.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    robot.close()
    said = output.read_text()
    assert said.count('the robot description has become another') == 1
    assert 'Traceback' not in said
