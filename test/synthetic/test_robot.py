"""What the robot sends, and how it gets there."""

import math

import numpy as np
import pytest
import torch
from transforms3d.quaternions import mat2quat, qconjugate, qmult

from sim2real_estimator.app.synthetic.plant import LateCommands
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.config import read_config
from sim2real_estimator.dynamics.kinematics import link_poses
from sim2real_estimator.dynamics.system import System
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf

MOTION = 'motion: {shoulder: {amplitude: 0.7, frequencies: [0.8, 1.7]}}\n'
MOCAP = {
    'sensors.tip.kind': 'link_pose',
    'sensors.tip.topic': 'tip',
    'sensors.tip.link': 'lower',
    'sensors.tip.position_sd': 1e-3,
    'sensors.tip.orientation_sd': 5e-3,
    'sensors.mark.kind': 'marker',
    'sensors.mark.topic': 'mark',
    'sensors.mark.link': 'lower',
    'sensors.mark.point': [0.0, 0.0, -0.4],
    'sensors.mark.sd': 2e-3,
}
ROUGH = """
streams:
  joint_states: {latency: 0.02, jitter: 0.005, dropout: 0.2}
  tip: {rate: 50, latency: 0.004, occlusion: 0.25, occlusion_time: 0.1, sign_flips: 0.3}
  mark: {rate: 33.3, dropout: 0.1}
"""
# Standard deviations of an average that may pass.
SIGMAS = 5


def of(topic, readings):
    return [reading for reading in readings if reading.topic == topic]


@pytest.fixture(scope='module')
def rough(make):
    """Return (robot, its readings) after half a minute with all that can go wrong."""
    robot = make('seed: 3\n' + MOTION + ROUGH, MOCAP)
    return robot, list(robot.run(30))


def test_the_same_settings_give_the_same_to_the_last_bit(make, rough):
    again = make('seed: 3\n' + MOTION + ROUGH, MOCAP)
    arrived = [reading for reading in rough[1] if reading.due_ns <= 3e9]
    assert repr(list(again.run(3))) == repr(arrived)
    other = make('seed: 4\n' + MOTION + ROUGH, MOCAP)
    assert repr(next(other.run(1)).content) != repr(rough[1][0].content)


def test_readings_arrive_in_order_and_those_of_a_topic_as_they_were_sent(rough):
    _, readings = rough
    assert [r.due_ns for r in readings] == sorted(r.due_ns for r in readings)
    for topic in ('joint_states', 'tip', 'mark'):
        numbers = [r.number for r in of(topic, readings)]
        assert numbers == sorted(set(numbers))


def test_rates_are_kept(rough):
    robot, _ = rough
    assert {topic: feed.made for topic, feed in robot.feeds.items()} == {
        'joint_states': 3000,
        'tip': 1500,
        'mark': 999,
    }


def test_some_messages_are_lost_and_all_are_counted(rough):
    robot, readings = rough
    for topic, share in (('joint_states', 0.2), ('mark', 0.1), ('tip', 0.0)):
        feed, heard = robot.feeds[topic], of(topic, readings)
        assert abs(feed.lost - share * feed.made) <= SIGMAS * math.sqrt(share * feed.made)
        under_way = feed.made - feed.lost - len(heard)
        assert 0 <= under_way <= 4
        numbers = {reading.number for reading in heard}
        assert len(set(range(max(numbers) + 1)) - numbers) <= feed.lost


def test_latency_is_as_set(rough):
    _, readings = rough
    ways = np.array([r.due_ns - r.stamp_ns for r in of('joint_states', readings)]) * 1e-9
    assert ways.min() >= 0.02
    # The queue makes some wait for those before them, so the mean is a little more.
    assert 0.025 - SIGMAS * 0.005 / math.sqrt(len(ways)) < ways.mean() < 0.026
    assert ways.std() > 0.004
    assert {r.due_ns - r.stamp_ns for r in of('tip', readings)} == {4_000_000}


def test_bodies_hide_for_a_share_of_time_and_for_a_while(rough):
    _, readings = rough
    hidden = [r.content.orientation == (0.0,) * 4 for r in of('tip', readings)]
    episodes = sum(b and not a for a, b in zip([False, *hidden], hidden))
    # About 75 episodes of 5 samples, each with the spread of an exponential distribution.
    assert abs(np.mean(hidden) - 0.25) < SIGMAS * 0.25 / math.sqrt(episodes)
    assert abs(sum(hidden) / episodes - 5) < SIGMAS * 5 / math.sqrt(episodes)


def test_noise_is_that_of_the_sensors_and_signs_flip(make):
    quiet = (
        'streams: {joint_states: {noise: 0, velocity_sd: 0}, tip: {noise: 0}, mark: {noise: 0}}'
    )
    loud = 'streams: {tip: {sign_flips: 0.3}}'
    runs = []
    for text in (quiet, loud):
        robot = make(f'seed: 3\n{MOTION}{text}', MOCAP)
        runs.append(list(robot.run(10)))
    pairs = {t: list(zip(*(of(t, r) for r in runs))) for t in ('joint_states', 'tip', 'mark')}
    angles = np.array([np.subtract(b.content.position, a.content.position)
                       for a, b in pairs['joint_states']])  # fmt: skip
    shifts = np.array([np.subtract(b.content.position, a.content.position)
                       for a, b in pairs['tip']])  # fmt: skip
    marks = np.array([np.subtract(b.content.position, a.content.position)
                      for a, b in pairs['mark']])  # fmt: skip
    turns = np.array([qmult(qconjugate(a.content.orientation), b.content.orientation)
                      for a, b in pairs['tip']])  # fmt: skip
    flips = (turns[:, 0] < 0).mean()
    assert abs(flips - 0.3) < SIGMAS * math.sqrt(0.21 / len(turns))
    vectors = 2 * turns[:, 1:] * np.sign(turns[:, :1])
    for errors, sd in ((angles, 1e-3), (shifts, 1e-3), (marks, 2e-3), (vectors, 5e-3)):
        assert abs(errors.std() / sd - 1) < SIGMAS / math.sqrt(2 * errors.size)
        assert abs(errors.mean()) < SIGMAS * sd / math.sqrt(errors.size)


