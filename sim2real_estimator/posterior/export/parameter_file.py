"""A file of ROS parameters that starts the node with what is known."""

from pathlib import Path

import yaml

from ...config import read_config, to_yaml, with_values
from .text_files import replace_file


def write_parameters(robot, path, posterior_path):
    """
    Write parameters for the node, and beside them the settings they name.

    posterior_path: file of the posterior, which the node begins with; the robot description stays
    the one that was estimated with. Paths in it are absolute.
    """
    path, settings = Path(path), _settings_path(path)
    replace_file(settings, to_yaml(_settings(robot)))
    values = {
        'config_file': str(settings.resolve()),
        'node.initial_posterior': str(Path(posterior_path).resolve()),
    }
    content = {'/**': {'ros__parameters': values}}
    replace_file(path, _HEAD + yaml.safe_dump(content, sort_keys=False, width=10**6))


_HEAD = (
    '# Starts the node with the posterior: sim2real_estimator_node --ros-args --params-file '
    'THIS_FILE\n'
)


def _settings_path(path):
    path = Path(path)
    return path.with_name(f'{path.stem}_config.yaml')


def _settings(robot):
    """Return the `Config` of the posterior, its robot description by an absolute path."""
    config = read_config(robot.posterior.config)
    urdf = robot.urdf
    if urdf.lstrip().startswith('<'):
        return config
    return with_values(config, {'model.urdf': str(Path(urdf).resolve())})
