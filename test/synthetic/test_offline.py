"""The estimator finds what the synthetic robot hides: the whole flow, without ROS."""

from dataclasses import replace

import pytest
from simulated import CONFIG

from sim2real_estimator.app.synthetic.settings import load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import estimates, SyntheticRobot
from sim2real_estimator.config import load_config
from sim2real_estimator.config.settings_tree import SensorConfig
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Happened

ROBOT = """
seed: 2
motion:
  shoulder: {amplitude: 0.75, frequencies: [0.31, 0.83, 1.4, 2.3]}
  elbow: {amplitude: 0.3, frequencies: [0.47, 1.1, 1.9, 2.6]}
streams:
  joint_states: {latency: 0.01, jitter: 0.003}
payloads:
  weight: {link: lower, at: 2.5, mass: 0.3, com: [0.0, 0.0, -0.4]}
"""


@pytest.fixture(scope='module')
def found(make):
    """Return (robot, its estimates): for five seconds after a change nothing else is said."""
    robot = make(ROBOT)
    pipeline = Pipeline.from_config(robot.config)
    return robot, list(estimates(pipeline, robot, 8.0)), pipeline.counts


def within_four_deviations(estimate, truth):
    pairs = zip(estimate.names, estimate.mean, estimate.sd)
    return {n: abs(m - truth.values[n]) < 4 * sd for n, m, sd in pairs}


def identified(estimate):
    return {n for n, verdict in zip(estimate.names, estimate.verdicts) if verdict == 'identified'}


def test_it_finds_the_truth_before_and_after_a_payload(found):
    robot, estimates, _ = found
    at = [estimate for estimate in estimates if estimate.stamp_ns <= 2.5e9]
    for latest, truth in ((at[-1], robot.truths[0]), (estimates[-1], robot.truths[1])):
        assert all(within_four_deviations(latest, truth).values())
        assert {'shoulder.damping', 'elbow.damping'} <= identified(latest)


def test_it_notices_the_payload_within_a_second(found):
    _, estimates, _ = found
    changes = [e.stamp_ns * 1e-9 for e in estimates if Happened.CHANGED in e.report.events]
    assert len(changes) == 1
    assert 2.5 < changes[0] < 3.5


def test_no_message_is_refused(found):
    robot, _, counts = found
    (feed,) = robot.feeds.values()
    table = counts.table()
    # With the load its first frame is taken for an outlier.
    left_out = table['encoders'].pop('outlier')
    assert set(table['encoders']) == set(table['commanded_efforts']) == {'used'}
    assert feed.made - 3 <= table['encoders']['used'] + left_out <= feed.made
    assert left_out <= 2


def test_encoders_of_ball_joints_tell_the_lengths_between_them():
    """The twist is used as well; all is of joints, so nothing says where the robot stands."""
    config = replace(
        load_config(CONFIG.with_name('three_link_pendulum.yaml')),
        sensors={
            'balls': SensorConfig(
                'joint_poses',
                'multi_dof_joint_states',
                joints=('ball0', 'ball1', 'ball2'),
                orientation_sd=0.002,
                angular_velocity_sd=0.05,
            )
        },
    )
    settings = load_synthetic(CONFIG.parent / 'synthetic' / 'three_link_pendulum.yaml')
    robot = SyntheticRobot(replace(settings, streams={}), config=config)
    pipeline = Pipeline.from_config(config)
    # Whether anything pushes is known a second after the hand-over.
    *_, last = estimates(pipeline, robot, 1.5)
    assert pipeline.counts.table() == {'balls': {'used': 150}}
    assert identified(last) == set(last.names)
    assert all(within_four_deviations(last, robot.truth).values())
