"""The node through its life cycle, and what it does on request, over real DDS."""

import os
from pathlib import Path
import signal

import numpy as np
import pytest
from simulated import CONFIG, record

from sim2real_estimator.posterior.file import load

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from listening import Listener
from live import node_process
from rclpy.qos import QoSProfile
from recordings import joint_state, send, stamp_ns
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool, Trigger
from waiting import is_running, PATIENCE


def change(client, transition):
    """Ask for a transition, and return the state after it."""
    number = getattr(Transition, f'TRANSITION_{transition.upper()}')
    client.call(ChangeState, 'change_state', transition=Transition(id=number))
    return client.call(GetState, 'get_state').current_state.label


def stop(process, number):
    """End a node by a signal, and return its exit status."""
    process.send_signal(number)
    return process.wait(PATIENCE)


def test_every_transition_leads_where_it_should(client, tmp_path):
    with node_process(CONFIG, tmp_path / 'output', '-p', 'autostart:=false') as process:
        assert client.call(GetState, 'get_state').current_state.label == 'unconfigured'
        response = client.call(Trigger, 'save')
        assert not response.success
        assert 'configure' in response.message
        assert change(client, 'configure') == 'inactive'
        # What takes seconds to load, and its threads, are for the worker alone.
        assert 'libtorch' not in Path(f'/proc/{process.pid}/maps').read_text()

        publisher = client.publisher(JointState, 'joint_states')
        publisher.publish(joint_state(10**9, np.zeros(2), np.zeros(2)))
        client.wait(
            lambda: client.health.get('samples of encoders', {}).get('ignored') == '1',
            'a message that is ignored before the node is active',
        )
        assert change(client, 'activate') == 'active'
        assert change(client, 'deactivate') == 'inactive'
        worker = int(client.health['worker']['pid'])
        assert change(client, 'cleanup') == 'unconfigured'
        assert not is_running(worker)
        client.node.destroy_publisher(publisher)

        assert change(client, 'configure') == 'inactive'
        assert change(client, 'activate') == 'active'
        assert change(client, 'active_shutdown') == 'finalized'
        assert stop(process, signal.SIGINT) == 0
    assert 'Traceback' not in (tmp_path / 'output').read_text()


def test_it_saves_forgets_pauses_and_goes_on(client, tmp_path):
    recording, folder = record(2.0), tmp_path / 'posteriors'
    settings = ('-p', f'saving.folder:={folder}', '-p', 'saving.keep:=2', '-p', 'node.rate:=500.0')
    with node_process(CONFIG, tmp_path / 'output', *settings) as process:
        publisher = client.publisher(JointState, 'joint_states')
        rows = [*zip(recording.stamps, recording.angles, recording.torques)]
        client.estimates.clear()
        for row in rows[:-1]:
            publisher.publish(joint_state(*row))

        def newest():
            return client.estimates and stamp_ns(client.estimates[-1])

        client.wait(lambda: newest() and newest() > rows[-10][0], 'an estimate')
        response = client.call(Trigger, 'save')
        assert response.success, response.message
        (file,) = folder.glob('*.npz')
        assert file.name in response.message
        known = load(file)
        assert known.run['report'].stage != 'prior'

        response = client.call(SetBool, 'set_enabled', data=False)
        assert response.success
        publisher.publish(joint_state(*rows[-1]))
        client.wait(
            lambda: client.health['samples of encoders']['ignored'] == '1', 'a message ignored'
        )
        assert client.call(SetBool, 'set_enabled', data=True).success

        assert client.call(Trigger, 'reset').success
        response = client.call(Trigger, 'save')
        assert response.success, response.message
        begun_again = load(max(folder.glob('*.npz')))
        assert begun_again.run['report'].stage == 'prior'
        widths = [np.linalg.norm(each.mixture.roots) for each in (known, begun_again)]
        assert widths[0] < widths[1]
        client.node.destroy_publisher(publisher)
        assert stop(process, signal.SIGTERM) == 0
        # One more was written at the end, and only the last two stay.
        assert len([*folder.glob('*.npz')]) == 2
        assert not [*folder.glob('.*')]

    name = max(folder.glob('*.npz')).name
    settings = ('-p', f'node.initial_posterior:={folder}')
    with node_process(CONFIG, tmp_path / 'output', *settings) as process:
        client.forget()
        client.wait(lambda: client.status('worker'), 'the worker')
        client.wait(lambda: client.status('worker')[1] == 'running', name)
        assert stop(process, signal.SIGINT) == 0


def test_a_transition_that_the_state_does_not_have_is_refused(client, tmp_path):
    output = tmp_path / 'output'
    with node_process(CONFIG, output, '-p', 'autostart:=false') as process:
        assert change(client, 'configure') == 'inactive'
        for number in (Transition.TRANSITION_CONFIGURE, 99):
            refused = client.call(ChangeState, 'change_state', transition=Transition(id=number))
            assert not refused.success
        refused = client.call(ChangeState, 'change_state', transition=Transition(label='dance'))
        assert not refused.success
        assert change(client, 'activate') == 'active'
        assert stop(process, signal.SIGINT) == 0
    assert "transition '1' is refused: the node is inactive" in output.read_text()


