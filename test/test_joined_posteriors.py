"""Posteriors of several recordings of one robot as one."""

import copy
from dataclasses import replace

import numpy as np
from posteriors import feed, pipeline_of, samples_of
from problems import p2
from problems.common import roll, states_of
import pytest
import torch

from sim2real_estimator.cli import main
from sim2real_estimator.errors import DataError
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.estimation.merging import matched, merge
from sim2real_estimator.posterior.file import joined, load, save
from sim2real_estimator.posterior.listing import table


def p2_frames(values, seed, seconds=2.0):
    """Return the frames of a random motion of P2."""
    rng = np.random.default_rng(seed)
    state, torques = p2.draw_motion(rng, seconds)
    trajectory = roll(
        p2.simulator(), state, p2.RATE, len(torques), values, torch.from_numpy(torques)
    )
    return p2.observed(rng, states_of(trajectory), torques)


def course(estimator, problem, frames):
    """Return the posterior mixture after some frames."""
    state = estimator.init(problem)
    for frame in frames:
        state, _ = estimator.update(problem, state, frame)
    return estimator.mixture(problem, state)


@pytest.fixture(scope='module')
def halves():
    """Return the samples of two recordings of one robot."""
    samples = samples_of(4.0, remounted_at=np.inf)
    return samples[: len(samples) // 2], samples[len(samples) // 2 :]


@pytest.fixture(scope='module')
def two(halves, tmp_path_factory):
    """Return the paths of the posteriors of two recordings."""
    paths = []
    for k, samples in enumerate(halves):
        pipeline = pipeline_of()
        feed(pipeline, samples)
        paths.append(tmp_path_factory.mktemp('two') / f'{k}.npz')
        pipeline.save(paths[-1])
    return paths


def test_two_recordings_are_as_one_that_begins_from_the_other(two, halves):
    both = joined([load(path) for path in two])
    after = pipeline_of()
    after.begin_from(two[0])
    feed(after, halves[1])
    mean, covariance = both.mixture.moments()
    expected_mean, expected = after.posterior().mixture.moments()
    sd = np.sqrt(np.diag(expected))
    assert (np.abs(mean - expected_mean) < 0.2 * sd).all()
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), sd, rtol=0.1)
    assert after.posterior().recordings == both.recordings


def test_two_recordings_of_p2_are_as_one_that_begins_from_the_other():
    problem, estimator = p2.make_problem(), ESTIMATORS['gaussian_sum']()
    values = {name: prior.mean for name, prior in p2.priors().items()}
    recordings = [p2_frames(values, seed) for seed in (1, 2)]
    alone = [course(estimator, problem, frames) for frames in recordings]
    merged = merge(alone, problem.prior)
    later = copy.copy(problem)
    later.prior = matched(alone[0])
    mean, covariance = course(estimator, later, recordings[1]).moments()
    sd = np.sqrt(np.diag(covariance))
    merged_mean, merged_covariance = merged.moments()
    assert (np.abs(merged_mean - mean) < 0.2 * sd).all()
    np.testing.assert_allclose(np.sqrt(np.diag(merged_covariance)), sd, rtol=0.1)


def test_the_joined_posterior_is_kept_and_begun_from(two, tmp_path):
    path = tmp_path / 'both.npz'
    save(path, joined([load(p) for p in two]))
    pipeline = pipeline_of()
    with pytest.raises(DataError, match='several recordings.*begin_from'):
        pipeline.load(path)
    pipeline.begin_from(path)
    known = pipeline.estimate()
    assert dict(zip(known.names, known.verdicts))['shoulder.damping'] == 'identified'
    pipeline.reset()
    np.testing.assert_array_equal(pipeline.estimate().sd, known.sd)
    pipeline.save(tmp_path / 'begun.npz')
    again = pipeline_of()
    again.load(tmp_path / 'begun.npz')
    np.testing.assert_array_equal(again.estimate().sd, known.sd)


def test_a_recording_counts_once(two):
    first, second = (load(path) for path in two)
    with pytest.raises(DataError, match='would count twice'):
        joined([first, second, joined([first])])


def test_posteriors_of_other_priors_or_robots_do_not_join(two):
    first, second = (load(path) for path in two)
    wider = replace(second, prior=replace(second.prior, root=2 * second.prior.root))
    with pytest.raises(DataError, match='the prior of .* was'):
        joined([first, wider])
    model = {**second.identity['model'], "parameter 'lower.mass'": '7'}
    other = replace(second, identity={**second.identity, 'model': model})
    with pytest.raises(DataError, match="another robot than the other file.*'lower.mass' was 7"):
        joined([first, other])


@pytest.mark.parametrize('shift', [0.0, -2.5])
def test_coordinates_are_told_by_how_much_they_are_off_the_prior(two, shift):
    both = joined([load(path) for path in two])
    # Where all parameters can be told the prior's means are not zero.
    prior = replace(both.prior, mean=both.prior.mean + shift)
    moved = replace(both.mixture, means=both.mixture.means + shift)
    shown, *_ = table(replace(both, prior=prior, mixture=moved)).renderables
    columns = shown.columns
    labels, means, _, shares = ([*column.cells] for column in columns)
    place = labels.index('log(shoulder.damping)')
    mean = both.mixture.moments()[0][place] - both.prior.mean[place]
    assert float(means[place]) == pytest.approx(mean, rel=1e-4)
    assert 0 < float(shares[place].removesuffix(' %')) < 30


def test_the_command_shows_and_merges(two, tmp_path, capsys):
    assert main(['show', str(two[0])]) == 0
    shown = capsys.readouterr().out
    assert 'shoulder.damping' in shown
    assert 'identified' in shown
    assert '2 joints on stand' in shown
    assert '2023-11-14 22:13:20 UTC' in shown
    output = tmp_path / 'both.npz'
    arguments = ['merge', *map(str, two), '-o', str(output)]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert 'log(shoulder.damping)' in shown
    assert shown.count('data: ') == 2 and 'off the prior mean' in shown
    assert load(output).run is None
    assert main(arguments) == 2
    assert '--force' in capsys.readouterr().err
    assert main([*arguments, '--force']) == 0
    assert main(['merge', str(two[0]), str(output), '-o', str(tmp_path / 'twice.npz')]) == 2
    assert 'would count twice' in capsys.readouterr().err
    assert main(['show', str(two[0].with_name('missing.npz'))]) == 2
