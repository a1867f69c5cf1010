"""The node over real DDS, from a process of its own."""

from dataclasses import dataclass, replace
import os
import re
import signal

import numpy as np
import pytest
from simulated import CONFIG, config, record
import torch

from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Estimate, Findings, Sample

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from live import node_process
from rclpy.qos import QoSProfile, ReliabilityPolicy
from recordings import joint_state, stamp_ns
from sensor_msgs.msg import JointState
from waiting import is_running, PATIENCE, until

BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass
class Run:
    """What a node said of a recording, how it ended, and what the same arrays say."""

    estimates: list
    health: dict
    output: str
    worker: int
    exit_code: int
    expected: Estimate
    findings: Findings
    counts: dict
    messages: int


def from_arrays(recording):
    """Return the pipeline after the samples of a recording, without the node or messages."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    pipeline = Pipeline.from_config(config())
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        pipeline.push(Sample('encoders', int(stamp), angles))
        pipeline.push(Sample('commanded_efforts', int(stamp), torques))
    pipeline.step()
    torch.set_num_threads(before)
    return pipeline


def running(client):
    """Wait for the worker, and return its process id."""
    client.forget()
    client.wait(lambda: client.status('worker'), 'the first diagnostics')
    client.wait(lambda: client.status('worker')[1] == 'running', 'the worker')
    return int(client.health['worker']['pid'])


@pytest.fixture(scope='module')
def run(client, tmp_path_factory):
    recording, output = record(2.5), tmp_path_factory.mktemp('node') / 'output'
    pipeline = from_arrays(recording)
    expected, counts = pipeline.estimate(), pipeline.counts.table()
    updates = len(pipeline.stream.recorded_plan.bounds)
    messages = len(recording.stamps)
    with node_process(CONFIG, output) as process:
        worker = running(client)
        publisher = client.publisher(JointState, 'joint_states')
        client.estimates.clear()
        for row in zip(recording.stamps, recording.angles, recording.torques):
            publisher.publish(joint_state(*row))
        taken = str(2 * messages)
        client.wait(
            lambda: (
                client.health['worker'].get('messages taken') == taken
                and client.health['worker']['backlog [messages]'] == '0'
                and client.health['estimate'].get('stage') == expected.report.stage
                and client.health['worker']['updates'] == str(updates)
                and client.estimates
                and stamp_ns(client.estimates[-1]) == expected.stamp_ns
            ),
            f'{taken} messages taken',
        )
        client.node.destroy_publisher(publisher)
        # As an impatient user: whenever the next one comes, it must not spoil the end.
        until(lambda: process.send_signal(signal.SIGINT) or process.poll() is not None, 'the end')
    return Run(
        estimates=list(client.estimates),
        health=client.health,
        output=output.read_text(),
        worker=worker,
        exit_code=process.returncode,
        expected=expected,
        findings=pipeline.latest_findings(),
        counts=counts,
        messages=messages,
    )


def test_the_estimate_is_that_of_the_same_arrays_bit_for_bit(run):
    last = run.estimates[-1]
    assert stamp_ns(last) == run.expected.stamp_ns
    count = len(run.expected.names)
    assert tuple(last.name[:count]) == tuple(run.expected.names)
    assert np.array(last.position[:count]).tobytes() == run.expected.mean.tobytes()
    assert np.array(last.velocity[:count]).tobytes() == run.expected.sd.tobytes()


def test_combinations_that_data_can_tell_follow_the_parameters(run):
    last, known = run.estimates[-1], {c.label: c for c in run.findings.combinations}
    labels = last.name[len(run.expected.names) :]
    # The others are one parameter each, under its own name.
    assert set(known) - set(labels) == {'log(elbow.damping)', 'log(shoulder.damping)'}
    values = zip(labels, last.position[-len(labels) :], last.velocity[-len(labels) :])
    for label, mean, sd in values:
        assert (mean, sd) == (known[label].mean, known[label].sd)


def test_estimates_come_in_the_order_of_time(run):
    stamps = [stamp_ns(message) for message in run.estimates]
    assert stamps == sorted(set(stamps))


def test_diagnostics_count_every_message(run):
    assert set(run.health) == {
        'input /joint_states',
        'samples of encoders',
        'samples of commanded_efforts',
        'node',
        'worker',
        'estimate',
        'verdicts',
        'saving',
    }
    assert run.health['input /joint_states']['messages'] == str(run.messages)
    for source in ('encoders', 'commanded_efforts'):
        counts = {status: str(number) for status, number in run.counts[source].items()}
        assert run.health[f'samples of {source}'] == {**counts, 'dropped': '0', 'ignored': '0'}


def test_diagnostics_tell_how_the_estimate_and_the_worker_are(run):
    assert run.health['estimate']['stage'] == run.expected.report.stage
    assert float(run.health['estimate']['data age [s]']) > 0
    assert run.health['worker']['backend'] in ('native', 'eager')
    assert run.health['worker']['updates'] == str(run.counts['encoders']['used'])


def test_diagnostics_have_the_verdicts_with_names(run):
    told = run.health['verdicts']
    for parameter in run.findings.parameters:
        assert told[parameter.name] == parameter.verdict_text
    assert told['elbow.damping'] == 'identified'
    assert 'aliased with ' in told['upper.mass']
    assert told['no data tell'] == '; '.join(run.findings.null_directions)
    assert float(told['information [nats]']) > 10


def test_many_interrupts_end_it_cleanly(run):
    assert run.exit_code == 0
    assert 'Traceback' not in run.output
    assert not is_running(run.worker)


def test_poses_incompatible_qos_and_the_death_of_a_worker_are_told(client, tmp_path):
    settings = {
        'model.urdf': str(CONFIG.with_suffix('.urdf')),
        'sensors.hand.kind': 'link_pose',
        'sensors.hand.topic': 'hand',
        'sensors.hand.link': 'lower',
        'sensors.hand.position_sd': 0.001,
    }
    file, output = tmp_path / 'config.yaml', tmp_path / 'output'
    file.write_text(to_yaml(replace(with_values(config(), settings), source='')))
    with node_process(file, output) as process:
        worker = running(client)
        publisher = client.publisher(PoseStamped, 'hand', BEST_EFFORT)
        # Zeros are what drivers send for what they do not see; counted as soon as it is decoded.
        hidden = PoseStamped()
        hidden.pose.orientation.w = 0.0

        def is_counted():
            # Best effort: the first may find nobody.
            publisher.publish(hidden)
            return 'occluded' in client.health['samples of hand']

        client.wait(is_counted, 'a counted pose')
        heard = client.health['input /hand']['messages']
        assert client.health['samples of hand']['occluded'] == heard
        # Beside a reliable publisher one that is not is no reason to receive both worse.
        reliable = client.publisher(JointState, 'joint_states')
        unheard = client.node.create_publisher(JointState, 'joint_states', BEST_EFFORT)
        client.wait(
            lambda: client.health['input /joint_states']['incompatible QoS'] == '1',
            'a publisher from which nothing is received',
        )
        client.node.destroy_publisher(unheard)
        client.node.destroy_publisher(reliable)
        os.kill(worker, signal.SIGKILL)
        client.wait(lambda: client.health['worker']['deaths'] == '1', 'a death that is told')
        client.wait(lambda: client.status('worker')[1] == 'running', 'another worker')
        assert int(client.health['worker']['pid']) != worker
        until(lambda: 'was killed by SIGKILL' in output.read_text(), 'the error in the log')
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        client.node.destroy_publisher(publisher)
    assert 'Traceback' not in output.read_text()


def test_joint_states_that_are_published_best_effort_are_heard(client, tmp_path):
    output = tmp_path / 'output'
    with node_process(CONFIG, output) as process:
        running(client)
        publisher = client.node.create_publisher(JointState, 'joint_states', BEST_EFFORT)

        def is_heard():
            publisher.publish(JointState(name=['shoulder']))
            return client.health.get('input /joint_states', {}).get('messages', '0') != '0'

        client.wait(is_heard, 'a message of a best effort publisher')
        client.wait(
            lambda: client.health['input /joint_states']['incompatible QoS'] == '0', 'no complaint'
        )
        until(lambda: 'best effort only, and is now received so' in output.read_text(), 'the log')
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        client.node.destroy_publisher(publisher)
    assert 'override ours' not in output.read_text()
    assert 'Traceback' not in output.read_text()


@pytest.mark.parametrize(
    ('change', 'arguments', 'sentence'),
    [
        (None, (), 'parameter config_file: is empty; give the YAML file of the settings'),
        (None, ('-p', 'config_file:=3'), 'config_file'),
        (('lateness: 0.05', 'latenes: 0.05'), (), "did you mean 'lateness'?"),
        (
            ('seed: 0', 'seed: 1'),
            ('-p', 'qos_overrides./joint_states.subscription.depth:=a'),
            'qos',
        ),
        (('name: auto', 'name: oracle'), (), "estimator.name: is 'oracle'"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(change, arguments, sentence, tmp_path):
    file, output = tmp_path / 'config.yaml', tmp_path / 'output'
    if change:
        text = CONFIG.read_text().replace(*change)
        file.write_text(text.replace('urdf: ', f'urdf: {CONFIG.parent}/'))
    with node_process(file if change else None, output, *arguments) as process:
        assert process.wait(PATIENCE) == 2
    said = [line for line in output.read_text().splitlines() if 'listening' not in line]
    assert len(said) == 1
    assert said[0].startswith('sim2real_estimator: ')
    assert sentence in said[0]


def test_longer_frames_under_load_are_in_the_log_until_it_has_caught_up(client, tmp_path):
    settings = {
        'model.urdf': str(CONFIG.with_suffix('.urdf')),
        # Far less than the 2.5 s that come at once.
        'frames.overload': 0.1,
    }
    file, output = tmp_path / 'config.yaml', tmp_path / 'output'
    file.write_text(to_yaml(replace(with_values(config(), settings), source='')))
    begun, ended = 'frames are made longer', 'frames are as usual again'
    said = []

    def is_over():
        said[:] = re.findall(f'{begun}|{ended}', output.read_text())
        return said[-1:] == [ended]

    with node_process(file, output):
        running(client)
        publisher = client.publisher(JointState, 'joint_states')
        for row in zip(*(getattr(record(2.5), n) for n in ('stamps', 'angles', 'torques'))):
            publisher.publish(joint_state(*row))
        # A slow machine may fall behind again before it has caught up for good.
        until(is_over, 'the end of the overload')
        client.node.destroy_publisher(publisher)
    assert said == [begun, ended] * (len(said) // 2)
