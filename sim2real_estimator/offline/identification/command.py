"""The command `sim2real-estimator identify`."""

import argparse
from contextlib import nullcontext
import os
from pathlib import Path
import sys


def add_identify(commands):
    """Add the command to those of the parser."""
    identify = commands.add_parser(
        'identify', help='estimate a robot from recordings (rosbag2), faster than it moved'
    )
    identify.add_argument('bags', type=Path, nargs='+', metavar='BAG', help='folder or file')
    identify.add_argument('--config', type=Path, required=True, help='settings of the estimator')
    identify.add_argument(
        '-o', '--output', type=Path, help='folder to make (results/NAME-OF-THE-FIRST-BAG)'
    )
    identify.add_argument('--force', action='store_true', help='replace the folder')
    identify.add_argument(
        '--merge', action='store_true', help='recordings are independent ones, joined at the end'
    )
    identify.add_argument(
        '--held-out',
        type=share_of,
        default=0.2,
        metavar='SHARE',
        help='of each recording, at its end: predicted instead of used (0.2)',
    )
    identify.add_argument(
        '--follow', type=Path, metavar='FILE', help='saved posterior whose frames to use once more'
    )
    identify.add_argument(
        '--trust-units', action='store_true', help='units that look wrong are right'
    )
    identify.add_argument(
        '--fit',
        metavar='OPTIMIZER',
        help='print beside the posterior the best fit of windows of the recordings by '
        'levenberg_marquardt, basin_hopping, cma_es or adam; settings follow its name: '
        'cma_es:population=32,starts=2',
    )
    identify.add_argument(
        '--explain',
        action='store_true',
        help='try networks on what is left of the torques, and propose where one would pay',
    )
    identify.add_argument('--verbose', action='store_true', help='list all that no data tell')
    identify.set_defaults(run=_identify)


def _identify(chosen):
    """Identify, show the progress, and print the result."""
    # Read by NumPy when it is loaded: for matrices this small, threads would wait for each other.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # Imported here, so that `--help` answers at once.
    import torch

    from ...posterior.listing import table, wide_console
    from ...posterior.report import missing_for_report
    from ...posterior.report.summary import outcome
    from .run import identify
    from .terminal import events_once, fit_table, Lines, Live, scores, torque_scores

    torch.set_num_threads(1)  # two would only wait for one another
    console = wide_console()
    output = chosen.output or Path('results') / chosen.bags[0].resolve().name
    options = {
        'merge': chosen.merge,
        'held_out': chosen.held_out,
        'follow': chosen.follow,
        'trust_units': chosen.trust_units,
        'fit': chosen.fit,
    }
    with Live(console) if console.is_terminal else nullcontext(Lines(console)) as display:
        try:
            found = identify(
                chosen.bags,
                chosen.config,
                output,
                force=chosen.force,
                show=display.show,
                **options,
            )
        except KeyboardInterrupt:
            print('stopped; the same command goes on from here', file=sys.stderr)
            raise
    console.print(_caution(found), soft_wrap=True, markup=False)
    console.print(outcome(found), soft_wrap=True, markup=False)
    console.print(table(found.posterior, chosen.verbose, console.width))
    for network in found.findings.networks:
        console.print(network.sentence, soft_wrap=True, markup=False)
    if found.fit is not None:
        console.print(fit_table(found.fit, found.findings))
    console.print(scores(found.held_out))
    if found.held_out.torques:
        console.print(torque_scores(found.held_out))
    for line in events_once(found.events, found.bags):
        console.print(line, soft_wrap=True)
    for line in _accounts(found):
        console.print(line, soft_wrap=True, markup=False)
    if chosen.explain:
        from ..training.explain_command import print_proposals

        print_proposals(chosen, found, console)
    if lacking := missing_for_report():
        console.print(f'no report.html: {lacking}', soft_wrap=True, markup=False)
    console.print(f'written: {output}', soft_wrap=True, markup=False)
    return 0


def _caution(found):
    """Return a sentence on whether the result can be trusted."""
    if not found.distrust:
        return 'No warnings; what is never noticed: docs/estimation.md, "What not to believe".'
    reasons = '; '.join(found.distrust)
    return f'CAUTION: {reasons}. See the events below, and docs/estimation.md for what to do.'


def _accounts(found):
    """Yield sentences on the estimator, the recordings, and the processor time used."""
    if found.choice is not None:
        yield found.choice.sentence
    for bag in found.bags:
        yield from (f'{bag.name}: {remark}' for remark in (*bag.warnings, *bag.unused))
    spent = found.timings
    yield (
        f'{spent["data"]:.1f} s of data; of the processor {spent["reading"]:.1f} s of reading, '
        f'{spent["estimating"]:.1f} s of estimating'
    )


def share_of(text):
    """Return a share, for argparse."""
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f'{text} is no share: at least 0, below 1')
    return value
