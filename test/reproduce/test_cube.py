"""A thrown cube, by exact steps, and matched by springs and a learned friction."""

import numpy as np
import pytest
import torch

from sim2real_estimator import cli
from sim2real_estimator.app.reproduce.cube import cube_by_lcp, cube_experiment, cube_report
from sim2real_estimator.app.reproduce.cube.cube_by_lcp import FRICTION, GRAVITY, SIDE, Throws


def laid(velocity):
    """Return one cube that lies flat, with a velocity [6]."""
    return Throws(
        torch.tensor([[[0.0, 0.0, SIDE / 2]]], dtype=torch.float64),
        torch.eye(3, dtype=torch.float64)[None, None],
        torch.tensor([[velocity]], dtype=torch.float64),
    )


@pytest.fixture
def short(monkeypatch):
    """Make throws end soon after they have come down, and be few."""
    monkeypatch.setattr(cube_experiment, 'SECONDS', 0.16)
    monkeypatch.setattr(cube_experiment, 'TRAINING', 2)
    monkeypatch.setattr(cube_experiment, 'HELD_OUT', 2)
    monkeypatch.setattr(cube_experiment, '_ITERATIONS', 4)


def test_a_cube_slides_as_far_as_its_friction_lets_it():
    run = cube_by_lcp.thrown(laid([0.0, 0.0, 0.0, 0.6, 0.0, 0.0]), 0.22, step=2e-3, every=10)
    expected = 0.6**2 / (2 * FRICTION * GRAVITY)
    assert float(run.places[-1, 0, 0]) == pytest.approx(expected, rel=0.02)
    assert run.velocities[-1].abs().max() < 1e-9
    assert (run.places[:, 0, 2] - SIDE / 2).abs().max() < 1e-6
    # The pyramid resists along the axis of the larger speed alone.
    run = cube_by_lcp.thrown(laid([0.0, 0.0, 0.0, 0.6, 0.2, 0.0]), 0.05, step=1e-3, every=10)
    assert float(run.velocities[-1, 0, 4]) == pytest.approx(0.2, abs=1e-6)


def test_what_has_come_to_rest_stays_there():
    still = laid([0.0] * 6)
    run = cube_by_lcp.thrown(still, 0.1)
    assert torch.equal(run.places[-1], still.places[0])


def test_slopes_by_the_weights_are_central_differences(short):
    guess = cube_experiment.network_law(1, 3)
    cube, points = cube_experiment.Cube(guess.law), guess.points
    states = cube_experiment.states_of(cube_experiment.target(2, 5))
    values = np.where(guess.is_log, np.exp(points[:, 0]), points[:, 0])
    poses, slopes = cube.slopes(states, values)
    assert np.allclose(poses, cube.throws(states, values))
    for column in (0, 2, len(values) - 1):
        step = np.zeros(len(values))
        step[column] = 1e-6 * max(1e-2, abs(values[column]))
        ahead, behind = (cube.throws(states, values + s * step) for s in (1, -1))
        differences = (ahead - behind) / (2 * step[column])
        assert abs(slopes[..., column] - differences).max() < 1e-4 * abs(differences).max()


def test_the_same_poses_have_no_error():
    throws = cube_experiment.first_states(3, torch.Generator().manual_seed(0))
    poses = cube_experiment.poses_of(throws)
    assert cube_experiment.accuracy(poses, poses).largest() == pytest.approx((0.0, 0.0), abs=1e-5)
    moved = poses.copy()
    moved[:, 0] += SIDE
    assert cube_experiment.accuracy(moved, poses).rms()[0] == pytest.approx(1.0)


def test_friction_of_coulombs_law_stays_within_its_own_cone(short):
    law = cube_experiment.scalar_law().law
    states = cube_experiment.states_of(cube_experiment.target(2, 5))
    values = np.array([{'friction': 0.2}.get(p.name, p.default) for p in law.parameters])
    cone = cube_experiment.Cube(law).cone(states, values)
    assert 0.5 * 0.2 / FRICTION < cone < 0.2 / FRICTION


def test_a_fit_brings_throws_nearer_and_the_command_shows_it(short, tmp_path, capsys):
    results = []
    run = cube_experiment.run_cube

    def kept(*arguments):
        results.append(run(*arguments))
        return results[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cube_experiment, 'run_cube', kept)
        cli.main(['reproduce', 'cube', '--seed', '5', '--output', str(tmp_path)])
    (result,) = results
    assert result.network.cost < 0.5 * result.before.cost
    printed = capsys.readouterr().out
    assert 'best coefficient' in printed and 'degrees (rms)' in printed
    assert (tmp_path / 'cube.png').read_bytes().startswith(b'\x89PNG')
    is_reached, _ = cube_report.cube_verdict(result)
    assert is_reached == (
        result.network.accuracy.rms()[0] <= cube_report.PLACE
        and result.network.accuracy.rms()[1] <= cube_report.TURN
        and result.network.cone <= cube_report.CONE
        and all(
            wide >= cube_report.GAIN * narrow
            for wide, narrow in zip(result.scalar.accuracy.rms(), result.network.accuracy.rms())
        )
    )
