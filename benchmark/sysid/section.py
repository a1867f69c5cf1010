"""
Our estimator beside `mujoco.sysid`, on the same recordings of a pendulum and of an arm.

What is wrong about the model is fixed at its wrong value in both tools, then free in both.
"""

from dataclasses import replace
from functools import cache
import time

from mujoco import sysid
import numpy as np
from report import print_notes, print_table, Target
from scipy.stats import binomtest
import torch

from . import ours, picture
from .cases import CASES, Outcome, ROBOTS

# Wanted of intervals of 90 % where nothing is wrong, and where something is.
_BAND, _LEAST, _FLAGGED, _TIMES = (0.85, 0.95), 0.80, 0.9, 0.2
_HEADER = ['row', 'tool', 'error', 'claimed +-', '90 %', '95 %', 'others, 90 %', 'flagged', 'CPU']
# A coverage is outside of what is wanted where its interval of this probability is.
_SURE = 0.99
_MILLI = 1e3


def run(name, arguments):
    """Print the table and return the targets."""
    if not hasattr(sysid, 'optimize'):
        print_notes(["mujoco.sysid is not complete: pip install 'mujoco[sysid]'; nothing is run"])
        return []
    from . import theirs  # cannot be imported without the extra

    torch.set_num_threads(1)
    targets = []
    for robot in arguments.sysid_robot or ROBOTS:
        found = {}
        for case in CASES:
            if case.robot is ROBOTS[robot] and arguments.sysid_row in case.title:
                found[case] = _compared(theirs, case, arguments)
                print(f'{case.title}: done', flush=True)
        _print(found)
        if not arguments.sysid_row:
            print(f'Drawn: {picture.draw(found, robot).name}\n')
        own = [target for case in found for target in _targets(case, found[case])]
        targets += [replace(target, name=f'{robot}, {target.name}') for target in own]
    return targets


def _compared(theirs, case, arguments):
    """Return the outcomes of a case by tool; of theirs there are no more than of ours."""
    seed, count = arguments.seed, arguments.sysid_seeds
    return {
        'ours': _ours(replace(case, title='', frees_state=False), seed, count),
        'theirs': _outcomes(theirs, case, seed, min(count, arguments.peer_seeds)),
    }


def _print(found):
    """Print the table of one robot, and what gave no answer."""
    print()
    print_table(
        _HEADER, [_row(case, tool, runs) for case in found for tool, runs in found[case].items()]
    )
    print_notes(
        [
            f'{case.title}: no answer of {outcome.failure}'
            for case in found
            for runs in found[case].values()
            for outcome in runs
            if outcome.failure
        ]
    )


@cache
def _ours(case, seed, count):
    # Whether the peer knows the first state is nothing to us.
    return _outcomes(ours, case, seed, count)


def _outcomes(tool, case, seed, count):
    """Return the `Outcome` of every recording; tool: a module that has `estimate`."""
    return [_attempt(tool, case, (seed, number)) for number in range(count)]


def _attempt(tool, case, seed):
    recording, begin = case.record(seed), time.process_time()
    try:
        return tool.estimate(case, recording, case.starts(seed))
    except Exception as error:  # no answer is an outcome, too
        used = time.process_time() - begin
        return Outcome.failed(case, used, f'{tool.__name__}, recording {seed}: {error}')


def _row(case, tool, runs):
    """Return the cells of a tool's row."""
    lengths, others = slice(0, 3), slice(3, None)
    flagged = f'{np.mean([bool(o.flags) for o in runs]):.2f}' if tool == 'ours' else '-'
    return [
        case.title,
        tool,
        _middle([np.abs(o.error[lengths]) for o in runs]),
        _middle([o.half[lengths] for o in runs]),
        _share([o.inside90[lengths] for o in runs]),
        _share([o.inside95[lengths] for o in runs]),
        _share([o.inside90[others] for o in runs]),
        flagged,
        f'{_time(case, runs):.2f} s/s',
    ]


def _middle(values):
    """Return the median of what is not missing, [m], in words."""
    known = np.array(values)[np.isfinite(values)]
    return f'{_MILLI * np.median(known):.3g} mm' if known.size else '-'


def _share(inside):
    """Return a share in words."""
    inside = np.array(inside)
    return f'{inside.mean():.2f}' if inside.size else '-'


def _time(case, runs):
    """Return the processor time per second of data [s/s]."""
    return float(np.mean([o.used for o in runs])) / case.seconds


def _targets(case, found):
    """Return the targets of a row; times are compared where the unknowns are the same."""
    runs = found['ours']
    ratio = _time(case, runs) / _time(case, found['theirs'])
    times = [Target(f'{case.title}: time / theirs', ratio, _TIMES, 'x')] * case.frees_state
    inside = np.array([o.inside90 for o in runs])
    low, high = binomtest(int(inside.sum()), inside.size).proportion_ci(_SURE)
    if case.is_wrong:
        flagged = float(np.mean([bool(o.flags) for o in runs]))
        return [
            Target(f'{case.title}: misfit flagged', flagged, _FLAGGED, 'of runs', at_least=True),
            Target(f'{case.title}: coverage below {_LEAST} by', max(_LEAST - high, 0.0), 0.0, ''),
            *times,
        ]
    outside = max(_BAND[0] - high, low - _BAND[1], 0.0)
    name = f'{case.title}: coverage outside {_BAND[0]} ... {_BAND[1]} by'
    return [Target(name, outside, 0.0, ''), *times]
