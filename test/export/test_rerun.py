"""The folder of a result as a recording of rerun, where that is installed."""

from dataclasses import replace
from importlib.util import find_spec
import json
import subprocess
import sys

from estimates import posterior_of
import measured_arms
import pytest
from simulated import CONFIG

from sim2real_estimator.cli import main
from sim2real_estimator.posterior.file import save

pytestmark = pytest.mark.usefixtures('one_thread')
IS_MISSING = find_spec('rerun') is None
needs_rerun = pytest.mark.skipif(
    IS_MISSING, reason="rerun is an extra: pip install 'sim2real_estimator[rerun]'"
)
START_NS = 1_700_000_000 * 10**9


@pytest.fixture(scope='module')
def result(tmp_path_factory):
    """Return a folder with those files of a result that are read."""
    known = measured_arms.config()
    urdf = str(CONFIG.with_suffix('.urdf'))
    config = replace(known, model=replace(known.model, urdf=urdf), source='')
    _, posterior = posterior_of(config, away=0.0, left=0.3)
    folder = tmp_path_factory.mktemp('result')
    save(folder / 'posterior.npz', posterior)
    rows = ['stamp_ns,bag,lower.mass [kg],sd of lower.mass [kg]']
    rows += [f'{START_NS + k * 10**9},a,{0.8 + 0.01 * k},{0.1 / (1 + k)}' for k in range(5)]
    (folder / 'estimates.csv').write_text('\n'.join([*rows, f'{START_NS},a,,']) + '\n')
    event = {'stamp_ns': START_NS, 'name': 'changed', 'text': 'a body', 'is_warning': True}
    (folder / 'result.json').write_text(json.dumps({'events': [event]}))
    return folder


@needs_rerun
def test_robot_estimates_events_and_mixture_are_in_the_recording(result, tmp_path):
    path = tmp_path / 'arm.rrd'
    assert main(['rerun', str(result), '-o', str(path)]) == 0
    command = [sys.executable, '-m', 'rerun', 'rrd']
    assert subprocess.run([*command, 'verify', path], capture_output=True).returncode == 0
    said = subprocess.run([*command, 'print', path], capture_output=True, text=True).stdout
    for entity in (
        '/robot/stand/upper/lower/body',
        '/robot/stand/upper/lower/centres_of_mass',
        '/estimates/lower/mass',
        '/events',
        '/posterior',
    ):
        assert f' - {entity} - ' in said, entity


@needs_rerun
def test_coordinates_that_there_are_not_are_refused(result, tmp_path, capsys):
    path = tmp_path / 'arm.rrd'
    given = ['rerun', str(result), '-o', str(path), '--coordinates', 'a', 'b', 'c']
    assert main(given) == 2
    assert '--coordinates: a: there are upper.mass' in capsys.readouterr().err


@needs_rerun
def test_another_folder_is_refused(tmp_path, capsys):
    assert main(['rerun', str(tmp_path), '-o', str(tmp_path / 'a.rrd')]) == 2
    assert 'is no folder of a result' in capsys.readouterr().err


@pytest.mark.skipif(not IS_MISSING, reason='rerun is installed')
def test_without_rerun_the_remedy_is_said(result, tmp_path, capsys):
    assert main(['rerun', str(result), '-o', str(tmp_path / 'a.rrd')]) == 2
    assert "pip install 'sim2real_estimator[rerun]'" in capsys.readouterr().err
