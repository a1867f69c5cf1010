"""Table, verdict and picture of the loop of simulation and reality."""

import matplotlib
import numpy as np
from rich import box
from rich.table import Table

from .cartpole import NAMES
from .simopt_experiment import HandMade, Online, SimOpt, STARTS

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402 (the drawing backend has to be chosen first)

_COLOURS = ('0.45', 'tab:blue', 'tab:cyan', 'tab:orange')
# Of a distribution, drawn as a bar [%].
_INTERVAL = (5, 95)
# Ours takes at most this share of the simulated rollouts of SimOpt: the aim.
SHARE = 0.1


def table(loops):
    """Return a rich table: a row for every way and round, means over the true robots."""
    known = np.mean([loop.known for loop in loops])
    out = Table(
        box=box.SIMPLE,
        padding=0,
        title=f'A cart-pole with friction and latency: {len(loops)} true robots',
        caption=f'Mean over the robots of the share of {STARTS} starts from which the pole is up '
        f'after 6 s and stays there; in brackets the least. Trained on the true robot itself: '
        f'{100 * known:.0f} %. Simulated: rollouts that updates of the distribution took, '
        'without training, which is the same for all; by differences: with derivatives counted '
        'as rollouts of finite differences; time: of the processor. Error: median of the '
        'parameters, in deviations of the ranges.',
    )
    out.add_column('way', no_wrap=True)
    for heading in ('round', 'success', 'real', 'simulated', 'by differences', 'time', 'error'):
        out.add_column(heading, justify='right', no_wrap=True)
    for title, courses in _by_way(loops).items():
        for number, moments in enumerate(zip(*courses)):
            success = [moment.success for moment in moments]
            errors = [_error(m, loop.truth) for m, loop in zip(moments, loops)]
            out.add_row(
                '' if number else title,
                str(number),
                f'{100 * np.mean(success):.0f} % ({100 * min(success):.0f})',
                str(moments[0].trials),
                f'{_mean(moments, "simulated"):.0f}',
                f'{_mean(moments, "by_differences"):.0f}',
                f'{_mean(moments, "seconds"):.1f} s',
                f'{np.median(errors):.3f}',
            )
    return out


def verdict(loops):
    """Return (whether the aim is reached, the sentence that says so)."""
    ends = {title: [course[-1] for course in each] for title, each in _by_way(loops).items()}
    ours, by_hand, simopt = (ends[kind.title] for kind in (Online, HandMade, SimOpt))
    of_simopt = {
        name: _mean(ours, name) / _mean(simopt, name)
        for name in ('simulated', 'by_differences', 'seconds')
    }
    success = _mean(ours, 'success'), _mean(by_hand, 'success')
    is_reached = bool(success[0] >= success[1] and of_simopt['simulated'] <= SHARE)
    sentence = (
        f'{"holds" if is_reached else "misses"}: ours succeeds in {100 * success[0]:.0f} %, '
        f'hand-made ranges in {100 * success[1]:.0f} %, with {of_simopt["simulated"]:.3f} of the '
        f'simulated rollouts of SimOpt (aim: no less often, at most {SHARE:g}); '
        f'{of_simopt["by_differences"]:.2f} of them if derivatives were finite differences, and '
        f'{of_simopt["seconds"]:.1f} of its time of the processor'
    )
    return is_reached, sentence


def picture(loops, path):
    """Draw success over simulated rollouts, and the distributions of the first robot."""
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(13, 5.2), layout='constrained', width_ratios=(1, 1.25)
    )
    _success(left, loops)
    _distributions(right, loops[0])
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _success(axis, loops):
    """Draw the mean success of every way, and of single robots, over simulated rollouts."""
    for colour, (title, courses) in zip(_COLOURS, _by_way(loops).items()):
        simulated = np.array([[1 + m.simulated for m in course] for course in courses])
        success = np.array([[100 * m.success for m in course] for course in courses])
        axis.plot(simulated.T, success.T, color=colour, linewidth=0.6, alpha=0.4)
        means = simulated.mean(0), success.mean(0)
        axis.plot(*means, 'o-', color=colour, linewidth=2.2, label=title, zorder=5)
    known = 100 * np.mean([loop.known for loop in loops])
    axis.axhline(known, color='k', linestyle='--', linewidth=1, label='trained on the true robot')
    axis.set_xscale('log')
    axis.set_xlabel('1 + simulated rollouts that updates took')
    axis.set_ylabel('success on the true robot [%]')
    axis.set_ylim(-3, 103)
    axis.set_title(f'mean of {len(loops)} robots (thick) and each of them', fontsize=10)
    axis.legend(loc='lower right', fontsize=9)
    axis.grid(alpha=0.25)


def _distributions(axis, loop):
    """Draw the intervals of all parameters, way by way and round by round."""
    ways = list(loop.courses.items())
    rounds = len(ways[0][1])
    # Of a parameter's unit of height, each way takes a part, and each round a line of it.
    step = 0.8 / (len(ways) * rounds)
    for number, (colour, (title, course)) in enumerate(zip(_COLOURS, ways)):
        for k, moment in enumerate(course):
            low, high = np.percentile(moment.draws, _INTERVAL, axis=1)
            heights = np.arange(len(NAMES)) + 0.4 - step * (number * rounds + k)
            axis.hlines(heights, low, high, color=colour, linewidth=2.2)
            axis.plot(moment.draws.mean(1), heights, '.', color=colour, markersize=3)
        axis.plot([], [], color=colour, linewidth=2.2, label=title)
    rows = np.arange(len(NAMES))
    axis.vlines(loop.truth, rows - 0.45, rows + 0.45, color='k', linewidth=1.2, label='truth')
    axis.set_yticks(rows, NAMES)
    axis.set_xlim(-5, 5)
    axis.set_xlabel('standard deviations of the hand-made ranges')
    axis.set_title(
        f'90 % of the robots that are drawn, seed {loop.seed}: rounds from the top down',
        fontsize=10,
    )
    axis.legend(loc='lower left', fontsize=8)
    axis.grid(alpha=0.25, axis='x')


def _mean(moments, name):
    """Return the mean of a number of `Moment`s."""
    return np.mean([getattr(moment, name) for moment in moments])


def _by_way(loops):
    """Return title -> the courses of a way, robot by robot."""
    return {title: [loop.courses[title] for loop in loops] for title in loops[0].courses}


def _error(moment, truth):
    """Return the median error of the means of a `Moment`."""
    return np.median(np.abs(moment.draws.mean(1) - truth))
