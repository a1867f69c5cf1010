"""A picture of long runs: what is claimed and what is true, for half an hour."""

import drawings
from matplotlib.figure import Figure
import numpy as np

from .metrics import coverage

_BLUE, _ORANGE, _GREY = 'tab:blue', 'tab:orange', '0.35'
_TICKS = {5: '5 s', 20: '20 s', 60: '1 min', 300: '5 min', 1800: '30 min'}


def draw(records):
    """Draw what the records of long runs say, and return the path of the picture."""
    times = records[0]['times']
    judged = {
        key: np.array([[r[str(t)][key] for t in times] for r in records])
        for key in ('error', 'sd', 'rank')
    }
    figure = Figure(figsize=(11, 4.8), layout='constrained')
    figure.suptitle(
        f'Half an hour in which the model is not quite right: {len(records)} double pendulums, '
        f'{judged["error"].shape[2]} inertial combinations of each',
        fontsize=12.5,
    )
    sizes, shares = figure.subplots(1, 2, width_ratios=(1.35, 1))
    _draw_sizes(sizes, times, judged)
    _draw_shares(shares, times, judged['rank'])
    for axis in (sizes, shares):
        axis.set(xscale='log', xlabel='time since the beginning', xlim=(times[0], times[-1]))
        axis.set_xticks(list(_TICKS), list(_TICKS.values()))
        axis.set_xticks([], minor=True)
        axis.grid(alpha=0.3)
    picture = drawings.place('long_runs.png')
    figure.savefig(picture, dpi=100)
    return picture


def _draw_sizes(axis, times, judged):
    """Draw the sizes of errors, and the standard deviations that are claimed."""
    sizes = 100 * np.abs(judged['error'])
    for lines in np.moveaxis(sizes, 1, -1):
        axis.plot(times, lines.T, color=_ORANGE, linewidth=0.5, alpha=0.3)
    axis.plot([], [], color=_ORANGE, label='errors, a line for each combination of each run')
    root = np.sqrt((sizes**2).mean((0, 2)))
    axis.plot(times, root, color='tab:red', linewidth=2.2, label='errors, root mean square')
    deviations = 100 * np.sqrt((judged['sd'] ** 2).mean((0, 2)))
    axis.plot(times, deviations, color=_BLUE, linewidth=2.2, label='claimed, root mean square')
    axis.set(yscale='log', ylim=(1e-3, 10), ylabel='relative error, standard deviation [%]')
    axis.legend(loc='upper right')


def _draw_shares(axis, times, ranks):
    """Draw how many intervals hold the truth."""
    for level, colour in ((0.9, _BLUE), (0.5, 'tab:green')):
        found = [100 * coverage(ranks[:, k], level) for k in range(len(times))]
        label = f'{100 * level:.0f} % intervals'
        axis.plot(times, found, 'o-', color=colour, markersize=3, label=label)
        axis.axhline(100 * level, linestyle='--', color=colour, linewidth=1)
    axis.set(ylim=(0, 100), ylabel='how many contain the truth [%]')
    axis.plot([], [], '--', color=_GREY, label='as many as there should be')
    axis.legend(loc='lower left')
