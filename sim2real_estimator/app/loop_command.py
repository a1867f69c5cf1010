"""The command `sim2real-estimator loop-demo`."""

from dataclasses import asdict
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import ConfigError

_ROUNDS = 3


def add_loop_demo(commands):
    """Add the command that closes the loop."""
    loop = commands.add_parser(
        'loop-demo', help='close the loop on a simulated arm: suggest, move, estimate, control'
    )
    loop.add_argument('--seed', type=int, default=1, help='of the robot; another is another one')
    loop.add_argument('--rounds', type=int, default=_ROUNDS, help=f'how many ({_ROUNDS})')
    loop.add_argument(
        '-o',
        '--output',
        type=Path,
        default=Path('results', 'loop'),
        help='folder for loop.png and loop.json (results/loop)',
    )
    loop.set_defaults(run=_loop)


def _loop(chosen):
    """Run the demo, print a line a round, and write the picture."""
    # Imported here, so that `--help` answers at once.
    import torch

    from ..posterior.report import require_drawing
    from .loop_demo import picture, run

    require_drawing()
    if chosen.rounds < 1:
        raise ConfigError(f'--rounds {chosen.rounds}: is below 1')
    torch.set_num_threads(1)
    chosen.output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        found = run(chosen.seed, chosen.rounds, folder)
    rows = json.dumps([asdict(each) for each in found], indent=1)
    (chosen.output / 'loop.json').write_text(rows, encoding='utf-8')
    (chosen.output / 'loop.png').write_bytes(picture(found))
    print(f'written: {chosen.output}')
    return 0
