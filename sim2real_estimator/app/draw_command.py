"""The command `sim2real-estimator draw`."""

from pathlib import Path

from .export_command import posterior_in, require_free


def add_draw(commands):
    """Add the command that draws robots of a posterior for simulators and training."""
    draw = commands.add_parser(
        'draw', help='draw robots of a posterior: JSON lines, and URDF or MJCF of one of them'
    )
    draw.add_argument('posterior', type=Path, help='saved posterior, or the folder of a result')
    draw.add_argument('-o', '--output', type=Path, required=True, help='JSON lines to write')
    draw.add_argument(
        '--kind', default='posterior', help='posterior, widened, prior or corners (posterior)'
    )
    draw.add_argument('--count', type=int, default=1000, help='how many (1000)')
    draw.add_argument('--seed', type=int, default=0, help='of the draws (0)')
    draw.add_argument(
        '--factor', type=float, default=4.0, help='of the covariance, if widened (4)'
    )
    draw.add_argument(
        '--extent', type=float, default=1.645, help='of corners, in standard deviations (1.645)'
    )
    draw.add_argument(
        '--names',
        nargs='+',
        default=(),
        metavar='PARAMETER',
        help='whose extremes are the corners (principal directions)',
    )
    draw.add_argument(
        '--ranges',
        type=Path,
        metavar='FILE',
        help='ranges by hand of what data have not told, as config/randomization.yaml',
    )
    draw.add_argument('--urdf', type=Path, metavar='OUT', help='URDF of one draw')
    draw.add_argument('--mjcf', type=Path, metavar='OUT', help='MJCF of one draw')
    draw.add_argument('--index', type=int, default=0, help='which draw these are of (0)')
    draw.add_argument(
        '--config', type=Path, help='settings of the estimation (those in the posterior)'
    )
    draw.add_argument('--force', action='store_true', help='overwrite files')
    draw.set_defaults(run=_draw)


def _draw(chosen):
    """Draw, write, and say how, and how much narrower ranges have become."""
    from ..errors import ConfigError  # imported here, so that `--help` answers at once
    from ..posterior import draws as drawing
    from ..posterior.export import opened
    from ..posterior.export.text_files import replace_file

    for path in filter(None, (chosen.output, chosen.urdf, chosen.mjcf)):
        require_free(path, chosen.force)
    names = tuple(chosen.names)
    settings = drawing.DrawSettings(chosen.kind, chosen.count, chosen.factor, chosen.extent, names)
    if not 0 <= chosen.index < chosen.count:
        raise ConfigError(f'--index: is {chosen.index}; give one of 0 to {chosen.count - 1}')
    if chosen.seed < 0:
        raise ConfigError(f'--seed: is {chosen.seed}; give at least 0')
    ranges = drawing.load_ranges(chosen.ranges) if chosen.ranges else None
    problem, posterior = opened(posterior_in(chosen.posterior), chosen.config)
    mixture, seed, lines = posterior.mixture, chosen.seed, []
    draws = drawing.draw_robots(problem, mixture, settings, seed)
    if ranges:
        left = drawing.left_open(problem, mixture)
        draws, lines = drawing.narrowed(problem, draws, left, ranges, seed)
    robot = drawing.described(problem, posterior)
    drawing.write_draws(chosen.output, robot, draws, lines)
    if chosen.urdf:
        replace_file(chosen.urdf, drawing.urdf_of(robot, draws, chosen.index))
    if chosen.mjcf:
        replace_file(chosen.mjcf, drawing.mjcf_of(robot, draws, chosen.index))
    print(*lines, sep='\n', end='\n' if lines else '')
    print(f'{len(draws)} draws, {draws.kind}, seed {draws.seed}, {draws.method}')
    for path in filter(None, (chosen.output, chosen.urdf, chosen.mjcf)):
        print(f'written: {path}')
    return 0
