"""The command `sim2real-estimator suggest`."""

import argparse
import os
from pathlib import Path

from .bag_commands import above_zero
from .export_command import posterior_in

# So many parameters are listed; the rest with --verbose.
_LISTED = 20


def add_suggest(commands):
    """Add the command that suggests the next motion."""
    suggest = commands.add_parser(
        'suggest', help='suggest a safe motion that tells most of what is still unknown'
    )
    suggest.add_argument('posterior', type=Path, help='saved posterior, or the folder of a result')
    suggest.add_argument(
        '--for',
        dest='wishes',
        nargs='+',
        default=[],
        metavar='PARAMETER',
        help='names or patterns, as hand.mass or elbow.* (all that is not identified and that '
        'motion can tell)',
    )
    suggest.add_argument(
        '--limits',
        type=Path,
        metavar='FILE',
        help='YAML of joint limits, spheres about links and the floor: docs/consumers.md',
    )
    suggest.add_argument(
        '--seconds', type=above_zero, default=10.0, help='how long the motion lasts (10)'
    )
    suggest.add_argument(
        '--around',
        nargs='+',
        default=[],
        metavar='JOINT=POSITION',
        help='configuration about which to move (the middle of the ranges)',
    )
    suggest.add_argument(
        '--swing',
        type=above_zero,
        default=1.0,
        help='how far at most to either side, rad or m (1)',
    )
    suggest.add_argument(
        '--start',
        nargs='+',
        default=[],
        metavar='JOINT=POSITION',
        help='where the motion begins and ends (wherever is best)',
    )
    shares = ('range', 0.9), ('speed', 0.5), ('effort', 0.8)
    for word, share in shares:
        suggest.add_argument(
            f'--{word}-share',
            type=_share,
            default=share,
            metavar='SHARE',
            help=f"of each joint's {word} limit that is used ({share})",
        )
    suggest.add_argument('--seed', type=int, default=0, help='of motions at random (0)')
    suggest.add_argument(
        '--config', type=Path, help='settings of the estimation (those in the posterior)'
    )
    suggest.add_argument(
        '-o',
        '--output',
        type=Path,
        default=Path('results', 'suggestion'),
        help='folder for trajectory.yaml, trajectory.csv, advice.txt, motion.png '
        '(results/suggestion)',
    )
    suggest.add_argument('--force', action='store_true', help='overwrite the files')
    suggest.add_argument('--verbose', action='store_true', help='list all that would change')
    suggest.set_defaults(run=_suggest)


def _suggest(chosen):
    """Suggest a motion, print what it would tell, and write it."""
    # Read by NumPy when it is loaded: for matrices this small, threads would wait for each other.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # Imported here, so that `--help` answers at once.
    from ..excitation.advice import advise
    from ..excitation.limits import places_of, safety_of, Shares
    from ..excitation.motion_files import FILES, write_advice
    from ..excitation.planning import PlanOptions
    from ..posterior.export import opened
    from ..posterior.report import require_drawing
    from .export_command import require_free

    require_drawing()
    for name in FILES:
        require_free(chosen.output / name, chosen.force)
    problem, posterior = opened(posterior_in(chosen.posterior), chosen.config)
    shares = Shares(chosen.range_share, chosen.speed_share, chosen.effort_share)
    start = places_of(chosen.start, '--start')
    advice = advise(
        problem,
        posterior,
        safety_of(chosen.limits),
        chosen.wishes,
        shares,
        PlanOptions(seconds=chosen.seconds, start=start, seed=chosen.seed),
        around=places_of(chosen.around, '--around'),
        swing=chosen.swing,
    )
    for line in advice.lines(None if chosen.verbose else _LISTED):
        print(line)
    chosen.output.mkdir(parents=True, exist_ok=True)
    write_advice(advice, chosen.output)
    print(f'written: {chosen.output}; nothing has been moved')
    return 0


def _share(text):
    """Return a share above zero, for argparse."""
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f'{text} is no share: above 0, at most 1')
    return value
