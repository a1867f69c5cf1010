"""The node `adviser` over real DDS: a saved posterior in, a trajectory out."""

from dataclasses import replace
from pathlib import Path
import time

import measured_arms
from posteriors import feed
import pytest

from sim2real_estimator.config import to_yaml

pytest.importorskip('rclpy')

from live import node_process
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from waiting import PATIENCE

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def asked(client):
    """Return the answer of ~/suggest, asked again where the answer is lost (`Client.call`)."""
    for _ in range(3):
        service = client.node.create_client(Trigger, '/adviser/suggest')
        client.wait(service.service_is_ready, 'the service of the adviser')
        future, end = service.call_async(Trigger.Request()), time.monotonic() + PATIENCE / 3

        def is_over(future=future, end=end):
            return future.done() or time.monotonic() > end

        client.wait(is_over, 'a suggestion')
        if future.done():
            return future.result()
    raise AssertionError('asked in vain')


def test_a_motion_is_suggested_as_soon_as_there_is_a_posterior(client, tmp_path):
    pipeline, config = measured_arms.new_pipeline(), measured_arms.config()
    feed(pipeline, measured_arms.record(1.5).samples())
    urdf = str(Path(config.source).with_name(config.model.urdf))
    settings = tmp_path / 'settings.yaml'
    settings.write_text(to_yaml(replace(config, model=replace(config.model, urdf=urdf))))
    heard, said = [], []
    for kind, topic, into in (
        (JointTrajectory, 'trajectory', heard),
        (String, 'advice', said),
    ):
        client.node.create_subscription(kind, f'/adviser/{topic}', into.append, LATCHED)
    # Of a file that is in the folder of the settings no other settings are needed.
    arguments = ['-p', f'posterior:={tmp_path}', '-p', 'seconds:=3.0']
    arguments += ['-p', 'wishes:=[elbow.*]', '-p', 'start:=[elbow=0.2]']
    with node_process(None, tmp_path / 'output', *arguments, module='app.adviser.node'):
        answer = asked(client)
        assert not answer.success and 'cannot be read' in answer.message
        pipeline.save(tmp_path / 'posterior.npz')
        answer = asked(client)
        assert answer.success, answer.message
        assert 'A motion of 3 s' in answer.message
        client.wait(lambda: heard and said, 'a trajectory')
    (trajectory,) = heard
    assert tuple(trajectory.joint_names) == measured_arms.JOINTS
    elbow = trajectory.joint_names.index('elbow')
    first, last = trajectory.points[0], trajectory.points[-1]
    assert first.positions[elbow] == pytest.approx(0.2, abs=1e-6)
    assert list(first.velocities) == list(last.velocities) == [0.0, 0.0]
    assert last.time_from_start.sec == 3