def test_readings_are_of_one_state_and_efforts_those_given(make):
    robot = make(MOTION + 'streams: {joint_states: {noise: 0}, tip: {noise: 0}}', MOCAP)
    readings = list(robot.run(0.5))
    parameters = Parameters(load_urdf(robot.description))
    truth = System(parameters, ()).robot(robot.truth.values)
    joints, tips = of('joint_states', readings), of('tip', readings)
    assert len(joints) == len(tips) == 50
    for reading, tip in zip(joints, tips):
        assert reading.stamp_ns == tip.stamp_ns
        assert reading.content.names == ('shoulder', 'elbow')
        assert reading.content.effort[1] == 0.0
        pose = link_poses(truth, list(reading.content.position), [0.0, 0.0])['lower']
        np.testing.assert_allclose(tip.content.position, list(pose.position), atol=1e-12)
        rows = [list(row) for row in pose.rotation.rows]
        expected = mat2quat(np.array(rows))
        assert abs(np.dot(expected, tip.content.orientation)) == pytest.approx(1, abs=1e-12)
    assert len({reading.content.effort[0] for reading in joints}) == 50


def test_stamps_have_the_offset_of_the_clock_and_the_delays_of_sensors(make):
    robot = make('clock_offset: -7200\ntruth: {tip.delay: 0.013, mark.delay: -0.002}', MOCAP)
    robot.begin(1_700_000_000 * 10**9)
    first = {}
    for reading in robot.run(0.1):
        first.setdefault(reading.topic, reading)
    begin = (1_700_000_000 - 7200) * 10**9
    assert first['joint_states'].stamp_ns == begin
    assert first['tip'].stamp_ns == begin + 13_000_000
    assert first['mark'].stamp_ns == begin - 2_000_000
    robot.postpone(5 * 10**9)
    assert robot.clock_ns == begin + 5_100_000_000


def test_late_commands_act_when_they_are_due():
    given, pieces = LateCommands([15_000_000]), []
    for tick in range(4):
        given.give(tick * 10_000_000, [float(tick)])
        pieces += given.pieces(tick * 10_000_000, (tick + 1) * 10_000_000)
    # The first one acts until the next does.
    assert [efforts.tolist() for _, efforts in pieces] == [[k] for k in (0, 0, 0, 0, 1, 1, 2)]
    durations = [duration for duration, _ in pieces]
    np.testing.assert_allclose(durations, [0.01, *[0.005] * 6])


@pytest.mark.parametrize(
    ('truth', 'delays'),
    [
        ('commands.delay: 0', (0.0, 0.0)),
        ('commands.delay: 0.013', (0.013, 0.013)),
        ('elbow.delay: 0.004, commands.delay: 0.013', (0.013, 0.004)),
    ],
)
def test_it_moves_as_the_simulator_says(make, truth, delays):
    text = f'{MOTION}truth: {{{truth}}}\nstreams: {{joint_states: {{noise: 0}}}}\n'
    robot = make(text)
    state = robot.plant.state.copy()
    joints = [reading.content for reading in robot.run(1.0)]
    values = {n: v for n, v in robot.truth.values.items() if not n.endswith('.delay')}
    values |= dict(zip(('shoulder.delay', 'elbow.delay'), delays))
    simulator = Simulator(load_urdf(robot.description), max_step=0.0025, values=values)
    efforts = torch.tensor([content.effort for content in joints], dtype=torch.float64)
    states = simulator.rollout(
        torch.from_numpy(state)[:, None], [0.01] * 100, None, efforts
    ).states
    expected = states[:-1, :2, 0].numpy()
    np.testing.assert_allclose([c.position for c in joints], expected, atol=1e-8)


def test_an_arm_under_gravity_stays_within_its_limits(make, double_pendulum_urdf):
    upright = double_pendulum_urdf.replace('rpy="0.3 0 0"', 'rpy="0 0 0"')
    config = read_config(f"""
model: {{urdf: '{upright.replace(chr(10), ' ')}'}}
joints: {{shoulder: {{effort: commanded}}, elbow: {{effort: commanded}}}}
efforts: {{commanded: joint_states}}
sensors:
  encoders: {{kind: joint_positions, topic: joint_states, joints: [shoulder, elbow], sd: 1e-3}}
estimate: {{'*.mass': {{}}}}
""")
    text = 'motion: {shoulder: {interval: 1.0}, elbow: {interval: 1.0}}'
    robot, track = make(text, config=config), []
    for _ in range(3000):
        track.append(robot.plant.state[:2].copy())
        robot.advance()
    track = np.array(track)
    assert (np.abs(track).max(0) < [1.5, 2.0]).all()
    assert (np.ptp(track, axis=0) > [1.0, 1.5]).all()
