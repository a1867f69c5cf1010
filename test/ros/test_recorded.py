"""A live run over DDS and its recording lead to the same posterior, coarsened frames included."""

from dataclasses import replace

import numpy as np
import pytest
from simulated import CONFIG
import swinging

from sim2real_estimator import identify
from sim2real_estimator.bags.writer import BagWriter
from sim2real_estimator.config import load_config, to_yaml
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.posterior.file import load

pytest.importorskip('rclpy')

from live import node_process
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

SECONDS = 2.0
JOINT_STATE = 'sensor_msgs/msg/JointState'


def config_file(folder):
    """Write the settings of a node that makes longer frames at once; return the path."""
    config = swinging.config()
    urdf = str(CONFIG.with_suffix('.urdf'))
    config = replace(
        config,
        model=replace(config.model, urdf=urdf),
        frames=replace(config.frames, overload=0.2),
    )
    (folder / 'robot.yaml').write_text(to_yaml(config))
    return folder / 'robot.yaml'


def record(client, path, messages):
    """Write raw messages, as a recorder receives them, into a bag."""
    with BagWriter(path) as bag:
        for time_ns, content in messages:
            bag.write('/joint_states', JOINT_STATE, time_ns, content)
    return path


@pytest.fixture(scope='module')
def run(client, tmp_path_factory):
    """Return (settings, recording, posterior file) of a run of node and synthetic robot."""
    folder, heard = tmp_path_factory.mktemp('recorded'), []
    path = config_file(folder)
    qos = QoSProfile(depth=1000)

    def hear(content):
        heard.append((client.node.get_clock().now().nanoseconds, content))

    subscription = client.node.create_subscription(JointState, 'joint_states', hear, qos, raw=True)
    with node_process(path, folder / 'output'):
        client.forget()
        client.wait(lambda: client.status('worker'), 'the first diagnostics')
        client.wait(lambda: client.status('worker')[1] == 'running', 'the worker')
        publisher = client.publisher(JointState, 'joint_states')
        client.wait(lambda: publisher.get_subscription_count() == 2, 'node and recorder')
        sent = send(publisher, swinging.robot())
        client.wait(
            lambda: (
                client.health['worker'].get('messages taken') == str(2 * sent)
                and client.health['worker']['data waiting [s]'] == '0.000'
                and client.health['estimate'].get('stage') == 'filter'
                and len(heard) == sent
            ),
            f'{sent} messages',
        )
        answer = client.call(Trigger, 'save')
        assert answer.success, answer.message
    client.node.destroy_publisher(publisher)
    client.node.destroy_subscription(subscription)
    saved = answer.message.removeprefix('saved to ')
    return path, record(client, folder / 'run', heard), saved


def send(publisher, robot):
    """Publish what a robot sends; return how many messages that were."""
    from sim2real_estimator.app.synthetic.readings import message_of
    from sim2real_estimator.messages import ros_class

    def make(kind, **fields):
        return ros_class(kind)(**fields)

    readings = list(robot.run(SECONDS))
    for reading in readings:
        publisher.publish(message_of(reading, make))
    return len(readings)


def test_the_recording_leads_to_the_posterior_of_the_run_bit_for_bit(run):
    path, bag, saved = run
    live = load(saved)
    found = identify(bag, load_config(path), held_out=0, follow=saved)
    ours, theirs = found.posterior.mixture, live.mixture
    for name in ('log_weights', 'means'):
        assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes(), name
    assert ours.parameter_roots().tobytes() == theirs.parameter_roots().tobytes()
    assert found.posterior.recordings == live.recordings


def test_the_frames_of_the_run_were_longer_for_a_while(run):
    path, _, saved = run
    pipeline = Pipeline.from_config(load_config(path))
    pipeline.load(saved)
    lengths = np.diff(sorted(pipeline.stream.recorded_plan.bounds))
    assert lengths.min() < 0.015e9 < 0.035e9 < lengths.max()
