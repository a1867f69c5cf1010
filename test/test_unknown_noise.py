"""From a config that asks for the noise of encoders to estimates of it, kept and joined."""

from dataclasses import replace

import numpy as np
from posteriors import feed, pipeline_of, samples_of
import pytest
from simulated import config

from sim2real_estimator.config import with_values
from sim2real_estimator.errors import ConfigError, DataError
from sim2real_estimator.posterior.file import joined, load, save
from sim2real_estimator.setup.build import build_parts

NAME = 'encoders.noise'
WISH = {f'estimate.{NAME}.sd': 0.5}
STOP = 260


@pytest.fixture(scope='module')
def samples():
    return samples_of(1.6, remounted_at=np.inf)


@pytest.fixture(scope='module')
def whole(samples):
    """Return the pipeline after all samples."""
    pipeline = pipeline_of(WISH)
    feed(pipeline, samples)
    return pipeline


def noise_of(estimate):
    place = estimate.names.index(NAME)
    return estimate.mean[place], estimate.sd[place]


def test_it_stands_among_the_estimates(whole, samples):
    first = pipeline_of(WISH).estimate()
    assert noise_of(first) == (pytest.approx(1.0), pytest.approx(0.5))
    mean, sd = noise_of(whole.estimate())
    assert sd < 0.1 and abs(mean - 1.0) < 4 * sd
    assert whole.estimate().verdicts[whole.estimate().names.index(NAME)] == 'identified'
    assert NAME not in pipeline_of().estimate().names


def test_a_run_that_was_stopped_goes_on_with_the_noise_it_knew(whole, samples, tmp_path):
    before, after = pipeline_of(WISH), pipeline_of(WISH)
    feed(before, samples[:STOP], to_the_end=False)
    before.save(tmp_path / 'arm.npz')
    after.load(tmp_path / 'arm.npz')
    feed(after, samples[STOP:])
    one, other = (p.posterior().mixture for p in (whole, after))
    np.testing.assert_array_equal(one.noises.shapes, other.noises.shapes)
    np.testing.assert_array_equal(one.noises.rates, other.noises.rates)
    np.testing.assert_array_equal(one.roots, other.roots)
    with pytest.raises(DataError, match=NAME):
        pipeline_of().load(tmp_path / 'arm.npz')
    with pytest.raises(DataError, match='noise of sensors'):
        pipeline_of({f'estimate.{NAME}.sd': 0.4}).load(tmp_path / 'arm.npz')


def test_recordings_are_joined_and_begun_from(whole, tmp_path):
    posterior = whole.posterior()
    (recording,) = posterior.recordings
    other = replace(posterior, recordings=(replace(recording, first='another'),))
    noises = joined([posterior, other]).mixture.noises
    expected = 2 * posterior.mixture.noises.shapes[0, 0] - posterior.noise_prior.shapes[0, 0]
    assert noises.shapes[0, 0] == pytest.approx(expected)
    save(tmp_path / 'arm.npz', joined([posterior, other]))
    np.testing.assert_array_equal(load(tmp_path / 'arm.npz').mixture.noises.rates, noises.rates)
    again = pipeline_of(WISH)
    again.begin_from(tmp_path / 'arm.npz')
    assert noise_of(again.estimate())[1] == pytest.approx(
        noise_of(whole.estimate())[1] / np.sqrt(2), rel=0.02
    )


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({f'estimate.{NAME}.fixed': True}, 'is fixed; write the factor'),
        ({f'estimate.{NAME}.log': False}, 'factor on a standard deviation'),
        ({f'estimate.{NAME}.mean': -1.0}, 'factor on a standard deviation'),
        ({**WISH, 'estimator.name': 'gumbel_mixture'}, 'takes the noise of sensors as given'),
    ],
)
def test_what_cannot_be_asked_for_is_an_error(values, message):
    with pytest.raises(ConfigError, match=message):
        build_parts(with_values(config(), values))


def test_noise_alone_is_not_enough():
    wishes = with_values(config(), WISH)
    only = replace(wishes, estimate={NAME: wishes.estimate[NAME]})
    with pytest.raises(ConfigError, match='names noises only'):
        build_parts(only)
