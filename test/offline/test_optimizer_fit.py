"""`identify --fit`: the best fit by an optimizer of choice, beside the posterior."""

from dataclasses import replace
import json

import measured_arms
import numpy as np
import pytest
from simulated import CONFIG
import swinging

from sim2real_estimator import cli, identify
from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.config.settings_tree import PriorConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.optimizers import OPTIMIZERS
from sim2real_estimator.offline.identification.optimizer_fit import (
    fit_recordings,
    FitOptions,
    OptimizerFit,
)
from sim2real_estimator.offline.identification.terminal import fit_table
from sim2real_estimator.pipeline import Pipeline

# As little work as does.
QUICK = {
    'levenberg_marquardt': 'starts=3',
    'basin_hopping': 'starts=2,hops=1,iterations=20',
    'cma_es': 'starts=1,population=8,seed=3',
    'adam': 'starts=1,iterations=300',
}


@pytest.mark.parametrize('name', OPTIMIZERS)
def test_every_optimizer_finds_the_robot_of_a_recording(bag, config, name):
    found = identify(bag, config, held_out=0, fit=f'{name}:{QUICK[name]}')
    fit, truth = found.fit, swinging.robot().truths[0].values
    assert (fit.optimizer, fit.reason, fit.windows) == (name, '', 2)
    assert set(fit.mean) == set(truth) == set(fit.sd)
    for parameter, value in truth.items():
        assert 0 < fit.sd[parameter] < 0.1 * value
        assert abs(fit.mean[parameter] - value) < 4 * fit.sd[parameter]
    assert fit.misfits['as described'] > 5 and fit.misfits['fit'] == pytest.approx(1.0, abs=0.15)
    assert fit.misfits['fit'] < fit.misfits['posterior mean'] + 1e-3
    assert fit.at_lowest >= 1 and fit.evaluations > 0 and np.isfinite(fit.cost)


@pytest.mark.parametrize(
    'wrong', [{}, {'upper.mass': 2.0}, {'upper.mass': 0.8}, {'elbow.origin.z': -0.45}]
)
def test_a_wrong_mass_or_length_that_is_held_fixed_is_no_result_without_warnings(
    tmp_path_factory, config, wrong
):
    bag = tmp_path_factory.getbasetemp() / 'four_seconds'
    if not bag.exists():
        swinging.bag(bag, 4.0)
    fixed = {name: PriorConfig(mean=value, fixed=True) for name, value in wrong.items()}
    config = replace(config, estimate={**config.estimate, **fixed})
    found = identify(bag, config, held_out=0, fit='levenberg_marquardt:starts=2')
    if not wrong:
        assert found.distrust == ()
        return
    reasons = ' | '.join(found.distrust)
    assert 'a value that is held fixed, such as a mass or a length, is wrong' in reasons
    assert 'no values of these parameters explain the motion' in reasons
    assert found.fit.misfits['fit'] > 3


def test_the_posterior_is_the_same_beside_a_fit(bag, config):
    fits = None, 'adam:starts=1,iterations=1'
    alone, beside = (identify(bag, config, held_out=0, fit=fit) for fit in fits)
    assert alone.fit is None
    np.testing.assert_array_equal(alone.posterior.mixture.means, beside.posterior.mixture.means)
    assert alone.findings == beside.findings


def test_the_command_prints_the_fit_and_writes_it(tmp_path, capsys, monkeypatch, bag):
    monkeypatch.chdir(tmp_path)
    urdf = {'model.urdf': str(CONFIG.with_suffix('.urdf'))}
    (tmp_path / 'robot.yaml').write_text(to_yaml(with_values(swinging.config(), urdf)))
    command = ['identify', str(bag), '--config', 'robot.yaml', '--held-out', '0', '-o', 'result']
    assert cli.main([*command, '--fit', 'basin_hopping:hops=1,starts=2']) == 0
    said = capsys.readouterr().out
    assert 'fit by basin_hopping: 2 windows of 0.5 s; ' in said and 'at the lowest cost' in said
    assert 'as described' in said and 'posterior mean' in said
    written = json.loads((tmp_path / 'result' / 'result.json').read_text())['fit']
    assert written['optimizer'] == 'basin_hopping' and written['settings']['hops'] == 1
    assert cli.main([*command, '--force', '--fit', 'newton']) == 2
    assert "'newton' is no optimizer" in capsys.readouterr().err


def test_the_help_names_every_optimizer(capsys):
    with pytest.raises(SystemExit):
        cli.main(['identify', '--help'])
    said = capsys.readouterr().out
    assert all(name in said for name in OPTIMIZERS)


def test_settings_are_taken_by_name():
    options = FitOptions.read('basin_hopping:starts=3, hops=7,longest_step=2')
    local = options.optimizer.local
    assert (options.starts, options.optimizer.hops, local.longest_step) == (3, 7, 2)
    assert type(local.longest_step) is float
    assert FitOptions.read('cma_es').optimizer == OPTIMIZERS['cma_es']()


@pytest.mark.parametrize(
    'text, said',
    [
        ('cma', "did you mean 'cma_es'"),
        ('cma_es:populatoin=9', "did you mean 'population'"),
        ('cma_es:population=9.5', 'population is .*whole number of at least 4'),
        ('adam:rate=-1', 'rate is .*a number of at least 0'),
        ('adam:seconds=0', 'seconds is .*at least 0.05'),
        ('adam:rate', "rate is ''"),
        ('levenberg_marquardt:bounds=3', "no setting 'bounds'"),
    ],
)
def test_settings_that_cannot_be_say_which_can(text, said):
    with pytest.raises(ConfigError, match=said):
        FitOptions.read(text)


def test_where_efforts_are_measured_the_fit_is_refused_before_any_work():
    problem = measured_arms.pipeline().problem
    with pytest.raises(ConfigError, match='fit: .*commanded'):
        FitOptions.read('adam').require_possible(problem)


def test_one_unknown_is_too_few_for_cma_es(bag, config):
    config = replace(config, estimate={'lower.mass': PriorConfig()})
    with pytest.raises(ConfigError, match="'cma_es' needs 2 parameters"):
        identify(bag, config, held_out=0, fit='cma_es')


def test_without_windows_there_is_a_reason(bag, config):
    found = identify(bag, config, held_out=0, fit='adam:seconds=30').fit
    assert found.mean is None and 'no 30 s without a gap' in found.reason
    assert 'not fitted by adam: no 30 s' in str(fit_table(found, None))


def test_a_robot_that_cannot_be_simulated_has_no_fit(monkeypatch, config):
    class Nowhere:
        def __init__(self, *_):
            pass

        def points(self, parameters):
            return parameters

        def value(self, points):
            return np.full(points.shape[1], np.inf)

    monkeypatch.setattr(
        'sim2real_estimator.offline.identification.optimizer_fit.TrajectoryMisfit', Nowhere
    )
    problem = Pipeline.from_config(config).problem
    options = FitOptions.read('cma_es:generations=2,starts=1')
    found = fit_recordings(problem, options, [()], None, 0)
    assert isinstance(found, OptimizerFit) and 'no start came to a number' in found.reason
