"""The cube that is thrown, on tosses that are simulated."""

import numpy as np
from posteriors import feed
import pytest
import torch

from sim2real_estimator import cli
from sim2real_estimator.app.reproduce import tosses_experiment, tosses_report
from sim2real_estimator.app.reproduce.tosses_experiment import (
    DISSIPATION,
    Found,
    FRAMES,
    FRICTION,
    INERTIAS,
    Rollouts,
    SCALE,
    Toss,
)
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.errors import DataError
from sim2real_estimator.estimation.noise import StudentNoise
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.setup.sources import build_model

RATE = 148.0
TRUE = {FRICTION: 0.2, DISSIPATION: 2.5, SCALE: 0.98} | dict.fromkeys(INERTIAS, 0.0008)
# Of simulated poses [m], [quaternion].
NOISE = 1e-4


def simulated(count, seed):
    """Return `Toss`es of the cube with the `TRUE` parameters."""
    generator = np.random.default_rng(seed)
    names = (FRICTION, DISSIPATION, *INERTIAS)
    config = tosses_experiment.settings()
    simulator = Simulator(build_model(config), names, max_step=config.simulation.max_step)
    starts = np.zeros((13, count))
    starts[2] = 0.15
    starts[3:7] = generator.standard_normal((4, count))
    starts[3:7] /= np.linalg.norm(starts[3:7], axis=0)
    starts[7:9] = generator.uniform(-1, 1, (2, count))
    starts[10:] = generator.uniform(-6, 6, (3, count))
    values = torch.tensor([[TRUE[name]] for name in names], dtype=torch.float64)
    with torch.no_grad():
        states = simulator.rollout(
            torch.from_numpy(starts), [1 / RATE] * (FRAMES - 1), values
        ).states.numpy()
    poses = np.moveaxis(states[:, :7], -1, 0).copy()
    poses[..., :3] *= TRUE[SCALE]
    poses += NOISE * generator.standard_normal(poses.shape)
    stamps = np.arange(FRAMES) / RATE
    return [Toss(stamps, each) for each in poses]


@pytest.fixture(scope='module')
def tosses():
    return simulated(6, seed=3)


def test_windows_find_friction_scale_and_inertia_of_a_simulated_cube(tosses):
    found = tosses_experiment.by_windows(tosses, tosses)
    for name, truth in TRUE.items():
        low, middle, high = found.values[name]
        assert low <= truth <= high, name
        assert middle == pytest.approx(truth, rel=0.1), name
    assert not found.holds(SCALE, 1.0)


def test_mass_and_stiffness_cannot_be_told_apart_and_friction_can(tosses):
    changes = {'estimate.cube.mass.sd': 0.5, 'estimate.board.stiffness.sd': 1.0}
    pipeline = Pipeline.from_config(tosses_experiment.settings(changes))
    feed(pipeline, tosses_experiment.samples_of(tosses))
    found = {each.name: each for each in pipeline.posterior().findings.parameters}
    alike = {'cube.mass', 'board.stiffness', *INERTIAS}
    for name in alike:
        assert found[name].verdict == 'aliased' and set(found[name].aliases) == alike - {name}
    assert found[FRICTION].verdict in ('identified', 'prior-assisted')


def test_contacts_bring_windows_of_a_fifth_of_a_second_with_outliers():
    pipeline = Pipeline.from_config(tosses_experiment.settings())
    assert pipeline.estimator.seconds == 0.19
    assert pipeline.estimator.noise == StudentNoise()
    # Axes of one quantity have one level; all parameters are coordinates, whatever touches.
    assert pipeline.problem.channel_groups.tolist() == [0, 0, 0, 1, 1, 1]
    assert set(pipeline.problem.parametrization.names) == set(TRUE)
    assert len(pipeline.problem.labels) == len(TRUE)
    given = tosses_experiment.settings({'estimator.settings': {'seconds': 0.4}})
    assert Pipeline.from_config(given).estimator.seconds == 0.4