def test_a_time_before_zero_on_the_clock_is_ignored(client, tmp_path):
    output = tmp_path / 'output'
    settings = ('-p', 'autostart:=false', '-p', 'use_sim_time:=true')
    with node_process(CONFIG, output, *settings) as process:
        client.wait(lambda: client.status('node'), 'the node')
        publisher = client.publisher(Clock, '/clock')

        def is_said():
            # Whoever listens keeps one message only.
            before_zero = Clock()
            before_zero.clock.sec = -5
            publisher.publish(before_zero)
            return 'before zero' in output.read_text()

        client.wait(is_said, 'a warning')
        assert change(client, 'configure') == 'inactive'
        client.node.destroy_publisher(publisher)
        assert stop(process, signal.SIGINT) == 0


def test_a_node_whose_workers_die_one_after_the_other_is_deactivated(client, tmp_path):
    output, beats = tmp_path / 'output', []
    with node_process(CONFIG, output) as process:
        client.node.create_subscription(Header, '/sim2real_estimator/heartbeat', beats.append, 1)
        client.forget()
        client.wait(lambda: beats, 'a heartbeat')
        killed = set()

        def is_over():
            worker = int(client.health.get('worker', {}).get('pid', 0))
            if worker and worker not in killed and is_running(worker):
                killed.add(worker)
                os.kill(worker, signal.SIGKILL)
            return client.status('node') and client.status('node')[0] == DiagnosticStatus.ERROR

        client.wait(is_over, 'the end of its patience')
        assert len(killed) == 4
        assert client.call(GetState, 'get_state').current_state.label == 'inactive'
        assert change(client, 'activate') == 'inactive'
        beats.clear()
        assert change(client, 'cleanup') == 'unconfigured'
        assert change(client, 'configure') == 'inactive'
        assert change(client, 'activate') == 'active'
        client.wait(lambda: beats, 'a heartbeat again')
        assert stop(process, signal.SIGINT) == 0
    said = output.read_text()
    assert 'the node is deactivated; clean up and configure again' in said
    assert 'there is no worker any more' in said and 'Traceback' not in said


def test_a_thousand_calls_at_once_are_all_answered_by_few_files(client, tmp_path):
    folder = tmp_path / 'posteriors'
    with node_process(CONFIG, tmp_path / 'output', '-p', f'saving.folder:={folder}') as process:
        client.forget()
        client.wait(
            lambda: client.status('worker') and client.status('worker')[1] == 'running', 'a node'
        )
        many = QoSProfile(depth=2000)
        caller = client.node.create_client(Trigger, '/sim2real_estimator/save', qos_profile=many)
        client.wait(caller.service_is_ready, 'the service')
        calls = [caller.call_async(Trigger.Request()) for _ in range(1000)]
        client.wait(lambda: all(call.done() for call in calls), 'all answers')
        assert all(call.result().success for call in calls)
        assert 0 < len([*folder.glob('*.npz')]) < 500
        assert stop(process, signal.SIGINT) == 0


def test_nothing_is_published_while_it_is_not_active(client, tmp_path):
    with node_process(CONFIG, tmp_path / 'output', '-p', 'autostart:=false') as process:
        listener, recording = Listener(client), record(0.5)
        assert change(client, 'configure') == 'inactive'
        publisher = send(client, recording)
        client.wait(
            lambda: client.health.get('samples of encoders', {}).get('ignored') == '51',
            'messages that are ignored',
        )
        response = client.call(Trigger, 'draw_samples')
        assert not response.success
        assert 'activate it first' in response.message
        assert not any(listener.heard.values())

        assert change(client, 'activate') == 'active'
        response = client.call(Trigger, 'draw_samples')
        assert response.success, response.message
        client.wait(lambda: listener.latest('samples'), 'samples of the prior')
        assert change(client, 'deactivate') == 'inactive'
        for messages in listener.heard.values():
            messages.clear()
        client.node.destroy_publisher(publisher)
        publisher = send(client, recording)
        client.wait(
            lambda: client.health['samples of encoders']['ignored'] == '102', 'ignored again'
        )
        assert not any(listener.heard.values())
        client.node.destroy_publisher(publisher)
        assert change(client, 'cleanup') == 'unconfigured'
        # What was kept for whoever comes later went with it.
        late = Listener(client, ('samples',))
        client.forget()
        client.wait(lambda: client.status('node') == (b'\x00', 'unconfigured'), 'the clean-up')
        assert not late.heard['samples']
        late.close()
        listener.close()
        assert stop(process, signal.SIGINT) == 0
