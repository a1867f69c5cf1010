"""A picture of calibration: what an estimator claims against what turns out to be true."""

import drawings
from matplotlib.figure import Figure
import numpy as np

from .metrics import coverage
from .p2 import COLD

_LEVELS = np.arange(0.05, 0.96, 0.05)
_BLUE, _RED, _GREY = 'tab:blue', 'tab:red', '0.35'


def draw(records):
    """Draw what the records of P2 say, and return the path of the picture."""
    figure = Figure(figsize=(11, 5.6), layout='constrained')
    figure.suptitle(
        f'How often the truth lies inside the stated intervals: {len(records)} simulated double '
        f'pendulums, 7 parameters each, {COLD} s of data',
        fontsize=12.5,
    )
    curves, example = figure.subplots(1, 2, width_ratios=(1, 1.15))
    ours, cold = ([r[key] for r in records] for key in (str(COLD), 'cold'))
    _draw_curves(curves, ours, cold)
    _draw_errors(example, ours, cold)
    figure.legend(*curves.get_legend_handles_labels(), loc='outside lower center', ncols=3)
    picture = drawings.place('calibration.png')
    figure.savefig(picture, dpi=100)
    return picture


def _draw_curves(axis, ours, cold):
    """Draw the share of intervals that contain the truth over the share they claim."""
    levels = 100 * _LEVELS
    axis.plot([0, 100], [0, 100], '--', color=_GREY, label='honest')
    for judgements, colour, name in (
        (ours, _BLUE, 'this estimator: batch first, then filter'),
        (cold, _RED, 'extended Kalman filter begun with the prior'),
    ):
        ranks = [j['rank'] for j in judgements]
        shares = [100 * coverage(ranks, level) for level in _LEVELS]
        axis.plot(levels, shares, 'o-', color=colour, markersize=4, label=name)
    axis.set(
        xlim=(0, 100),
        ylim=(0, 100),
        xlabel='what the estimator claims: an x % interval',
        ylabel='how many of these contain the truth [%]',
        aspect='equal',
    )
    axis.text(40, 75, 'too cautious', color=_GREY, ha='center')
    axis.text(80, 40, 'too sure', color=_GREY, ha='center')
    axis.grid(alpha=0.3)


def _draw_errors(axis, ours, cold):
    """Draw the errors in stated standard deviations, as shares of all."""
    edges, across = np.logspace(-2.5, 3.5, 49), axis.get_xaxis_transform()
    for judgements, colour, x in ((ours, _BLUE, 0.004), (cold, _RED, 9.0)):
        size = np.abs([np.divide(j['error'], j['sd']) for j in judgements]).ravel()
        axis.hist(
            np.clip(size, edges[0], edges[-1]),
            edges,
            weights=np.full(size.size, 100 / size.size),
            color=colour,
            alpha=0.55,
        )
        median = 100 * np.median(np.abs([j['error'] for j in judgements]))
        text = f'median error of\na parameter: {median:.2g} %'
        axis.text(x, 0.8, text, color=colour, va='top', transform=across)
    axis.axvline(2, linestyle='--', color=_GREY)
    axis.text(
        2.3,
        0.97,
        'an honest estimator is\nseldom beyond 2',
        color=_GREY,
        va='top',
        transform=across,
    )
    axis.set(
        xscale='log',
        xlabel='error / stated standard deviation',
        ylabel='share of all parameters [%]',
    )
    axis.grid(alpha=0.3)
