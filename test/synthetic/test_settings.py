"""The settings of synthetic robots: shipped ones, and their page."""

from pathlib import Path

import pytest

from sim2real_estimator.app.synthetic.settings import load_synthetic, SyntheticConfig
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.config import flattened, tables, to_yaml, with_values
from sim2real_estimator.errors import ConfigError

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / 'config' / 'synthetic').glob('*.yaml'))


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.name)
def test_every_shipped_robot_runs_and_is_written_as_its_declarations_say(path):
    settings = load_synthetic(path)
    robot = SyntheticRobot(settings)
    assert {reading.topic for reading in robot.run(0.5)} == set(robot.feeds)
    head = path.read_text().partition('\n\n')[0]
    assert all(line.startswith('# ') for line in head.splitlines())
    assert path.read_text() == f'{head}\n\n{to_yaml(settings)}'


def test_they_have_dotted_paths_as_those_of_the_estimator():
    settings = load_synthetic(SHIPPED[0])
    assert with_values(settings, flattened(settings)) == settings


def test_a_config_that_is_not_there_is_an_error(tmp_path):
    file = tmp_path / 'robot.yaml'
    file.write_text('config: none.yaml')
    with pytest.raises(ConfigError, match='none.yaml: cannot be read'):
        SyntheticRobot(load_synthetic(file))
    file.write_text('seed: 1')
    with pytest.raises(ConfigError, match='config: is missing; give it: YAML file'):
        load_synthetic(file)


def test_the_page_of_the_documents_has_every_setting():
    assert tables(SyntheticConfig) in (ROOT / 'docs' / 'synthetic_robot.md').read_text()
