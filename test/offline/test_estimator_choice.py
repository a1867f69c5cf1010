"""Which estimator `identify` takes for a mechanism of few joints that report torques."""

from dataclasses import replace

from bag_files import joints, write
from measured_arms import BEGIN_NS, JOINTS, record
from measured_arms import config as measured_config
import numpy as np
import pytest
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.bags.reader import digest_of
from sim2real_estimator.config.settings_tree import EstimatorConfig, JointConfig
from sim2real_estimator.offline.identification.estimator_choice import choose_estimator
from sim2real_estimator.setup.build import build_model

SECONDS, RATE = 12.0, 250.0
# Of the light mechanism: torques, and the noise of those reported [N m], which come so many
# samples late.
TORQUE, NOISE, LATE = 0.3, 0.1, 2


def servo():
    """Return stamps, positions and torques of an arm whose motion is given."""
    found = record(SECONDS)
    return found.times, found.q, found.tau


def light():
    """
    Return the same of one that follows its torques, as a pendulum with direct drives.

    It is heavier than described, and its drives report their torque late and with noise.
    """
    generator, count = np.random.default_rng(3), round(SECONDS * RATE)
    # Torques that change every tenth of a second or so.
    kernel = np.hanning(round(0.2 * RATE))
    noise = generator.standard_normal((count, 2))
    slow = np.stack([np.convolve(each, kernel, 'same') for each in noise.T], 1)
    tau = TORQUE * slow / slow.std()
    model = build_model(measured_config())
    masses = {
        f'{link.name}.mass': 1.5 * link.inertial.mass for link in model.links if link.inertial
    }
    simulator = Simulator(model, (), max_step=5e-4, values=masses)
    start = torch.tensor([[0.5], [0.3], [0.0], [0.0]], dtype=torch.float64)
    with torch.no_grad():
        known = torch.empty((0, 1), dtype=torch.float64)
        given = torch.from_numpy(tau)
        states = simulator.rollout(start, [1 / RATE] * count, known, given).states
    q = states[:count, :2, 0].numpy()
    reported = np.roll(tau, LATE, 0) + NOISE * generator.standard_normal(tau.shape)
    return np.arange(count) / RATE, q + 1e-4 * generator.standard_normal(q.shape), reported


@pytest.mark.parametrize(
    ('motion', 'expected'), [(servo, 'measured_torque'), (light, 'multiple_shooting')]
)
def test_the_estimator_that_predicts_motion_better_is_taken(tmp_path, motion, expected):
    path = written(tmp_path / 'bag', *motion())
    config, choice = choose_estimator(measured_config(), path, digest_of(path))
    assert config.estimator.name == choice.name == expected
    assert choice.sentence.startswith(f'estimator {expected}, by trial')


def written(path, times, q, tau):
    """Write a bag of an arm, and return its path."""
    rows = zip(times, np.ascontiguousarray(q), np.ascontiguousarray(tau))
    return write(path, [joints(BEGIN_NS + round(1e9 * t), p, e, JOINTS) for t, p, e in rows])


def resting(seconds, q, tau):
    """Return stamps, positions and torques of an arm at rest: all as in the first sample."""
    count = round(RATE * seconds)
    return np.arange(count) / RATE, np.tile(q[:1], (count, 1)), np.tile(tau[:1], (count, 1))


def test_of_a_robot_at_rest_nothing_is_learned_and_nothing_chosen(tmp_path):
    _, q, tau = servo()
    path = written(tmp_path / 'bag', *resting(6.0, q, tau))
    config = measured_config()
    assert choose_estimator(config, path, digest_of(path)) == (config, None)


def test_what_is_learned_from_begins_with_motion(tmp_path):
    times, q, tau = servo()
    still = resting(24.0, q, tau)
    parts = (np.concatenate([still[0], still[0][-1] + 1 / RATE + times]),)
    parts += tuple(np.concatenate(pair) for pair in zip(still[1:], (q, tau)))
    path = written(tmp_path / 'bag', *parts)
    _, choice = choose_estimator(measured_config(), path, digest_of(path))
    # Priors alone predict alike: nobody could choose by the first twenty seconds.
    assert choice.name == 'measured_torque' and choice.ratio > 1.5


@pytest.mark.parametrize(
    'config',
    [
        replace(measured_config(), estimator=EstimatorConfig(name='measured_torque')),
        replace(measured_config(), joints={j: JointConfig('commanded') for j in JOINTS}),
    ],
)
def test_nothing_is_tried_where_the_config_decides(config):
    assert choose_estimator(config, 'nowhere', '') == (config, None)
