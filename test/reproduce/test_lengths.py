"""The first experiment of the paper."""

import pytest
import torch

from sim2real_estimator import cli
from sim2real_estimator.app.reproduce import lengths_experiment
from sim2real_estimator.app.reproduce.pendulums import rod_chain
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.observations import headings


def run(case, starts=6, epochs=130, seed=3):
    return lengths_experiment.run_case(case, starts, epochs, seed, lambda *_: None)


def test_exact_data_lead_every_start_to_the_true_lengths():
    result = run(lengths_experiment.CASES[0])
    assert result.lengths.shape == (130, 2, 6)
    assert result.errors()[0].median() > 0.2
    assert result.errors()[-1].max() < 0.01
    assert result.epochs_to(0.01).max() < 130


def test_unmodelled_damping_biases_the_lengths_and_modelled_damping_does_not():
    ignored, found = (
        run(lengths_experiment.CASES[3], epochs=200),
        run(lengths_experiment.CASES[4], epochs=200),
    )
    assert ignored.errors()[-1].min() > 0.03
    assert found.errors()[-1].max() < 0.01


def test_a_start_that_leaves_the_band_again_or_becomes_nan_never_arrives():
    case = lengths_experiment.CASES[0]
    tracks = torch.tensor(
        [[0.55, 0.40], [0.80, 0.40], [0.55, 0.40], [0.55, float('nan')]], dtype=torch.float64
    )[..., None]
    left = lengths_experiment.Result(case, tracks[:2], torch.zeros(2, 1)).epochs_to(0.01)
    back = lengths_experiment.Result(case, tracks[:3], torch.zeros(3, 1)).epochs_to(0.01)
    lost = lengths_experiment.Result(case, tracks, torch.zeros(4, 1)).epochs_to(0.01)
    assert torch.isnan(left).all() and torch.isnan(lost).all()
    assert back.tolist() == [2.0]


def test_the_state_read_off_headings_is_the_state_up_to_the_spin_of_the_rods():
    case = lengths_experiment.Case('', fits_state=True)
    state, observed = lengths_experiment.record(case, torch.Generator().manual_seed(1))
    true_state, _ = lengths_experiment.record(
        lengths_experiment.Case(''), torch.Generator().manual_seed(1)
    )
    simulator = Simulator(
        rod_chain(lengths_experiment.TRUE_LENGTHS),
        backend='eager',
        observe=headings(['rod0', 'rod1']),
    )
    seen = simulator.rollout(state, [0.04]).outputs
    expected = simulator.rollout(true_state, [0.04]).outputs
    assert torch.allclose(seen[0], expected[0], atol=1e-12)
    # Rates from four samples at 25 Hz are good to some hundredths of a radian per second.
    assert (seen[1] - expected[1]).abs().max() < 0.03
    assert torch.allclose(observed[0], expected[1], atol=1e-3)


def test_the_command_ends_with_a_table_and_a_picture(tmp_path, capsys):
    arguments = ['reproduce', 'lengths', '--starts', '2', '--epochs', '3']
    assert cli.main([*arguments, '--output', str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert 'damped joints, found too' in printed
    assert (tmp_path / 'lengths.png').read_bytes().startswith(b'\x89PNG')


def test_a_number_of_starts_that_makes_no_sense_is_refused(capsys):
    with pytest.raises(SystemExit):
        cli.main(['reproduce', 'lengths', '--starts', '0'])
    assert '0 is not above zero' in capsys.readouterr().err
