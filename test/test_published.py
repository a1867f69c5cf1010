"""The table of published robots: what it names is there, and disagreement is seen."""

from pathlib import Path
import pickle
import sys

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / 'benchmark'))

from published.measuring import data_folder, FOLDER  # noqa: E402, needs the path above
from published.repeating import Comparison  # noqa: E402
from published.robots import about, Drawn, error_of, EXAMPLES, Known  # noqa: E402

from sim2real_estimator.config import load_config  # noqa: E402
from sim2real_estimator.model.parameters import Parameters  # noqa: E402
from sim2real_estimator.model.urdf.load import load_urdf  # noqa: E402

NORMAL = 1.645


@pytest.mark.parametrize('example', EXAMPLES, ids=lambda each: each.folder)
def test_what_an_example_names_is_there(example):
    config = load_config(FOLDER / example.folder / 'robot.yaml')
    urdf, base = FOLDER / example.folder / 'robot.urdf', config.model.base
    parameters = Parameters(load_urdf(urdf, base=base, inertia_check='mend'))
    told = example.quantities(Drawn(parameters, {}, 3))
    assert all(values.shape == (3,) and np.isfinite(values).all() for values in told.values())
    assert set(example.known) <= set(told) and set(example.repeated) <= set(told)
    assert not {each.name for each in example.learned} & {each.name for each in example.tests}


@pytest.mark.parametrize('example', EXAMPLES, ids=lambda each: each.folder)
def test_an_example_can_be_sent_to_a_process(example):
    assert pickle.loads(pickle.dumps(example)).known == example.known


def test_a_length_that_is_estimated_moves_what_hangs_on_it():
    path = FOLDER / 'multiarm_double' / 'robot.urdf'
    parameters = Parameters(load_urdf(path))
    double = next(each for each in EXAMPLES if each.folder == 'multiarm_double')
    nominal = double.quantities(Drawn(parameters, {}, 1))
    longer = {'upper.length': 1.1 * np.array([0.17272])}
    told = double.quantities(Drawn(parameters, longer, 1))
    assert told['L1 [m]'] == pytest.approx(1.1 * nominal['L1 [m]'])
    # With the length its mass moves down, and its inertia grows; its thickness stays.
    assert told['a1/a2'] == pytest.approx(1.21 * nominal['a1/a2'], rel=1e-3)


def test_recordings_that_are_not_there_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match='arm_excitation'):
        data_folder(next(e for e in EXAMPLES if e.folder == 'staubli_tx40'), tmp_path)


def test_an_error_is_of_the_middle_of_a_reference():
    assert error_of(Known(0.9, 1.1), 1.05) == pytest.approx(5.0)
    assert np.isnan(error_of(about(0.0), 1.0))


@pytest.mark.parametrize(('claimed', 'low', 'high'), [(1.0, 0.8, 1.25), (0.25, 3.2, 5.0)])
def test_recordings_that_differ_by_more_than_they_claim_are_seen(claimed, low, high):
    middle = 5 + np.random.default_rng(0).standard_normal(200)
    reach = NORMAL * claimed
    quantiles = np.stack([middle - reach, middle, middle + reach], 1)
    names, is_fresh = tuple(map(str, range(200))), np.ones(200, dtype=bool)
    found = Comparison('robot', 'length', names, quantiles, about(5.0), is_fresh)
    assert low < found.spread < high
    share = found.holds_others.mean(), found.holds_reference.mean()
    is_held = [0.84 < each < 0.96 for each in share]
    assert all(is_held) if claimed == 1.0 else not any(is_held)
