"""The whole flow with motors that are late by different times."""

from dataclasses import replace

import numpy as np
from posteriors import posterior_bytes
import pytest
from simulated import CONFIG, config, JOINTS, misses, NAMES, NOISE, RATE, record
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.config import with_values
from sim2real_estimator.config.settings_tree import PriorConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.filter.phases import FilterState
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.priors import choose_with_delays
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample
from sim2real_estimator.setup.build import build_parts

pytestmark = pytest.mark.usefixtures('one_thread')

MILLI = 1_000_000
OWN = tuple(f'{joint}.delay' for joint in JOINTS)
NARROW = {f'estimate.{name}.sd': 0.01 for name in OWN}
WIDE = {
    'estimate.shoulder.delay.min': -0.02,
    'estimate.shoulder.delay.max': 0.25,
    'estimate.elbow.delay.sd': 0.01,
}


def late_samples(seconds, seed, delays):
    """Return (true values, samples) of the robot of `record`, its motors late by delays [s]."""
    recording, rng = record(seconds, seed), np.random.default_rng(seed)
    model = load_urdf(CONFIG.with_suffix('.urdf'))
    simulator = Simulator(model, NAMES, max_step=0.002, values=dict(zip(OWN, delays)))
    values = torch.tensor([[recording.values[name]] for name in NAMES])
    state = torch.tensor([*rng.uniform(-1, 1, 2), *rng.standard_normal(2)])[:, None]
    steps = len(recording.stamps) - 1
    with torch.no_grad():
        states = simulator.rollout(
            state, [1 / RATE] * steps, values, torch.from_numpy(recording.torques[:-1])
        ).states
    angles = states[:, :2, 0].numpy() + NOISE * rng.standard_normal((steps + 1, 2))
    samples = []
    for stamp, seen, torque in zip(recording.stamps, angles, recording.torques):
        samples += [
            Sample('encoders', int(stamp), seen),
            Sample('commanded_efforts', int(stamp), torque),
        ]
    return recording.values, samples


def followed(samples, changes):
    """Return the pipeline of a config after samples."""
    pipeline = Pipeline.from_config(with_values(config(), changes))
    for sample in samples:
        pipeline.push(sample)
        pipeline.step()
    pipeline.finish()
    return pipeline


@pytest.mark.parametrize(
    ('delays', 'changes', 'seed'), [((0.0, 0.012), NARROW, 0), ((0.06, 0.003), WIDE, 1)]
)
def test_two_motors_are_late_by_different_times(delays, changes, seed):
    values, samples = late_samples(1.3, seed, delays)
    pipeline = followed(samples, changes)
    estimate = pipeline.estimate()
    found = dict(zip(estimate.names, zip(estimate.mean, estimate.sd)))
    for name, truth in zip(OWN, delays):
        mean, sd = found[name]
        assert abs(mean - truth) < min(3e-4, 4 * sd)
    assert np.abs(misses(pipeline, values)).max() < 4


def test_a_stop_changes_no_bit(tmp_path):
    _, samples = late_samples(0.3, 1, (0.0, 0.012))
    whole = followed(samples, NARROW)
    first = Pipeline.from_config(with_values(config(), NARROW))
    for sample in samples[:45]:
        first.push(sample)
        first.step()
    first.save(tmp_path / 'posterior.zip')
    second = Pipeline.from_config(with_values(config(), NARROW))
    second.load(tmp_path / 'posterior.zip')
    for sample in samples[45:]:
        second.push(sample)
    second.finish()
    assert posterior_bytes(second) == posterior_bytes(whole)


def test_delays_of_all_motors_and_of_the_only_clock_are_aliased():
    changes = {**NARROW, 'estimate.encoders.delay.sd': 0.005}
    _, samples = late_samples(1.1, 0, (0.0, 0.012))
    estimate = followed(samples, changes).estimate()
    verdicts = dict(zip(estimate.names, estimate.verdicts))
    assert {verdicts[name] for name in (*OWN, 'encoders.delay')} == {'aliased'}


def known(**delays):
    """Return the changes of a config that knows delays [s]."""
    changes = {f'estimate.{name}.delay.fixed': True for name in delays}
    return changes | {f'estimate.{name}.delay.mean': at for name, at in delays.items()}


def test_delays_that_are_known_are_applied_as_they_are():
    values, samples = late_samples(1.3, 1, (0.06, 0.003))
    pipeline = followed(samples, known(shoulder=0.06, commands=0.003))
    assert isinstance(pipeline.state, FilterState)
    assert np.abs(misses(pipeline, values)).max() < 4


def test_an_actuator_that_is_described_as_late_is_known_to_be():
    _, samples = late_samples(0.3, 1, (0.06, 0.003))
    actuators = {'shoulder': 0.06, 'elbow': 0.003}
    described = {f'model.actuators.{j}.values.delay': at for j, at in actuators.items()}
    given = followed(samples, known(shoulder=0.06, elbow=0.003)).mixture
    np.testing.assert_array_equal(followed(samples, described).mixture.means, given.means)


def test_the_clock_of_the_reference_may_be_known_to_be_late():
    values, samples = late_samples(1.3, 1, (0.0, 0.0))
    late = [
        replace(sample, stamp_ns=sample.stamp_ns + 12 * MILLI * (sample.sensor == 'encoders'))
        for sample in samples
    ]
    late.sort(key=lambda sample: (sample.stamp_ns, sample.sensor))
    pipeline = followed(late, known(encoders=0.012))
    assert isinstance(pipeline.state, FilterState)
    assert np.abs(misses(pipeline, values)).max() < 4


@pytest.mark.parametrize(
    ('wishes', 'estimated'),
    [
        (['*.delay'], ['commands.delay', 'encoders.delay']),
        (['shoulder.d*'], ['shoulder.damping']),
        (['*w.delay'], ['elbow.delay']),
        (['*.delay', *OWN], [*OWN, 'encoders.delay']),
    ],
)
def test_which_delays_a_pattern_means(wishes, estimated):
    model = load_urdf(CONFIG.with_suffix('.urdf'))
    sensors = build_parts(config())[0].sensors
    chosen = choose_with_delays(Parameters(model), sensors, dict.fromkeys(wishes, PriorConfig()))
    assert list(chosen.priors) == estimated


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (
            {**NARROW, 'estimate.commands.delay.sd': 0.01},
            'estimate.commands.delay: every joint has a delay of its own',
        ),
        (
            {
                'sensors.elbow.kind': 'joint_positions',
                'sensors.elbow.topic': 'elbow',
                'sensors.elbow.joints': ['elbow'],
                'sensors.elbow.sd': 0.001,
                'estimate.elbow.delay.sd': 0.01,
            },
            'estimate.elbow.delay: may be how late the clock of that sensor is, or',
        ),
        (
            {'estimate.lower.delay.sd': 0.01},
            "no delay 'lower.delay'; choose from commands",
        ),
    ],
)
def test_delays_that_mean_nothing_or_two_things_are_errors(changes, message):
    with pytest.raises(ConfigError, match=message):
        build_parts(with_values(config(), changes))
