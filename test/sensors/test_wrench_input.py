"""Wrenches out of messages, as inputs of frames."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from simulated import CONFIG, config

from sim2real_estimator.app.synthetic.readings import message_of, Reading, WrenchValues
from sim2real_estimator.config import with_values
from sim2real_estimator.config.settings_tree import WrenchConfig
from sim2real_estimator.errors import ConfigError, ModelError
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample, Status
from sim2real_estimator.sensors import WrenchInput
from sim2real_estimator.setup.build import build_parts
from sim2real_estimator.setup.sources import build_wrenches, listed, settings_of, topics

STAMP = 1_700_000_000_000_000_001
KIND = 'geometry_msgs/msg/WrenchStamped'


@pytest.fixture
def model():
    return load_urdf(CONFIG.with_suffix('.urdf'))


def message(force=(1.0, 2.0, 3.0), torque=(4.0, 5.0, 6.0), frame=''):
    reading = Reading('push', KIND, 0, STAMP, STAMP, WrenchValues(force, torque))
    return message_of(reading, frame=frame)


def settings(**more):
    """Return the shipped config with two wrenches, and more."""
    wrenches = {
        'push': WrenchConfig('push', 'lower'),
        'pull': WrenchConfig('pull', 'upper', 'world'),
    }
    known = with_values(config(), {'model.urdf': str(CONFIG.with_suffix('.urdf'))})
    return with_values(replace(known, wrenches=wrenches), more)


def test_moments_come_before_forces(model):
    source = WrenchInput('push', model, 'lower', 'link', 1)
    (sample,) = source.decode(message()).samples
    assert (sample.sensor, sample.stamp_ns) == ('push', STAMP)
    np.testing.assert_array_equal(sample.values, [4, 5, 6, 1, 2, 3])
    assert source.places == (8, 9, 10, 11, 12, 13)


@pytest.mark.parametrize(
    ('axes', 'frame', 'is_used'),
    [
        ('link', 'lower', True),
        ('link', 'left/lower', True),
        ('link', 'some_sensor_frame', True),
        ('link', 'upper', False),
        ('link', 'stand', False),
        ('world', 'map', True),
        ('world', 'stand', True),
        ('world', 'lower', False),
    ],
)
def test_a_message_about_another_frame_of_the_robot_is_not_used(model, axes, frame, is_used):
    decoded = WrenchInput('push', model, 'lower', axes).decode(message(frame=frame))
    assert bool(decoded.samples) is is_used
    assert decoded.statuses == (() if is_used else (Status.MALFORMED,))


def test_the_config_says_where_they_come_from_and_what_they_act_on():
    wished = settings()
    assert topics(wished)['pull'] == 'pull'
    assert settings_of(wished)['pull'] == 'wrenches.pull.topic'
    assert [each.message_type for each in listed(wished) if each.name == 'push'] == [KIND]
    problem, _, stream, sources, _ = build_parts(wished)
    assert [source.name for source in sources[-2:]] == ['push', 'pull']
    assert problem.input_count == 2 + 12
    assert stream.push(Sample('pull', STAMP, np.ones(6))) is Status.USED


@pytest.mark.parametrize(
    ('values', 'error', 'words'),
    [
        ({'wrenches.push.link': 'foot'}, ModelError, "no link 'foot'"),
        ({'wrenches.push.axes': 'hand'}, ConfigError, 'wrenches.push.axes'),
        (
            {'wrenches.encoders.link': 'lower', 'wrenches.encoders.topic': 'a'},
            ConfigError,
            'wrenches.encoders: sensors or efforts have this name',
        ),
    ],
)
def test_what_is_no_wrench_is_refused_with_its_key(model, values, error, words):
    with pytest.raises(error, match=words):
        build_wrenches(settings(**values), model)


@pytest.mark.parametrize('is_told', [True, False])
def test_without_a_message_a_wrench_is_unknown_and_said_so(is_told):
    pipeline = Pipeline.from_config(
        replace(settings(), wrenches=dict(push=WrenchConfig('p', 'lower')))
    )
    for k in range(30):
        stamp = k * 10**7
        pipeline.push(Sample('encoders', stamp, np.array([0.1 * np.sin(0.3 * k), 0.0])))
        pipeline.push(Sample('commanded_efforts', stamp, np.array([0.1, 0.2 * np.sin(k)])))
        if is_told:
            pipeline.push(Sample('push', stamp, np.zeros(6)))
    pipeline.finish()
    findings = pipeline.findings()
    assert findings.unknown_efforts == (() if is_told else ('wrench push',))
    assert ('the wrench push is unknown' in findings.obstacle) is not is_told


def test_a_part_that_is_no_number_is_unknown(model):
    (sample,) = (
        WrenchInput('push', model, 'lower').decode(message(force=(1.0, float('nan'), 3.0))).samples
    )
    pipeline = Pipeline.from_config(settings())
    pipeline.push(replace(sample))
    assert pipeline.counts.table()['push'] == {'missing effort': 1}


def test_messages_are_read_by_plain_attributes(model):
    header = SimpleNamespace(frame_id='', stamp=SimpleNamespace(sec=1, nanosec=2))
    vector = SimpleNamespace(x=1.0, y=2.0, z=3.0)
    wrench = SimpleNamespace(force=vector, torque=vector)
    decoded = WrenchInput('push', model, 'lower').decode(
        SimpleNamespace(header=header, wrench=wrench)
    )
    assert decoded.samples[0].stamp_ns == 1_000_000_002
