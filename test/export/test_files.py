"""Draws for randomization, parameters of the node, and the command that writes them."""

import json
from pathlib import Path
import shutil

from estimates import brick, pendulum, posterior_of
import numpy as np
import pytest
from simulated import CONFIG
import yaml

from sim2real_estimator.cli import main
from sim2real_estimator.config import load_config
from sim2real_estimator.errors import DataError
from sim2real_estimator.model.body_numbers import are_possible, second_moments
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.posterior.export import robot_of, write_mjcf, write_parameters
from sim2real_estimator.posterior.export.randomization import possible_draws, randomization
from sim2real_estimator.posterior.file import save

pytestmark = pytest.mark.usefixtures('one_thread')


@pytest.fixture(scope='module')
def robot():
    return robot_of(*posterior_of(pendulum()))


@pytest.fixture(scope='module')
def content(robot):
    return randomization(robot, count=400)


@pytest.fixture
def saved(tmp_path, robot):
    """Return the path of a posterior beside the description of its robot."""
    shutil.copy(CONFIG.with_suffix('.urdf'), tmp_path)
    save(tmp_path / 'arm.npz', robot.posterior)
    return tmp_path / 'arm.npz'


def test_the_file_names_every_parameter_with_its_unit(robot, content):
    names = [each['name'] for each in content['parameters']]
    assert names == list(robot.problem.parametrization.names)
    assert {each['unit'] for each in content['parameters']} == {
        'kg',
        'm',
        'kg m^2',
        'N m s/rad',
    }
    json.dumps(content, allow_nan=False)


def test_draws_have_the_spread_of_the_posterior(content):
    for each in content['parameters']:
        draws = np.array(content['draws'][each['name']])
        assert draws.shape == (400,)
        assert draws.mean() == pytest.approx(each['mean'], abs=0.2 * each['sd'])
        assert draws.std() == pytest.approx(each['sd'], rel=0.2)


def test_all_drawn_bodies_can_be_built(content):
    assert set(content['bodies']) == {'upper', 'lower'}
    for body in content['bodies'].values():
        mass, _, inertia = (np.array(each) for each in body.values())
        smallest = np.linalg.eigvalsh(second_moments(inertia))[:, 0]
        assert (mass > 0).all() and (smallest > -1e-6 * inertia.sum(1)).all()


def test_draws_of_bodies_and_of_parameters_belong_together(content):
    for link, body in content['bodies'].items():
        assert body['mass [kg]'] == content['draws'][f'{link}.mass']


def test_the_mixture_is_that_of_the_posterior(robot, content):
    mixture = content['mixture']
    np.testing.assert_array_equal(np.array(mixture['means']).T, robot.posterior.mixture.means)
    assert np.shape(mixture['covariances']) == (1, *[len(mixture['coordinates'])] * 2)


def test_draws_that_cannot_be_built_are_left_out():
    # A body that floats shows all its numbers, so none can follow.
    robot = robot_of(*posterior_of(brick(), away=0.0, left=0.8))
    draws, bodies, tried = possible_draws(robot, 20, seed=0)
    assert 20 < tried < 200
    assert bodies['brick'].shape == (20, 10) and are_possible(bodies['brick']).all()
    assert {each.shape for each in draws.values()} == {(20,)}


def test_the_same_seed_gives_the_same_draws(robot):
    first, again, other = (possible_draws(robot, 5, seed)[0] for seed in (1, 1, 2))
    assert all((first[name] == again[name]).all() for name in first)
    assert not all((first[name] == other[name]).all() for name in first)


def test_the_node_begins_with_what_the_parameter_file_names(robot, saved, tmp_path):
    write_parameters(robot, tmp_path / 'start.yaml', saved)
    (entry,) = yaml.safe_load((tmp_path / 'start.yaml').read_text()).values()
    values = entry['ros__parameters']
    pipeline = Pipeline.from_config(load_config(values['config_file']))
    pipeline.begin_from(values['node.initial_posterior'])
    np.testing.assert_allclose(
        pipeline.mixture.moments()[0], robot.posterior.mixture.moments()[0], rtol=1e-9
    )


def test_a_model_that_mujoco_refuses_is_not_written(robot, tmp_path, monkeypatch):
    pytest.importorskip('mujoco')
    from sim2real_estimator.posterior.export import mjcf

    monkeypatch.setattr(mjcf, 'mjcf_text', lambda robot: '<mujoco><worldbody><body/><body>')
    with pytest.raises(Exception, match='MuJoCo does not take the robot'):
        write_mjcf(robot, tmp_path / 'arm.xml')
    assert list(tmp_path.iterdir()) == []


def test_export_writes_what_is_asked_for(saved, tmp_path, capsys):
    outputs = {
        kind: tmp_path / name
        for kind, name in (('urdf', 'a.urdf'), ('mjcf', 'a.xml'), ('parameters', 'a.yaml'))
    }
    arguments = [word for kind, path in outputs.items() for word in (f'--{kind}', str(path))]
    assert main(['export', str(saved), *arguments]) == 0
    assert all(path.exists() for path in outputs.values())
    assert 'Changed by sim2real_estimator' in outputs['urdf'].read_text()
    first = outputs['urdf'].read_bytes()
    assert main(['export', str(saved), *arguments]) == 2
    assert 'a.urdf: exists' in capsys.readouterr().err
    assert main(['export', str(saved), '--urdf', str(outputs['urdf']), '--force']) == 0
    assert outputs['urdf'].read_bytes() == first


def test_export_reads_the_folder_of_a_result(saved, tmp_path):
    saved.rename(tmp_path / 'posterior.npz')
    assert main(['export', str(tmp_path), '--urdf', str(tmp_path / 'a.urdf')]) == 0


def test_export_says_what_it_needs(saved, tmp_path, capsys):
    assert main(['export', str(saved)]) == 2
    assert 'give at least one of --urdf' in capsys.readouterr().err
    (tmp_path / 'double_pendulum.urdf').unlink()
    ask = ['export', str(saved), '--urdf', str(tmp_path / 'a.urdf')]
    assert main(ask) == 2
    assert "'double_pendulum.urdf' is not there" in capsys.readouterr().err
    assert main([*ask, '--config', str(CONFIG)]) == 0
    other = CONFIG.with_name('demo.yaml')
    assert main([*ask, '--config', str(other), '--force']) == 2
    assert 'other' in capsys.readouterr().err


def test_nothing_is_left_of_what_cannot_be_written(robot, tmp_path):
    with pytest.raises(DataError, match='cannot be written'):
        write_mjcf(robot, Path(tmp_path) / 'no' / 'arm.xml')
