"""The command `sim2real-estimator train`."""

import os
from pathlib import Path
import sys

from ..identification.command import share_of


def add_train(commands):
    """Add the command to those of the parser."""
    train = commands.add_parser(
        'train', help='train the networks that a config declares (neural) on recordings'
    )
    train.add_argument('bags', type=Path, nargs='+', metavar='BAG', help='folder or file')
    train.add_argument('--config', type=Path, required=True, help='settings with neural')
    train.add_argument(
        '-o', '--output', type=Path, help='file to write (neural.json beside the config)'
    )
    train.add_argument('--force', action='store_true', help='replace the file')
    train.add_argument(
        '--held-out',
        type=share_of,
        default=0.2,
        metavar='SHARE',
        help='of each recording, at its end: decides whether a network pays (0.2)',
    )
    train.add_argument('--seed', type=int, default=0, help='of the starts (0)')
    train.add_argument(
        '--trust-units', action='store_true', help='units that look wrong are right'
    )
    train.set_defaults(run=_train)


def _train(chosen):
    """Train, and print what came of every network."""
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # Imported here, so that `--help` answers at once.
    import torch

    from ...errors import ConfigError
    from .train import train

    torch.set_num_threads(1)
    output = chosen.output or chosen.config.parent / 'neural.json'
    if output.exists() and not chosen.force:
        raise ConfigError(f'{output}: is there already; give another --output, or --force')
    found = train(
        chosen.bags,
        chosen.config,
        output,
        held_out=chosen.held_out,
        seed=chosen.seed,
        trust_units=chosen.trust_units,
        show=lambda sentence: print(f'{sentence} ...', file=sys.stderr),
    )
    for each in found.networks:
        print(sentence_of(each))
    print(f'written: {output}')
    if any(not each.off for each in found.networks):
        print(f'to use it: neural.NAME.weights: {output.name}')
    return 0


def sentence_of(trained):
    """Return what came of a `TrainedNetwork` in a sentence."""
    if trained.off:
        return f'{trained.name} is off: {trained.off}'
    return (
        f'{trained.name} is on: the held-out error of {trained.at.rpartition(".")[0]} falls by '
        f'{100 * trained.gain:.0f} %, from {trained.before:.3g} to {trained.after:.3g}; it '
        f'carries {100 * trained.share:.1f} % of {trained.at} (mean square)'
    )