def test_rollouts_of_the_true_robot_stay_close_and_others_do_not(tosses):
    rollouts = Rollouts(tosses)
    distance, angle = rollouts.errors(TRUE)
    assert distance < 0.02
    slippery = rollouts.errors(TRUE | {FRICTION: 0.05})
    assert slippery[0] > 1.5 * distance and slippery[1] > angle
    assert rollouts.residuals(np.log([[0.2], [2.5], [0.0008], [0.98]])).shape == (
        FRAMES * 6 * len(tosses),
        1,
    )


def test_a_cube_that_slides_flat_tells_its_friction_by_its_deceleration():
    stamps = np.arange(FRAMES) / RATE
    poses = np.zeros((FRAMES, 7))
    poses[:, 0] = 0.9 * stamps - 0.5 * 0.15 * 9.81 * stamps**2
    poses[:, 2], poses[:, 3] = 0.0524, 1.0
    poses[:, :3] *= 0.98
    friction, error, count = tosses_experiment.sliding_friction([Toss(stamps, poses)], 0.98)
    assert (friction, count) == (pytest.approx(0.15, rel=1e-6), 1) and error == 0


def test_a_recording_is_cut_into_tosses(tmp_path):
    path = tmp_path / 'tosses.npz'
    lengths = np.array([FRAMES + 5, 20, FRAMES])
    rows = lengths.sum()
    np.savez(
        path,
        t=np.arange(rows) / RATE,
        pos=np.zeros((rows, 3)),
        quat_wxyz=np.tile([1.0, 0, 0, 0], (rows, 1)),
        start=np.cumsum(lengths) - lengths,
        length=lengths,
    )
    found = tosses_experiment.read_tosses(path)
    assert [len(toss.stamps) for toss in found] == [FRAMES, FRAMES]
    assert all(toss.stamps[0] == 0 for toss in found)
    np.savez(path, t=np.zeros(3))
    with pytest.raises(DataError, match='is no recording of tosses'):
        tosses_experiment.read_tosses(path)


def found_with(friction, width, distance):
    values = {name: (value / 1.1, value, value * 1.1) for name, value in TRUE.items()}
    values[SCALE] = 0.97, 0.98, 0.99
    values[FRICTION] = friction - width, friction, friction + width
    return Found(values, 3.0, (distance, 0.2))


def test_the_verdict_says_what_holds():
    good = [found_with(friction, 0.01, 0.01) for friction in (0.175, 0.18, 0.185)]
    is_reached, sentence = tosses_report.verdict(good)
    assert is_reached and sentence.startswith('holds: ') and '3 of 3 intervals leave' in sentence
    narrow = [found_with(friction, 0.001, 0.01) for friction in (0.175, 0.18, 0.185)]
    assert not tosses_report.verdict(narrow)[0]
    assert not tosses_report.verdict([found_with(0.2, 0.01, 0.01)] * 3)[0]
    assert not tosses_report.verdict([found_with(0.18, 0.01, 0.02)] * 3)[0]


def test_the_command_ends_with_a_table_a_verdict_and_a_picture(tmp_path, capsys, monkeypatch):
    found = found_with(0.18, 0.01, 0.01)
    monkeypatch.setattr(tosses_experiment, 'read_tosses', lambda path: list(range(45)))
    monkeypatch.setattr(tosses_experiment, 'sliding_friction', lambda *given: (0.22, 0.01, 3))
    monkeypatch.setattr(tosses_experiment, 'by_windows', lambda *given: found)
    monkeypatch.setattr(tosses_experiment, 'by_rollouts', lambda *given, seed: found)
    arguments = ['reproduce', 'tosses', '--data', 'tosses.npz', '--groups', '2']
    status = cli.main([*arguments, '--output', str(tmp_path)])
    printed = ' '.join(capsys.readouterr().out.split())
    assert '2 groups of 15 real tosses' in printed and 'holds: ' in printed and status == 0
    assert (tmp_path / 'tosses.png').read_bytes().startswith(b'\x89PNG')
