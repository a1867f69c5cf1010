"""The pieces of the comparison with `mujoco.sysid`: two robots, one recording, two tools."""

from dataclasses import replace
from pathlib import Path
import sys
from types import SimpleNamespace

import numpy as np
from posteriors import posterior_bytes
import pytest
import torch

from sim2real_estimator import Simulator
from sim2real_estimator.config import read_config
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.pipeline import Pipeline

pytest.importorskip('mujoco')
sys.path.append(str(Path(__file__).resolve().parents[1] / 'benchmark'))
from mujoco import sysid as peer  # noqa: E402, needs what is skipped above
from sysid import arm, ours, pendulum, section  # noqa: E402, needs the path above
from sysid.cases import Case, CASES, Outcome  # noqa: E402

needs_peer = pytest.mark.skipif(
    not hasattr(peer, 'optimize'), reason="mujoco.sysid needs pip install 'mujoco[sysid]'"
)
SEED = (0, 0)
SHORT = Case('short', seconds=0.6)
SHORT_ARM = Case('short', arm, seconds=0.6)
LATE = next(case for case in CASES if case.frees_delay and case.clocks)


@pytest.fixture
def no_noise(monkeypatch):
    monkeypatch.setattr(pendulum, 'NOISE', 0.0)
    monkeypatch.setattr(arm, 'NOISE', 0.0)


def test_both_descriptions_move_alike(no_noise):
    seen = pendulum.record(SEED, 0.5)
    types = dict.fromkeys(pendulum.JOINTS, 'spherical')
    names = [f'{rod}.length' for rod in pendulum.RODS]
    simulator = Simulator(load_urdf(pendulum.urdf(), joint_types=types), names, integrator='rk4')
    state = np.concatenate([seen.positions, seen.velocities])[:, None]
    lengths = torch.tensor(pendulum.LENGTHS, dtype=torch.float64)[:, None]
    steps = [pendulum.STEP] * (len(seen.times) - 1)
    states = simulator.rollout(torch.from_numpy(state), steps, lengths).states[..., 0]
    assert np.abs(states[:, :12].numpy() - seen.seen).max() < 1e-6


def test_both_descriptions_of_the_arm_move_alike(no_noise):
    seen, unknowns = arm.record(SEED, 0.5), arm.unknowns(None, 1.0, True)
    values = {f'{joint}.armature': arm._ARMATURE for joint in arm.JOINTS}
    names = [unknown.name for unknown in unknowns]
    model = load_urdf(arm.urdf(1.0))
    simulator = Simulator(model, names, integrator='rk4', max_step=arm.STEP, values=values)
    state = np.concatenate([seen.positions, seen.velocities])[:, None]
    true = torch.tensor([[unknown.true] for unknown in unknowns], dtype=torch.float64)
    efforts = torch.from_numpy(seen.efforts[:-1, :, None])
    steps = [arm.STEP] * len(efforts)
    states = simulator.rollout(torch.from_numpy(state), steps, true, efforts).states[..., 0]
    assert np.abs(states[:, :7].numpy() - seen.seen).max() < 1e-6


def test_only_samples_of_the_late_camera_are_late(no_noise):
    on_time = replace(LATE, latency=0.0, seconds=0.1).record(SEED)
    late = replace(LATE, seconds=0.1).record(SEED)
    joints = np.repeat([k in LATE.clocks[LATE.late[0]] for k in range(3)], 4)
    behind = round(LATE.latency / pendulum.STEP)
    assert np.array_equal(late.seen[:, ~joints], on_time.seen[:, ~joints])
    then = on_time.seen[:-behind, joints]
    assert np.array_equal(late.seen[behind:, joints], then)
    assert np.abs(late.seen[:, joints] - on_time.seen[:, joints]).max() > 1e-3


def test_encoders_that_are_late_saw_what_was_before(no_noise):
    case = next(case for case in CASES if case.robot is arm and case.late)
    on_time, late = (replace(case, latency=x).record(SEED) for x in (0.0, case.latency))
    behind = round(case.latency / arm.STEP)
    assert np.array_equal(late.seen[behind:], on_time.seen[:-behind])
    assert np.array_equal(late.efforts, on_time.efforts)


@pytest.mark.parametrize('case', [c for c in CASES if c.draws_starts])
def test_starts_are_drawn_where_they_may_be_anywhere(case):
    first, second = ([u.begin for u in case.unknowns(case.starts((0, k)))] for k in (0, 1))
    assert first != second
    fixed = replace(case, draws_starts=False)
    assert fixed.starts((0, 0)) is None and fixed.unknowns(None)[0].begin not in first


def test_ours_finds_the_lengths_and_complains_of_nothing(one_thread):
    case = replace(SHORT, seconds=0.3)
    found = ours.estimate(case, case.record(SEED), case.starts(SEED))
    assert np.abs(found.error).max() < 0.05 and (np.abs(found.error) < 2 * found.half).all()
    assert found.flags == () and found.used > 0


