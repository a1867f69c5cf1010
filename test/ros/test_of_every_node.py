"""What every node of ROS lets its users set: QoS of topics, simulated time, priority."""

from dataclasses import replace
from itertools import count
import math
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from simulated import CONFIG, config

from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.ros.worker.realtime import RealTime

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from live import node_process, ROOT
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from recordings import SECOND, stamp_ns
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

OVERRIDES = {
    '/joint_states.subscription.reliability': 'best_effort',
    '/sim2real_estimator/estimate.publisher.reliability': 'best_effort',
    '/sim2real_estimator/samples.publisher.durability': 'volatile',
    '/diagnostics.publisher.durability': 'transient_local',
    '/joint_state.subscription.depth': '9',
}
ROBOTS_TIME = 4000 * SECOND
NOBODY = 65534
DEAF = SimpleNamespace(warning=lambda text: None)
# Without privileges, and without a limit that would make up for them.
REFUSED = f"""
import os, resource
from types import SimpleNamespace
from sim2real_estimator.ros.worker.realtime import RealTime
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
if os.geteuid() == 0:
    os.setuid({NOBODY})
said = []
real_time = RealTime(7, SimpleNamespace(warning=said.append))
real_time.close()
print(real_time.words, *said, sep='\\n')
"""


def may_run_in_real_time():
    """Tell whether this system lets a process like this one be first."""
    real_time = RealTime(1, DEAF)
    real_time.close()
    return real_time.words.startswith('SCHED_FIFO 1')


@pytest.fixture(scope='module')
def node(client, tmp_path_factory):
    """Yield a node that simulated time does not reach yet, with much overridden."""
    folder = tmp_path_factory.mktemp('node')
    changes = {
        'model.urdf': str(CONFIG.with_suffix('.urdf')),
        'joints.shoulder.effort': 'measured',
        'joints.elbow.effort': 'commanded',
        'efforts.commanded': 'joint_commands',
        'node.realtime_priority': 3,
    }
    file = folder / 'config.yaml'
    file.write_text(to_yaml(replace(with_values(config(), changes), source='')))
    arguments = ['-p', 'use_sim_time:=true']
    for name, value in OVERRIDES.items():
        arguments += ['-p', f'qos_overrides.{name}:={value}']
    with node_process(file, folder / 'output', *arguments) as process:
        client.forget()
        client.wait(lambda: client.status('worker'), 'a configured node')
        process.output = folder / 'output'
        yield process


def qos_of(client, topic, is_reader):
    """Return the QoS of the only one that is not the client itself."""
    look = 'get_subscriptions_info_by_topic' if is_reader else 'get_publishers_info_by_topic'
    found = []

    def is_found():
        found[:] = [
            each for each in getattr(client.node, look)(topic) if each.node_name != 'client'
        ]
        return len(found) == 1

    client.wait(is_found, f'{topic} in the graph')
    return found[0].qos_profile


def test_the_qos_of_every_topic_can_be_overridden_and_only_of_that_topic(node, client):
    best_effort, reliable = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE
    assert qos_of(client, '/joint_states', True).reliability == best_effort
    assert qos_of(client, '/joint_commands', True).reliability == reliable
    name = '/sim2real_estimator'
    assert qos_of(client, f'{name}/estimate', False).reliability == best_effort
    assert qos_of(client, f'{name}/parameters', False).reliability == reliable
    kept, gone = DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE
    assert qos_of(client, f'{name}/samples', False).durability == gone
    assert qos_of(client, f'{name}/posterior', False).durability == kept
    assert qos_of(client, '/diagnostics', False).durability == kept


def test_commanded_efforts_come_by_name_as_well(node, client):
    publisher = client.publisher(JointState, '/joint_commands')

    stamps = count(1)

    def is_counted():
        for effort in (1.0, math.nan):
            message = JointState(name=['elbow', 'finger'], effort=[effort, 0.0])
            message.header.stamp.sec = next(stamps)
            publisher.publish(message)
        counts = client.health.get('samples of commanded_efforts', {})
        return 'missing effort' in counts and 'unknown joint' in counts

    client.wait(is_counted, 'an effort that is no number')
    client.node.destroy_publisher(publisher)


def test_an_override_of_no_topic_is_told(node, client):
    (line,) = [x for x in node.output.read_text().splitlines() if 'joint_state.' in x]
    assert 'WARN' in line and '/joint_states' in line


def test_a_best_effort_publisher_is_heard_where_that_was_asked_for(node, client):
    qos = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = client.publisher(JointState, '/joint_states', qos)

    def is_heard():
        publisher.publish(JointState())
        return client.health.get('input /joint_states', {}).get('messages', '0') != '0'

    client.wait(is_heard, 'a best effort message')
    assert client.health['input /joint_states']['incompatible QoS'] == '0'
    client.node.destroy_publisher(publisher)


def test_simulated_time_is_the_time_of_the_node(node, client):
    stamps = []
    subscription = client.node.create_subscription(
        DiagnosticArray, '/diagnostics', lambda m: stamps.append(stamp_ns(m)), 10
    )
    client.wait(lambda: stamps, 'diagnostics without any time')
    assert set(stamps) == {0}
    publisher = client.publisher(Clock, '/clock')
    message = Clock()
    message.clock.sec = ROBOTS_TIME // SECOND

    def is_taken_over():
        publisher.publish(message)
        return stamps[-1] == ROBOTS_TIME

    client.wait(is_taken_over, 'the time of the robot')
    client.node.destroy_publisher(publisher)
    client.node.destroy_subscription(subscription)


def test_what_receives_is_first_and_what_computes_is_not(node, client):
    if not may_run_in_real_time():
        pytest.skip('this system refuses SCHED_FIFO')
    client.wait(lambda: client.status('worker')[1] == 'running', 'the worker')
    assert client.health['node']['scheduling'] == 'SCHED_FIFO 3'
    assert os.sched_getscheduler(node.pid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
    assert os.sched_getparam(node.pid).sched_priority == 3
    worker = int(client.health['worker']['pid'])
    assert os.sched_getscheduler(worker) == os.SCHED_OTHER
    # The next one is started by the thread that is first.
    os.kill(worker, signal.SIGKILL)
    client.wait(lambda: client.health['worker']['deaths'] == '1', 'the death')
    client.wait(lambda: client.status('worker')[1] == 'running', 'another worker')
    assert os.sched_getscheduler(int(client.health['worker']['pid'])) == os.SCHED_OTHER


def test_a_thread_is_left_as_it_was():
    before = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    for priority in (0, 1) if may_run_in_real_time() else (0,):
        real_time = RealTime(priority, DEAF)
        real_time.close()
        assert os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == before


def test_a_refused_priority_is_a_warning_with_the_remedy():
    done = subprocess.run(
        [sys.executable, '-c', REFUSED],
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    words, warning = done.stdout.splitlines()
    assert words == 'as usual: SCHED_FIFO 7 was refused'
    assert 'SCHED_FIFO 7 is refused' in warning
    for remedy in ('/etc/security/limits.conf', 'LimitRTPRIO', 'node.realtime_priority to 0'):
        assert remedy in warning
