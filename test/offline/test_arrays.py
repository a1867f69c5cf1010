"""Arrays in, a result out; what is printed of it."""

from pathlib import Path
import runpy

import numpy as np
import pytest
from test_init_heard import moved, TIMES

from sim2real_estimator import (
    ConfigError,
    DataError,
    identify_arrays,
    load_urdf,
    Parameters,
    Simulator,
)

EXAMPLE = Path(__file__).resolve().parents[2] / 'examples' / 'identify_arrays.py'


def test_the_example_finds_what_it_hides(capsys):
    names = runpy.run_path(str(EXAMPLE))
    found, truth = names['found'], names['truth']
    for name, true in truth.items():
        assert abs(found.mean[name] - true) < 3 * found.sd[name], name
    assert found.verdicts['elbow.friction'] == 'identified'
    assert found.held_out.torque_error('mean') < 0.02
    said = capsys.readouterr().out
    assert '<Identification of double_pendulum: ' in said
    assert 'held-out torques off by' in said and 'CAUTION' not in said


def test_priors_and_folder_are_as_asked(tmp_path, double_pendulum_urdf):
    q, tau = moved(double_pendulum_urdf)
    (tmp_path / 'robot.urdf').write_text(double_pendulum_urdf)
    found = identify_arrays(
        TIMES,
        q,
        tau,
        model=tmp_path / 'robot.urdf',
        priors={'upper.mass': (2.0, 0.01), '*.inertia.*': {'fixed': True}},
        held_out=0,
        output=tmp_path / 'result',
    )
    assert found.mean['upper.mass'] == pytest.approx(2.0, abs=0.03)
    assert not any('inertia' in name for name in found.mean)
    assert (tmp_path / 'result' / 'posterior.npz').exists()


def test_one_joint_takes_vectors_and_a_clock_of_today(pendulum_urdf):
    q = np.sin(2 * TIMES) + 1e-5 * np.random.default_rng(0).standard_normal(len(TIMES))
    found = identify_arrays(
        1_760_000_000.25 + TIMES, q, np.cos(3 * TIMES), model=pendulum_urdf, held_out=0
    )
    assert abs(found.bags[0].begin_ns - 1_760_000_000_250_000_000) < 1000


@pytest.mark.parametrize(
    ('changes', 'error', 'said'),
    [
        ({'q': np.zeros((1600, 3))}, DataError, r'q: has shape \(1600, 3\); give 1600 rows'),
        ({'tau': np.zeros((9, 2))}, DataError, r'tau: has shape \(9, 2\)'),
        ({'t': TIMES[::-1]}, DataError, 'has to increase'),
        ({'t': np.zeros((4, 4))}, DataError, 't: has shape'),
        ({'joints': ['hip', 'knee']}, ConfigError, "'hip' is no joint that moves"),
        ({'priors': {'upper.mass': 'heavy'}}, ConfigError, "'upper.mass' is 'heavy'; give"),
        ({'model': 5}, ConfigError, 'is a int; give the path'),
    ],
)
def test_what_does_not_fit_is_said(double_pendulum_urdf, changes, error, said):
    q, tau = moved(double_pendulum_urdf)
    given = {'t': TIMES, 'q': q, 'tau': tau, 'model': double_pendulum_urdf, **changes}
    with pytest.raises(error, match=said):
        identify_arrays(**given)


def test_parameters_and_simulators_say_what_they_are(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    assert repr(Parameters(model)).startswith('<Parameters of double_pendulum: ')
    assert '2 moving links and 2 joints' in repr(Parameters(model))
    simulator = Simulator(model, ['elbow.damping'], backend='eager')
    assert '4 states' in repr(simulator) and 'backend eager' in repr(simulator)
    assert repr(simulator).endswith('1 estimated: elbow.damping>')
