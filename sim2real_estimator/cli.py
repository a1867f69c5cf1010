"""The command `sim2real-estimator`, for people with and without ROS."""

import argparse
from pathlib import Path
import sys
import time

from .errors import ConfigError, EstimatorError


def main(arguments=None):
    """Run a subcommand and return the exit status."""
    parser = argparse.ArgumentParser(prog='sim2real-estimator', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    reproduce = commands.add_parser('reproduce', help='run an experiment of the papers again')
    experiments = reproduce.add_subparsers(dest='experiment', required=True)
    lengths = experiments.add_parser(
        'lengths', help='link lengths of a double pendulum by gradient descent'
    )
    lengths.add_argument('--starts', type=_positive, default=24, help='random starts (24)')
    lengths.add_argument('--epochs', type=_positive, default=400, help='epochs of Adam (400)')
    lengths.add_argument('--seed', type=int, default=0, help='seed of all random numbers (0)')
    lengths.add_argument(
        '--output', type=Path, default=Path('results'), help='folder for the picture (results)'
    )
    lengths.set_defaults(run=_reproduce_lengths)
    init = commands.add_parser('init', help='write a commented config for a robot')
    init.add_argument('urdf', type=Path, help='robot description')
    init.add_argument('-o', '--output', type=Path, help='file to write (print it)')
    init.add_argument(
        '--base', choices=('fixed', 'floating'), default='fixed', help='of the robot (fixed)'
    )
    init.add_argument('--force', action='store_true', help='overwrite the file')
    init.set_defaults(run=_init)
    chosen = parser.parse_args(arguments)
    try:
        return chosen.run(chosen)
    except EstimatorError as error:
        print(f'sim2real-estimator: {error}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _positive(text):
    """Return a whole number above zero, for argparse."""
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f'{text} is not above zero')
    return value


def _init(chosen):
    """Write a first config for a robot."""
    from .starter import starter_yaml  # imported here, so that `--help` answers at once

    folder = chosen.output.parent if chosen.output else Path()
    text = starter_yaml(chosen.urdf, folder, chosen.base)
    if chosen.output is None:
        print(text, end='')
        return 0
    if chosen.output.exists() and not chosen.force:
        raise ConfigError(f'{chosen.output}: exists; give another --output, or --force')
    chosen.output.write_text(text, encoding='utf-8')
    print(f'written: {chosen.output}')
    return 0


def _reproduce_lengths(chosen):
    """Run the first experiment with a live display; print a table and where the picture is."""
    # Imported here, so that `--help` answers at once.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    import torch

    from .reproduce import lengths, lengths_report

    torch.set_num_threads(1)  # two would only wait for one another
    console, results = Console(), []
    columns = (
        TextColumn('{task.description:<28}'),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn('{task.fields[state]}'),
    )
    with Progress(*columns, console=console) as progress:
        for case in lengths.CASES:
            task = progress.add_task(case.title, total=chosen.epochs, state='compiling')

            def show(epoch, loss, error, task=task):
                progress.update(
                    task, completed=epoch + 1, state=f'loss {loss:.1e}  error {100 * error:.2f} %'
                )

            began = time.monotonic()
            result = lengths.run_case(case, chosen.starts, chosen.epochs, chosen.seed, show)
            result.seconds = time.monotonic() - began
            results.append(result)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / 'lengths.png'
    lengths_report.picture(results, path)
    console.print(lengths_report.table(results))
    console.print(f'picture: {path}', soft_wrap=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
