"""The command `draw`, and the examples that use its files."""

from dataclasses import replace
from importlib.util import find_spec
import os
from pathlib import Path
import subprocess
import sys

from estimates import posterior_of
import measured_arms
import pytest
from simulated import CONFIG

from sim2real_estimator.cli import main
from sim2real_estimator.posterior.draws import read_draws
from sim2real_estimator.posterior.file import save

pytestmark = pytest.mark.usefixtures('one_thread')
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / 'examples'


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
    """Return a posterior file of a double pendulum whose torques are measured."""
    known = measured_arms.config()
    urdf = str(CONFIG.with_suffix('.urdf'))
    config = replace(known, model=replace(known.model, urdf=urdf), source='')
    _, posterior = posterior_of(config, away=0.0, left=0.3)
    path = tmp_path_factory.mktemp('result') / 'posterior.npz'
    save(path, posterior)
    return path


def run(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_the_command_writes_draws_a_urdf_and_an_mjcf(saved, tmp_path, capsys):
    lines, urdf, mjcf = (tmp_path / name for name in ('d.jsonl', 'arm.urdf', 'arm.xml'))
    arguments = ['draw', saved.parent, '-o', lines, '--urdf', urdf, '--mjcf', mjcf]
    arguments += ['--kind', 'widened', '--count', 7, '--seed', 3, '--index', 2]
    assert main([str(each) for each in arguments]) == 0
    assert '7 draws, widened, seed 3, conditioned' in capsys.readouterr().out
    head, draws = read_draws(lines)
    assert (head['kind'], head['seed'], len(draws)) == ('widened', 3, 7)
    for path in (urdf, mjcf):
        assert 'draw 2 of 7, widened, seed 3' in path.read_text()
    # Nothing is overwritten by accident.
    assert main([str(each) for each in arguments]) == 2
    assert 'exists; give another name' in capsys.readouterr().err
    assert main([*(str(each) for each in arguments), '--force']) == 0


def test_the_command_says_how_much_narrower_each_range_has_become(saved, tmp_path, capsys):
    ranges = ROOT / 'config' / 'randomization.yaml'
    path = tmp_path / 'd.jsonl'
    assert main(['draw', str(saved), '-o', str(path), '--ranges', str(ranges)]) == 0
    out = capsys.readouterr().out
    assert 'lower.mass: by hand 0.2 to 3.2 kg; by the posterior' in out
    assert 'times narrower (90 %)' in out
    assert 'table.height: by hand 0.73 to 0.77 m, which stays: not estimated' in out
    assert set(read_draws(path)[0]['ranges']) <= set(out.splitlines())


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (['--kind', 'wide'], 'give one of posterior'),
        (['--index', '1000'], 'give one of 0 to 999'),
        (['--seed', '-1'], 'at least 0'),
        (['--names', 'tail.mass', '--kind', 'corners'], 'tail.mass is not estimated'),
        (['--ranges', 'none.yaml'], 'none.yaml'),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(saved, tmp_path, capsys, arguments, said):
    output = tmp_path / 'd.jsonl'
    assert main(['draw', str(saved), '-o', str(output), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.splitlines()) == 1
    assert not output.exists()


@pytest.mark.skipif(find_spec('mujoco') is None, reason='mujoco is an extra')
def test_the_example_for_mujoco_lets_robots_of_the_posterior_fall(saved):
    done = run(EXAMPLES / 'randomize_mujoco.py', saved)
    assert done.returncode == 0, done.stderr
    first, left, *joints = done.stdout.splitlines()
    assert first == '20 robots, posterior, seed 0, conditioned'
    assert 'torque_offset' in left
    assert len(joints) == 2
    for line in joints:
        assert float(line.rpartition('+- ')[2]) > 1e-4


@pytest.mark.skipif(
    None in (find_spec('mujoco'), find_spec('gymnasium')),
    reason="gymnasium is an extra: pip install 'sim2real_estimator[gymnasium]'",
)
def test_the_example_for_gymnasium_has_another_robot_in_each_episode(saved, tmp_path):
    lines, mjcf = tmp_path / 'd.jsonl', tmp_path / 'arm.xml'
    assert main(['draw', str(saved), '-o', str(lines), '--mjcf', str(mjcf)]) == 0
    done, again = (run(EXAMPLES / 'randomize_gymnasium.py', mjcf, lines) for _ in range(2))
    assert done.returncode == 0, done.stderr
    robots = [line.split('robot ')[1].split(',')[0] for line in done.stdout.splitlines()]
    assert len(robots) == 5 and len(set(robots)) > 3
    # The same seed has the same robots.
    assert robots == [x.split('robot ')[1].split(',')[0] for x in again.stdout.splitlines()]


def test_the_snippet_for_isaac_lab_is_python_and_says_that_it_is_untested():
    path = EXAMPLES / 'isaac_lab_event.py'
    compile(path.read_text(), str(path), 'exec')
    assert 'UNTESTED' in path.read_text().split('"""')[1]
