"""Synthetic robots of the shipped double pendulum, and of whatever config."""

from pathlib import Path

import pytest
import torch

from sim2real_estimator.app.synthetic.settings import SyntheticConfig
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.config import load_config, read_config, with_values

CONFIG = Path(__file__).parents[2] / 'config' / 'double_pendulum.yaml'
MOTION = """
shoulder: {amplitude: 0.75, frequencies: [0.31, 0.83, 1.4, 2.3]}
elbow: {amplitude: 0.3, frequencies: [0.47, 1.1, 1.9, 2.6]}
"""


@pytest.fixture(scope='session', autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope='session')
def make():
    """Return a function that makes a robot of YAML text; more: settings of its estimator."""

    def made(text='', more=None, config=None):
        settings = read_config(
            f'config: {CONFIG}\nrate: 100\nstart_position_sd: 0.6\n{text}', '', SyntheticConfig
        )
        return SyntheticRobot(settings, 0, with_values(config or load_config(CONFIG), more or {}))

    return made
