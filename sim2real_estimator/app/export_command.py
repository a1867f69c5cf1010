"""The command `sim2real-estimator export`."""

from pathlib import Path

from ..errors import ConfigError

_KINDS = ('urdf', 'mjcf', 'randomization', 'parameters')
# In the folder of a result.
_POSTERIOR = 'posterior.npz'


def add_export(commands):
    """Add the command that writes what is known for other programs."""
    export = commands.add_parser(
        'export', help='write a posterior as URDF, MJCF, draws for randomization, ROS parameters'
    )
    export.add_argument('posterior', type=Path, help='saved posterior, or the folder of a result')
    export.add_argument('--urdf', type=Path, metavar='OUT', help='robot description, as estimated')
    export.add_argument('--mjcf', type=Path, metavar='OUT', help='the same for MuJoCo')
    export.add_argument(
        '--randomization', type=Path, metavar='OUT', help='JSON: the mixture, and 1000 draws'
    )
    export.add_argument(
        '--parameters', type=Path, metavar='OUT', help='YAML that starts the node with it'
    )
    export.add_argument(
        '--config', type=Path, help='settings of the estimation (those in the posterior)'
    )
    export.add_argument('--seed', type=int, default=0, help='of the draws (0)')
    export.add_argument('--force', action='store_true', help='overwrite files')
    export.set_defaults(run=_export)


def require_free(path, is_forced):
    """Refuse to overwrite a file unless told to."""
    if path.exists() and not is_forced:
        raise ConfigError(f'{path}: exists; give another name, or --force')


def posterior_in(path):
    """Return the posterior file of a path, which may be the folder of a result."""
    return path / _POSTERIOR if path.is_dir() else path


def _export(chosen):
    """Write what a posterior knows for other programs."""
    asked = [getattr(chosen, kind) for kind in _KINDS]
    outputs = [path for path in asked if path is not None]
    if not outputs:
        kinds = ', '.join(f'--{kind}' for kind in _KINDS)
        raise ConfigError(f'export: give at least one of {kinds}')
    for path in outputs:
        require_free(path, chosen.force)
    from ..posterior import export  # imported here, so that `--help` answers at once

    path = posterior_in(chosen.posterior)
    robot = export.robot_of_file(path, chosen.config)
    if chosen.urdf:
        export.write_urdf(robot, chosen.urdf)
    if chosen.mjcf:
        export.write_mjcf(robot, chosen.mjcf)
    if chosen.randomization:
        export.write_randomization(robot, chosen.randomization, chosen.seed)
    if chosen.parameters:
        export.write_parameters(robot, chosen.parameters, path)
    for output in outputs:
        print(f'written: {output}')
    return 0
