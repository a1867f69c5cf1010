"""The command `sim2real-estimator`, for people with and without ROS."""

import argparse
import math
from pathlib import Path
import sys
import time

from .app.bag_commands import add_bag_commands
from .app.completion import add_completion
from .app.doctor import add_doctor
from .app.draw_command import add_draw
from .app.export_command import add_export, posterior_in, require_free
from .app.init_command import add_init
from .app.layouts import add_layouts
from .app.loop_command import add_loop_demo
from .app.report_command import add_report
from .app.rerun_export import add_rerun
from .app.suggest_command import add_suggest
from .errors import EstimatorError
from .offline.identification.command import add_identify
from .offline.training.train_command import add_train
from .ros import require_ros
from .version import __version__

# So long a monitor listens before it draws again [s].
_LISTEN = 0.1


def main(arguments=None):
    """Run a subcommand and return the exit status."""
    parser = argparse.ArgumentParser(prog='sim2real-estimator', description=__doc__)
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    commands = parser.add_subparsers(dest='command', required=True)
    _add_experiments(
        commands.add_parser('reproduce', help='run an experiment of the papers again')
    )
    add_init(commands)
    add_identify(commands)
    add_train(commands)
    add_bag_commands(commands)
    _add_posteriors(commands)
    _add_live(commands)
    add_loop_demo(commands)
    add_doctor(commands)
    add_completion(commands)
    chosen = parser.parse_args(arguments)
    try:
        return chosen.run(chosen)
    except EstimatorError as error:
        print(f'sim2real-estimator: {error}', file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        name = (error.name or '').partition('.')[0]
        if name in ('', __package__):
            raise
        print(
            f'sim2real-estimator: {name} is missing in {sys.executable}: activate the virtual '
            'environment that has it, or install requirements.txt; docs/setup.md',
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        return 130


def _add_posteriors(commands):
    """Add the commands for saved posteriors."""
    show = commands.add_parser('show', help='print what a saved posterior knows')
    show.add_argument('file', type=Path, help='saved posterior, or the folder of a result')
    show.add_argument('--verbose', action='store_true', help='list all that no data tell')
    show.set_defaults(run=_show)
    merge = commands.add_parser(
        'merge', help='join saved posteriors of several recordings of one robot'
    )
    merge.add_argument(
        'files', type=Path, nargs='+', help='saved posteriors, or folders of results'
    )
    merge.add_argument('-o', '--output', type=Path, required=True, help='file to write')
    merge.add_argument('--force', action='store_true', help='overwrite the file')
    merge.set_defaults(run=_merge)
    add_export(commands)
    add_draw(commands)
    add_report(commands)
    add_rerun(commands)
    add_suggest(commands)


def _add_live(commands):
    """Add the commands that talk to nodes."""
    demo = commands.add_parser(
        'demo', help='estimate a synthetic robot over ROS 2, live, and judge it by the truth'
    )
    demo.add_argument('--seed', type=int, help='of the robot: another one, other noise')
    demo.add_argument(
        '--output',
        type=Path,
        default=Path('results'),
        help='for picture and logs (results)',
    )
    demo.set_defaults(run=_demo)
    monitor = commands.add_parser('monitor', help='show what a running node knows, live')
    monitor.add_argument(
        '--node', default='/sim2real_estimator', help='its full name (/sim2real_estimator)'
    )
    monitor.add_argument(
        '--robot',
        default='/synthetic_robot',
        help='full name of a synthetic robot that tells the truth (/synthetic_robot)',
    )
    monitor.add_argument('--seconds', type=_positive, help='how long (until Ctrl-C)')
    monitor.set_defaults(run=_monitor)
    add_layouts(commands)


def _add_experiments(reproduce):
    """Add the experiments to the parser of `reproduce`."""
    experiments = reproduce.add_subparsers(dest='experiment', required=True)
    lengths = experiments.add_parser(
        'lengths', help='link lengths of a double pendulum by gradient descent'
    )
    lengths.add_argument('--starts', type=_positive, default=24, help='random starts (24)')
    lengths.add_argument('--epochs', type=_positive, default=400, help='epochs of Adam (400)')
    lengths.set_defaults(run=_reproduce_lengths)
    mixture = experiments.add_parser(
        'mixture', help='link lengths of a triple pendulum as a mixture, while samples arrive'
    )
    mixture.add_argument('--seeds', type=_positive, default=20, help='random pendulums (20)')
    mixture.add_argument(
        '--epochs', type=_positive, default=300, help="of the paper's estimator (300)"
    )
    mixture.set_defaults(run=_reproduce_mixture)
    simopt = experiments.add_parser(
        'simopt', help='the loop of simulation and reality of SimOpt, on a cart-pole'
    )
    simopt.add_argument('--robots', type=_positive, default=5, help='true robots (5)')
    simopt.add_argument('--rounds', type=_positive, default=3, help='of the loop (3)')
    simopt.set_defaults(run=_reproduce_simopt)
    tosses = experiments.add_parser(
        'tosses', help='real tosses of a cube onto a board, from a recording of ContactNets'
    )
    tosses.add_argument(
        '--data', type=Path, required=True, help='npz file with t, pos, quat_wxyz, start, length'
    )
    tosses.add_argument('--groups', type=_positive, default=18, help='groups of tosses (18)')
    tosses.set_defaults(run=_reproduce_tosses)
    chain = experiments.add_parser(
        'chain', help='the mass of a chain from the motion after a ball has hit it'
    )
    chain.add_argument('--seeds', type=_positive, default=100, help='of the noise (100)')
    chain.set_defaults(run=_reproduce_chain)
    cube = experiments.add_parser(
        'cube', help='a thrown cube matched by springs and a learned friction'
    )
    cube.add_argument('--starts', type=_positive, default=2, help='of the network (2)')
    cube.set_defaults(run=_reproduce_cube)
    for experiment in (lengths, mixture, simopt, tosses, chain, cube):
        experiment.add_argument(
            '--seed', type=int, default=0, help='seed of all random numbers (0)'
        )
        experiment.add_argument(
            '--output', type=Path, default=Path('results'), help='folder for the picture (results)'
        )


def _positive(text):
    """Return a whole number above zero, for argparse."""
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f'{text} is not above zero')
    return value


def _show(chosen):
    """Print a saved posterior."""
    from .posterior.file import load
    from .posterior.listing import table, wide_console

    console = wide_console()
    console.print(table(load(posterior_in(chosen.file)), chosen.verbose, console.width))
    return 0


def _merge(chosen):
    """Join saved posteriors, and print the result."""
    from .posterior.file import joined, load, save
    from .posterior.listing import table, wide_console

    require_free(chosen.output, chosen.force)
    posterior = joined([load(posterior_in(path)) for path in chosen.files])
    save(chosen.output, posterior)
    console = wide_console()
    console.print(table(posterior, width=console.width))
    print(f'written: {chosen.output}')
    return 0


def _demo(chosen):
    """Run the demo; the exit status says whether all that it promises came true."""
    # Imported here, so that `--help` answers at once.
    from rich.console import Console

    from .app.demo import report, show

    require_ros()
    _require_drawing()
    console = Console()
    plan = show.Plan(show.shipped_robot(), chosen.output, chosen.seed)
    return report.perform(plan, console)


def _monitor(chosen):
    """Show the table of a running node until somebody has seen enough."""
    from rich.console import Console

    from .app.monitor import Board, Display

    require_ros()
    from .app.monitor.listener import Listener

    end = time.monotonic() + (chosen.seconds or math.inf)
    board = Board()
    with Listener(board, chosen.node, chosen.robot) as listener, Display(Console()) as display:
        while time.monotonic() < end:
            listener.listen(_LISTEN)
            display.show(board)
    return 0


def _reproduce_lengths(chosen):
    """Run the first experiment with a live display; print a table and where the picture is."""
    # Imported here, so that `--help` answers at once.
    from rich.console import Console
    import torch

    _require_drawing()
    from .app.reproduce import lengths_experiment, lengths_report

    torch.set_num_threads(1)  # two would only wait for one another
    console, results = Console(), []
    with _progress(console) as progress:
        for case in lengths_experiment.CASES:
            task = progress.add_task(case.title, total=chosen.epochs, state='compiling')

            def show(epoch, loss, error, task=task):
                progress.update(
                    task, completed=epoch + 1, state=f'loss {loss:.1e}  error {100 * error:.2f} %'
                )

            began = time.monotonic()
            result = lengths_experiment.run_case(
                case, chosen.starts, chosen.epochs, chosen.seed, show
            )
            result.seconds = time.monotonic() - began
            results.append(result)
    path = _picture_path(chosen, 'lengths.png')
    lengths_report.picture(results, path)
    console.print(lengths_report.table(results))
    console.print(f'picture: {path}', soft_wrap=True)
    return 0


def _reproduce_mixture(chosen):
    """Run the second experiment with a live display; print a table and where the picture is."""
    from rich.console import Console
    import torch

    _require_drawing()
    from .app.reproduce import mixture_experiment, mixture_report

    torch.set_num_threads(1)
    console, paper, ours = Console(), [], []
    with _progress(console) as progress:

        def shower(title, total):
            task = progress.add_task(title, total=total, state='compiling')

            def show(run):
                error = abs(run.errors()[-1]).max()
                progress.update(task, advance=1, state=f'worst length {100 * error:.2f} % off')

            return show

        show_paper = shower('gumbel_mixture, epochs', chosen.seeds * chosen.epochs)
        show_ours = shower('gaussian_sum, samples', chosen.seeds * mixture_experiment.SAMPLES)
        for seed in range(chosen.seed, chosen.seed + chosen.seeds):
            stream = mixture_experiment.make_stream(seed)
            paper.append(mixture_experiment.run_gumbel(stream, chosen.epochs, seed, show_paper))
            ours.append(mixture_experiment.run_gaussian_sum(stream, seed, show_ours))
    path = _picture_path(chosen, 'mixture.png')
    mixture_report.picture(paper[0], ours[0], path)
    console.print(mixture_report.table(paper, ours))
    console.print(f'picture of the first pendulum: {path}', soft_wrap=True)
    return 0


def _reproduce_simopt(chosen):
    """Run the loop of SimOpt with a live display; print a table and where the picture is."""
    from rich.console import Console
    import torch

    _require_drawing()
    from .app.reproduce import simopt_experiment, simopt_report

    torch.set_num_threads(1)
    console, loops = Console(), []
    # Of a robot: the first policy, one for each way and round, and one of the robot itself.
    trainings = 2 + len(simopt_experiment.WAYS) * chosen.rounds
    with _progress(console) as progress:
        for seed in range(chosen.seed, chosen.seed + chosen.robots):
            task = progress.add_task(f'robot {seed}', total=trainings, state='training')

            def show(state, task=task):
                progress.update(task, advance=1, state=state)

            loops.append(simopt_experiment.run_loop(seed, chosen.rounds, on_step=show))
    path = _picture_path(chosen, 'simopt.png')
    simopt_report.picture(loops, path)
    console.print(simopt_report.table(loops))
    is_reached, sentence = simopt_report.verdict(loops)
    print(sentence)
    console.print(f'picture: {path}', soft_wrap=True)
    return 0 if is_reached else 1


def _reproduce_tosses(chosen):
    """Estimate groups of real tosses with a live display; print a table and a verdict."""
    import torch

    _require_drawing()
    from .app.reproduce import tosses_experiment, tosses_report
    from .posterior.listing import wide_console

    torch.set_num_threads(1)
    console = wide_console()
    tosses = tosses_experiment.read_tosses(chosen.data)
    groups = tosses_experiment.groups_of(tosses)
    ways = {'windows': [], 'roll-outs': []}
    count = min(chosen.groups, len(groups))
    with _progress(console) as progress:
        task = progress.add_task('groups of tosses', total=count, state='compiling')
        for number in range(count):
            given = groups[number], groups[(number + 1) % len(groups)]
            ways['windows'].append(tosses_experiment.by_windows(*given))
            ways['roll-outs'].append(tosses_experiment.by_rollouts(*given, seed=chosen.seed))
            friction = ways['windows'][-1].values[tosses_experiment.FRICTION][1]
            progress.update(task, advance=1, state=f'friction {friction:.3f}')
    path = _picture_path(chosen, 'tosses.png')
    tosses_report.picture(ways, path)
    console.print(tosses_report.table(ways))
    is_reached, sentence = tosses_report.verdict(ways['windows'])
    console.print(sentence)
    scale = tosses_report.pooled(ways['windows'], tosses_experiment.SCALE)
    sliding = tosses_experiment.sliding_friction(tosses, scale)
    console.print(tosses_report.sliding_sentence(ways['windows'], sliding))
    console.print(f'picture: {path}', soft_wrap=True)
    return 0 if is_reached else 1


def _reproduce_chain(chosen):
    """Find the mass of the chain with a live display; print a table and where the picture is."""
    from rich.console import Console
    import torch

    _require_drawing()
    from .app.reproduce.chain import chain_experiment, chain_report, chain_simulation

    torch.set_num_threads(1)
    console = Console()
    with _progress(console) as progress:
        total = 1 + len(chain_experiment.STARTS) + chosen.seeds
        task = progress.add_task('chain', total=total, state='simulating by exact steps')
        observed = chain_experiment.observations()
        progress.update(task, advance=1, state='compiling')
        simulation = chain_simulation.ChainSimulation()
        result = chain_experiment.run_chain(
            simulation,
            observed,
            range(chosen.seed, chosen.seed + chosen.seeds),
            lambda state: progress.update(task, advance=1, state=state),
        )
    path = _picture_path(chosen, 'chain.png')
    chain_report.chain_picture(result, path)
    console.print(chain_report.chain_table(result))
    is_reached, sentence = chain_report.chain_verdict(result)
    print(sentence)
    console.print(f'picture: {path}', soft_wrap=True)
    return 0 if is_reached else 1


def _reproduce_cube(chosen):
    """Match the thrown cube with a live display; print a table and where the picture is."""
    from rich.console import Console
    import torch

    _require_drawing()
    from .app.reproduce.cube import cube_experiment, cube_report

    torch.set_num_threads(1)
    console = Console()
    with console.status('cube') as status:
        result = cube_experiment.run_cube(
            chosen.seed, chosen.starts, lambda state: status.update(f'cube: {state}')
        )
    path = _picture_path(chosen, 'cube.png')
    cube_report.cube_picture(result, path)
    console.print(cube_report.cube_table(result))
    is_reached, sentence = cube_report.cube_verdict(result)
    print(sentence)
    console.print(f'picture: {path}', soft_wrap=True)
    return 0 if is_reached else 1


def _require_drawing():
    """Refuse to begin where the picture at the end cannot be drawn."""
    from .posterior.report import require_drawing as require

    require()


def _progress(console):
    """Return a live display of tasks with a `state`."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn('{task.description:<28}'),
        BarColumn(20),
        MofNCompleteColumn(),
        TextColumn('{task.fields[state]}'),
        console=console,
    )


def _picture_path(chosen, name):
    """Return where a picture goes, its folder made."""
    chosen.output.mkdir(parents=True, exist_ok=True)
    return chosen.output / name


if __name__ == '__main__':
    sys.exit(main())
