"""True values: given, drawn, and changed on schedule."""

import numpy as np
import pytest

from sim2real_estimator.config import read_config
from sim2real_estimator.errors import ConfigError, EstimatorError
from sim2real_estimator.model.inertia_checks import fault_of
from sim2real_estimator.model.tree import Inertial

# Robots that need not move are not worth compiling.
STILL = {'simulation.backend': 'eager'}
CHANGE = 'changes: {oil: {at: 0.2, values: {elbow.damping: 0.9, elbow.friction: 0.05}}}\n'


def test_what_is_estimated_is_drawn_by_seed(make):
    first, again, other = (make(f'seed: {seed}', STILL).truth.values for seed in (4, 4, 5))
    assert first == again
    ends = ('mass', 'com.z', 'inertia.yy')
    assert set(first) == {
        *(f'{link}.{end}' for link in ('upper', 'lower') for end in ends),
        'shoulder.damping',
        'elbow.damping',
    }
    assert all(first[name] != other[name] for name in first)


def test_draws_have_the_spread_of_the_prior(make):
    logs = [
        np.log(make(f'seed: {seed}\nspread: 0.5', STILL).truth.values['elbow.damping'] / 0.04)
        for seed in range(60)
    ]
    # Damping is usually known within a factor of two: an sd of 0.7 of the logarithm.
    assert abs(np.mean(logs)) < 4 * 0.35 / np.sqrt(60)
    assert abs(np.std(logs) / 0.35 - 1) < 4 / np.sqrt(2 * 60)


def test_without_spread_it_is_as_described(make):
    values = make('spread: 0', STILL).truth.values
    assert values['lower.mass'] == 0.8
    assert values['lower.com.z'] == -0.2


def test_given_values_hold_and_leave_the_others_as_they_are(make):
    free, given = make('', STILL), make('truth: {upper.mass: 1.5, elbow.armature: 0.01}', STILL)
    assert given.truth.values == {
        **free.truth.values,
        'upper.mass': 1.5,
        'elbow.armature': 0.01,
    }


def test_drawn_bodies_are_possible(make, double_pendulum_urdf):
    config = read_config(f"""
model: {{urdf: '{double_pendulum_urdf.replace(chr(10), ' ')}'}}
sensors: {{encoders: {{kind: joint_positions, topic: joint_states, joints: [elbow], sd: 1e-3}}}}
estimate: {{'*.mass': {{}}, '*.com.*': {{}}, '*.inertia.*': {{}}}}
""")
    for seed in range(20):
        values = make(f'seed: {seed}', STILL, config).truth.values
        for link in ('upper', 'lower'):
            com = tuple(values[f'{link}.com.{a}'] for a in 'xyz')
            entries = ('xx', 'yy', 'zz', 'xy', 'xz', 'yz')
            inertia = tuple(values[f'{link}.inertia.{e}'] for e in entries)
            assert fault_of(Inertial(values[f'{link}.mass'], com, inertia)) is None


def test_a_change_acts_at_its_instant_and_is_told(make):
    robot, unchanged = make(CHANGE), make()
    list(robot.run(0.2))
    list(unchanged.run(0.2))
    np.testing.assert_allclose(robot.plant.state, unchanged.plant.state, atol=1e-12)
    assert len(robot.truths) == 1
    list(robot.run(0.1))
    list(unchanged.run(0.1))
    assert np.abs(robot.plant.state - unchanged.plant.state).max() > 1e-3
    assert robot.truth.time_ns == 200_000_000
    changed = {'elbow.damping': 0.9, 'elbow.friction': 0.05}
    assert robot.truth.values == {**robot.truths[0].values, **changed}


def test_what_is_there_from_the_start_is_told_once(make):
    robot = make('changes: {rust: {at: 0, values: {elbow.damping: 0.9}}}', STILL)
    robot.advance()
    assert [truth.values['elbow.damping'] for truth in robot.truths] == [0.9]


def test_a_change_of_what_is_seen_shows_in_the_first_reading_after_it(make):
    sensor = {'kind': 'link_pose', 'topic': 'tip', 'link': 'stand', 'position_sd': 1e-3}
    more = {f'sensors.tip.{key}': value for key, value in sensor.items()}
    slip = 'changes: {slip: {at: 0.05, values: {tip.mount.x: 0.02}}}\n'
    robot = make(slip + 'streams: {tip: {noise: 0}}', {**STILL, **more})
    seen = {r.stamp_ns: r.content.position[0] for r in robot.run(0.1) if r.topic == 'tip'}
    assert seen == {10_000_000 * k: 0.0 if k < 5 else 0.02 for k in range(10)}


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('truth: {upper.mas: 1}', 'truth.upper.mas: is unknown; choose from commands.delay'),
        ('truth: {lower.delay: 1}', 'truth.lower.delay: is unknown'),
        ('truth: {elbow.delay: -0.01}', 'truth.elbow.delay: is -0.01 s, but nothing acts'),
        ('truth: {commands.delay: -0.01}', 'truth.commands.delay: is -0.01 s, but nothing acts'),
        (
            'changes: {late: {at: 1, values: {encoders.delay: 1}}}',
            'changes.late.values.encoders.delay: is unknown',
        ),
        ('motion: {sholder: {}}', 'motion.sholder: is unknown; choose from elbow, shoulder'),
        ('streams: {joints: {}}', 'streams.joints: is unknown; choose from joint_states'),
        (
            'streams: {joint_states: {rate: 101}}',
            'streams.joint_states.rate: is 101, more than the robot can do; give at most rate, 1',
        ),
        (
            'truth: {encoders.delay: 0.01}',
            "topic 'joint_states': encoders, commanded_efforts read it, and its messages have one",
        ),
        ('motion: {elbow: {amplitude: 1}}', 'motion.elbow.frequencies: is empty'),
        ('motion: {elbow: {interval: 1}}', 'motion.elbow: the joint has no limits; give low and'),
        (
            'motion: {elbow: {interval: 1, low: 1, high: 0}}',
            'motion.elbow.low: is 1, above high, 0',
        ),
    ],
)
def test_what_does_not_fit_the_robot_is_an_error(make, text, message):
    with pytest.raises(EstimatorError) as caught:
        make(text, STILL)
    assert message in str(caught.value)


def test_one_message_cannot_serve_two_bodies(make):
    more = {**STILL, 'sensors.a.kind': 'link_pose', 'sensors.b.kind': 'link_pose'}
    for name in 'ab':
        more |= {f'sensors.{name}.topic': 'body', f'sensors.{name}.position_sd': 1e-3}
        more |= {f'sensors.{name}.link': 'lower'}
    with pytest.raises(ConfigError, match="topic 'body': a, b read it"):
        make('', more)


def test_noise_that_is_estimated_is_true_as_its_stream_says(make):
    wish = {'estimate.encoders.noise.sd': 0.5}
    robot = make('streams: {joint_states: {noise: 2.0}}', more=wish)
    assert robot.truth.values['encoders.noise'] == 2.0
    assert make(more=wish).truth.values['encoders.noise'] == 1.0
    # All else is drawn as without.
    rest = {name: v for name, v in robot.truth.values.items() if name != 'encoders.noise'}
    assert rest == make().truth.values
    quiet = [reading.content.position for reading in make(more=wish).run(0.2)]
    loud = [reading.content.position for reading in robot.run(0.2)]
    exact = make('streams: {joint_states: {noise: 0.0}}', more=wish)
    true = np.array([reading.content.position for reading in exact.run(0.2)])
    np.testing.assert_allclose(loud - true, 2 * (quiet - true), atol=1e-12)