def test_ours_finds_what_the_hand_of_the_arm_holds(one_thread):
    found = ours.estimate(SHORT_ARM, SHORT_ARM.record(SEED), None)
    assert (np.abs(found.error) < 2 * found.half).all() and found.half[:3].max() < 1e-3
    assert found.flags == ()


@pytest.mark.parametrize(
    'title, wrong',
    [
        ('damping', 'ball0.damping'),
        ('camera', 'camera1.delay'),
        # Of efforts that act 10 ms after the encoders say so frames have to know what was before.
        ('encoders', 'commands.delay'),
    ],
)
def test_what_is_wrong_and_fixed_is_named_and_the_lengths_hold(one_thread, tmp_path, title, wrong):
    case = next(c for c in CASES if c.is_wrong and title in c.title)
    case = replace(case, seconds=0.9)
    found = ours.estimate(case, case.record(SEED), case.starts(SEED))
    assert 'misspecified' in found.flags and 'unknown efforts' not in found.flags
    assert (np.abs(found.error) < 2 * found.half).all() and found.half[:3].max() < 0.005
    pipeline = ours._pipeline(case, case.starts(SEED))
    augmented = pipeline._begun.augmented
    mean, covariance = pipeline.state.mixture.moments()
    row = augmented.parametrization.names.index(wrong)
    truth = np.log(pendulum.DAMPING) if wrong.endswith('damping') else case.latency
    assert abs(mean[row] - truth) < 4 * covariance[row, row] ** 0.5
    assert abs(mean[row] - augmented.prior.mean[row]) > 4 * covariance[row, row] ** 0.5
    pipeline.save(tmp_path / 'posterior.zip')
    again = Pipeline.from_config(read_config(pipeline.config))
    again.load(tmp_path / 'posterior.zip')
    assert posterior_bytes(again) == posterior_bytes(pipeline)


def test_a_delay_that_nothing_tells_stays_as_unknown_as_it_was(one_thread):
    case = next(c for c in CASES if c.frees_delay and not c.clocks and c.robot is pendulum)
    case = replace(case, seconds=1.2)
    found = ours.estimate(case, case.record(SEED), case.starts(SEED))
    assert found.half[3] == pytest.approx(1.96 * ours._DELAY_SD, rel=0.01)
    assert (np.abs(found.error[:3]) < 2 * found.half[:3]).all()
    estimate = ours._pipeline(case, case.starts(SEED)).estimate()
    assert dict(zip(estimate.names, estimate.verdicts))['camera0.delay'] == 'prior-only'


@needs_peer
@pytest.mark.parametrize('case', [SHORT, SHORT_ARM])
@pytest.mark.parametrize('frees_state', [True, False])
def test_theirs_fits_a_recording_without_noise_to_the_last_digits(no_noise, case, frees_state):
    from sysid import theirs

    case = replace(case, frees_state=frees_state)
    found = theirs.estimate(case, case.record(SEED), None)
    assert np.abs(found.error).max() < 1e-4


@needs_peer
@pytest.mark.parametrize('case', [c for c in CASES if c.frees_damping or c.frees_delay])
def test_theirs_searches_what_else_is_free(case):
    from sysid import theirs

    case = replace(case, seconds=0.6)
    found = theirs.estimate(case, case.record(SEED), case.starts(SEED))
    assert (np.abs(found.error) < 3 * found.half).all()
    assert found.half.shape == case.truth.shape


def test_a_run_that_ends_in_an_error_counts_as_one_without_the_truth():
    def stop(*given):
        raise ArithmeticError('nothing converges')

    (found,) = section._outcomes(SimpleNamespace(__name__='it', estimate=stop), SHORT, 0, 1)
    assert 'nothing converges' in found.failure and not found.inside90.any()
    assert section._row(SHORT, 'ours', [found])[2:5] == ['-', '-', '0.00']


def outcomes(inside, flags):
    inside, one = np.array([inside]), np.ones(3)
    return [Outcome(one, one, each, each, 1.0, flags) for each in inside.repeat(100, 0)]


@pytest.mark.parametrize(
    'inside, is_wrong, met',
    [(1, False, False), (0, False, False), (1, True, True), (0, True, False)],
)
def test_targets_are_about_coverage(inside, is_wrong, met):
    case = replace(SHORT, is_wrong=is_wrong)
    runs = outcomes([bool(inside)] * 3, ('NIS',))
    targets = section._targets(case, {'ours': runs, 'theirs': runs})
    (coverage,) = [t for t in targets if 'coverage' in t.name]
    assert coverage.is_met == met
    assert all(t.is_met for t in targets if 'flagged' in t.name)
    (times,) = [t for t in targets if 'time' in t.name]
    assert times.value == pytest.approx(1.0)
    given = section._targets(replace(case, frees_state=False), {'ours': runs, 'theirs': runs})
    assert not any('time' in t.name for t in given)
