"""The second experiment of the paper."""

import numpy as np
import pytest
import torch

from sim2real_estimator import cli
from sim2real_estimator.app.reproduce import mixture_experiment, mixture_report
from sim2real_estimator.app.reproduce.heading import Heading
from sim2real_estimator.app.reproduce.mixture_experiment import Moment, Run
from sim2real_estimator.app.reproduce.pendulums import rod_chain
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.observations import headings
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.spatial.quaternion import Quaternion
from sim2real_estimator.spatial.rotation import Rotation
from sim2real_estimator.spatial.vector import Vec3


@pytest.fixture(scope='module')
def stream():
    return mixture_experiment.make_stream(0)


@pytest.fixture(scope='module')
def paper(stream):
    return mixture_experiment.run_gumbel(stream, 120)


@pytest.fixture(scope='module')
def ours(stream):
    return mixture_experiment.run_gaussian_sum(stream)


def moment(lengths, sd=0.01, seen=1, epoch=0, weights=(1.0,)):
    """Return a `Moment` of kernels [3, K] with the same relative standard deviation."""
    means = np.log(np.array(lengths, dtype=float))
    return Moment(seen, epoch, 0.5 * seen, 1.0, np.array(weights), means, np.full_like(means, sd))


def test_a_stream_is_one_noisy_pose_of_every_rod_at_25_hz(stream):
    assert len(stream.frames) == mixture_experiment.SAMPLES
    model = rod_chain((mixture_experiment.LENGTH,) * 3)
    names = [f'{rod}.length' for rod in mixture_experiment.RODS]
    simulator = Simulator(model, names, max_step=0.002, observe=headings(mixture_experiment.RODS))
    seen = simulator.rollout(
        torch.tensor(stream.state)[:, None],
        [0.04] * mixture_experiment.SAMPLES,
        torch.tensor(stream.lengths)[:, None],
    ).outputs[1:, :, 0]
    angles = []
    for k, frame in enumerate(stream.frames):
        assert (frame.start_ns, frame.end_ns) == (k * 40_000_000, (k + 1) * 40_000_000)
        for sample, true in zip(frame.samples, seen[k].reshape(3, 3).numpy()):
            assert sample.stamp_ns == frame.end_ns and np.isnan(sample.values[:3]).all()
            turn = Rotation.from_quaternion(Quaternion(*sample.values[3:]))
            pointing = turn * Vec3(0.0, 0.0, -1.0)
            angles.append(np.linalg.norm(np.array(tuple(pointing)) - true))
    # Two directions of a heading are noisy, by 0.1 deg each.
    assert np.sqrt(np.mean(np.square(angles))) == pytest.approx(
        2**0.5 * mixture_experiment.NOISE, rel=0.3
    )


def test_streams_differ_by_their_seed_and_by_nothing_else(stream):
    again, other = mixture_experiment.make_stream(0), mixture_experiment.make_stream(1)
    np.testing.assert_array_equal(stream.lengths, again.lengths)
    np.testing.assert_array_equal(
        stream.frames[3].samples[1].values, again.frames[3].samples[1].values
    )
    assert np.abs(other.lengths - stream.lengths).max() > 0.01


def test_the_turn_about_a_rod_changes_no_heading():
    model = Parameters(rod_chain((0.4, 0.4))).model
    sensor = Heading('rod0', model, 'rod0', 0.01)
    states, outputs = np.zeros((14, 2)), np.array([[0.0, 0.0, -1.0]] * 2).T
    spin = Quaternion.exp(Vec3(0.0, 0.0, 1.3))
    tilt = Quaternion.exp(Vec3(0.02, 0.0, 0.0))
    values = np.array([[np.nan] * 3 + list(spin), [np.nan] * 3 + list(tilt * spin)])
    rows = sensor.rows(states, outputs, values)
    np.testing.assert_allclose(rows.values[0], 0.0, atol=1e-12)
    assert np.linalg.norm(rows.values[1]) == pytest.approx(2.0, rel=1e-3)
    hidden = sensor.rows(states, outputs, np.full((2, 7), np.nan))
    assert (hidden.values == 0).all() and (hidden.by_outputs == 0).all()


def test_the_paper_s_estimator_finds_the_lengths_but_not_how_well(paper):
    assert [m.epoch for m in paper.moments] == list(range(121))
    assert [m.seen for m in paper.moments[1::11]][:10] == list(range(1, 11))
    assert np.abs(paper.errors()[-1]).max() < 0.05
    _, sd = paper.moments[-1].lengths()
    assert 0.008 < np.median(sd) < 0.03
    assert len(paper.at_epoch(30).moments) == 31


def test_the_calibrated_estimator_is_closer_without_the_state(paper, ours):
    assert [m.seen for m in ours.moments] == list(range(11))
    assert np.abs(ours.errors()[-1]).max() < 0.02
    mean, sd = ours.moments[-1].lengths()
    assert (np.abs(mean - ours.stream.lengths) < 4 * sd).all()
    assert np.median(sd) < 0.3 * np.median(paper.moments[-1].lengths()[1])
    assert ours.moments[-1].loss < paper.moments[-1].loss


def test_estimates_and_levels_of_a_mixture():
    stream = mixture_experiment.Stream(np.array([0.4, 0.4, 0.5]), np.zeros(21), ())
    alone = moment([[0.4], [0.41], [0.4]], sd=0.01)
    np.testing.assert_allclose(alone.lengths()[0], [0.4, 0.41, 0.4])
    np.testing.assert_allclose(alone.lengths()[1], 0.01 * np.array([0.4, 0.41, 0.4]))
    np.testing.assert_allclose(alone.levels(stream.lengths), [0.5, 0.0068, 1.0], atol=1e-4)
    pair = moment([[0.2, 0.8]] * 3, weights=(0.5, 0.5))
    np.testing.assert_allclose(pair.lengths()[0], 0.4)
    np.testing.assert_allclose(pair.levels(np.full(3, 0.4)), 0.5)
    assert pair.lengths()[1][0] > 0.2
    assert mixture_experiment.coverage([Run(stream, (alone,))]) == [1 / 3, 1 / 3]


def test_who_leaves_the_band_again_has_not_arrived():
    stream = mixture_experiment.Stream(np.array([0.4, 0.4, 0.4]), np.zeros(21), ())
    near, far = [[0.401]] * 3, [[0.401], [0.401], [0.41]]
    back = Run(stream, tuple(moment(x, seen=k) for k, x in enumerate([near, far, near, near])))
    lost = Run(stream, tuple(moment(x, seen=k) for k, x in enumerate([near, near, far])))
    assert back.arrival().seen == 2
    assert lost.arrival() is None
    numbers = mixture_report.summary([back, lost, lost])
    assert numbers['arrived'] == 1 and np.isinf(numbers['samples'])


def test_the_command_ends_with_a_table_and_a_picture(tmp_path, capsys):
    arguments = ['reproduce', 'mixture', '--seeds', '1', '--epochs', '3']
    assert cli.main([*arguments, '--output', str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert 'gumbel_mixture' in printed and 'gaussian_sum' in printed
    assert (tmp_path / 'mixture.png').read_bytes().startswith(b'\x89PNG')
