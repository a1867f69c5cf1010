"""Table and picture of the second experiment."""

import math

import matplotlib
import numpy as np
from rich import box
from rich.table import Table

from .mixture_experiment import coverage, PAPER_EPOCHS, RATE, SAMPLES

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402 (the drawing backend has to be chosen first)

_COLOURS = ('tab:blue', 'tab:orange', 'tab:green')
_LINKS = ('upper link', 'middle link', 'lower link')
# Half the width of a bar, samples apart.
_HALF = 0.38


def variants(gumbel, gaussian):
    """Return (estimator, epochs, runs) of the rows of the table."""
    epochs = gumbel[0].moments[-1].epoch
    early = [run.at_epoch(PAPER_EPOCHS) for run in gumbel]
    rows = [('gumbel_mixture', str(min(epochs, PAPER_EPOCHS)), early)]
    if epochs > PAPER_EPOCHS:
        rows.append(('gumbel_mixture', str(epochs), gumbel))
    return [*rows, ('gaussian_sum', '', gaussian)]


HEADER = ('estimator', 'epochs', 'samples', 'time', 'arrived', 'error', 'sd', '50 %', '90 %')
CAPTION = (
    'Samples seen and seconds of computing until all three lengths stay within 1 % (median, a '
    'dash where fewer than half do), and how many arrived there. At the end: median error and '
    'standard deviation of a length, and how many of the true lengths lie in the 50 % and 90 % '
    'intervals. gumbel_mixture is given the true first state, gaussian_sum is not.'
)


def rows(gumbel, gaussian):
    """Return the cells under `HEADER`: what each estimator needed, and how right it was."""
    out = []
    for title, epochs, runs in variants(gumbel, gaussian):
        numbers = summary(runs)
        out.append(
            [
                title,
                epochs,
                _or_dash(numbers['samples'], '{:.0f}'),
                _or_dash(numbers['seconds'], '{:.2f} s'),
                f'{numbers["arrived"]}/{len(runs)}',
                f'{100 * numbers["error"]:.2f} %',
                f'{1e3 * numbers["sd"]:.1f} mm',
                *(f'{100 * share:.0f} %' for share in numbers['coverage']),
            ]
        )
    return out


def table(gumbel, gaussian):
    """Return `rows` as a rich table."""
    title = f'Three lengths of {len(gumbel)} pendulums from {SAMPLES} samples at {RATE:.0f} Hz'
    out = Table(box=box.SIMPLE, padding=0, title=title, caption=CAPTION)
    for heading in HEADER:
        justify = 'left' if heading == 'estimator' else 'right'
        out.add_column(heading, justify=justify, no_wrap=True)
    for row in rows(gumbel, gaussian):
        out.add_row(*row)
    return out


def summary(runs):
    """Return name -> number: what the table says of the runs of one estimator."""
    arrivals = [run.arrival() for run in runs]
    ends = [run.moments[-1].lengths()[1] for run in runs]
    return {
        'samples': np.median([math.inf if a is None else a.seen for a in arrivals]),
        'seconds': np.median([math.inf if a is None else a.seconds for a in arrivals]),
        'arrived': sum(a is not None for a in arrivals),
        'error': np.median([np.abs(run.errors()[-1]) for run in runs]),
        'sd': np.median(ends),
        'coverage': coverage(runs),
    }


def _or_dash(number, text):
    return text.format(number) if math.isfinite(number) else '-'


def picture(gumbel, gaussian, path):
    """Draw one run of each estimator on the same stream side by side, as in the paper's Fig. 2."""
    figure = pyplot.figure(figsize=(15, 12), layout='constrained')
    figure.suptitle(
        f'Three link lengths of a swinging pendulum, learned while {SAMPLES} samples arrive '
        f'({RATE:.0f} Hz, noise 0.1 deg)',
        fontsize=14,
    )
    left, right = figure.subfigures(1, 2, wspace=0.03)
    left.suptitle(
        "gumbel_mixture, the paper's estimator: first state given;\n"
        'its bands are no posterior, they shrink with training',
        fontsize=12,
    )
    right.suptitle(
        'gaussian_sum, the calibrated estimator: first state unknown;\n'
        'its bands are the posterior',
        fontsize=12,
    )
    limits = _limits(gumbel, gaussian)
    epochs = np.array([m.epoch for m in gumbel.moments])
    seen = np.array([m.seen for m in gaussian.moments])
    _side(left, gumbel, epochs, 'training epoch', limits)
    _side(right, gaussian, seen, 'samples seen (before the third: the prior)', limits)
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def _side(part, run, clock, label, limits):
    """Draw one estimator: loss and parameter space above, the three lengths below."""
    grid = part.add_gridspec(4, 2, height_ratios=(1.5, 1, 1, 1))
    axis = part.add_subplot(grid[0, 0])
    axis.semilogy(clock, [m.loss for m in run.moments], color='0.2', linewidth=1)
    axis.axhline(1 / 3, color='0.5', linestyle='--', linewidth=1)
    axis.set_title('loss of 8 draws on all samples so far', fontsize=10)
    axis.text(clock[-1], 1 / 3, 'noise alone ', ha='right', va='bottom', color='0.4', fontsize=8)
    axis.set_xlabel(label.split(' (')[0])
    axis.set_ylabel('Huber loss per number')
    axis.set_ylim(0.1, limits['loss'])
    axis.grid(alpha=0.25)
    _space(part.add_subplot(grid[0, 1], projection='3d'), run, limits)
    below = None
    for link in range(3):
        below = part.add_subplot(grid[1 + link, :], sharex=below)
        _kernels(below, run, clock, link)
        below.set_ylim(*limits['lengths'][link])
        below.set_ylabel(f'{_LINKS[link]} [m]')
        below.tick_params(labelbottom=link == 2)
        if not link:
            below.set_title(
                'line: mean, band: 1 sd, dashed: truth, stripes: samples arrive, so many so far',
                fontsize=10,
            )
    below.set_xlabel(label)


def _kernels(axis, run, clock, link):
    """Draw means and bands of every kernel of a length, when samples came, and the truth."""
    _stripes(axis, run, clock)
    if len({len(m.weights) for m in run.moments}) == 1 and len(clock) > 2 * SAMPLES:
        _bands(axis, run, clock, link)
    else:
        _bars(axis, run, clock, link)
    truth = run.stream.lengths[link]
    axis.axhline(truth, color='k', linestyle='--', linewidth=1.2)
    mean, sd = (x[link] for x in run.moments[-1].lengths())
    axis.text(
        0.99, 0.06, f'at the end {1e3 * mean:.1f} +- {1e3 * sd:.1f} mm, true {1e3 * truth:.1f} mm',
        ha='right', fontsize=9, transform=axis.transAxes,
    )  # fmt: skip
    axis.grid(alpha=0.2)


def _bands(axis, run, clock, link):
    """Draw kernels that last as bands."""
    for k in range(len(run.moments[0].weights)):
        mean = np.array([m.means[link, k] for m in run.moments])
        sd = np.array([m.sd[link, k] for m in run.moments])
        colour = _COLOURS[k % len(_COLOURS)]
        axis.fill_between(clock, *np.exp([mean - sd, mean + sd]), color=colour, alpha=0.2, lw=0)
        axis.plot(clock, np.exp(mean), color=colour, linewidth=1.3)


def _bars(axis, run, clock, link):
    """Draw kernels that come and go as bars, darker the more they weigh."""
    for moment, x in zip(run.moments, clock):
        for k, weight in enumerate(moment.weights):
            mean, sd = moment.means[link, k], moment.sd[link, k]
            colour, edges = _COLOURS[k % len(_COLOURS)], [x - _HALF, x + _HALF]
            low, high = np.exp([mean - sd, mean + sd])
            axis.fill_between(edges, low, high, color=colour, alpha=0.1 + 0.3 * weight, lw=0)
            axis.plot(edges, np.exp([mean] * 2), color=colour, alpha=0.3 + 0.7 * weight)


def _stripes(axis, run, clock):
    """Draw a grey stripe where each sample arrives, with the number seen from there on."""
    seen = np.array([m.seen for m in run.moments])
    width = (clock[-1] - clock[0]) / 150
    for number in range(1, seen.max() + 1):
        first = clock[np.flatnonzero(seen >= number)[0]]
        axis.axvspan(first - width, first + width, color='0.85', linewidth=0, zorder=0)
        axis.text(
            first, 0.97, str(number), ha='center', va='top', fontsize=8, color='0.35',
            transform=axis.get_xaxis_transform(),
        )  # fmt: skip


def _space(axis, run, limits):
    """Draw the paths of the kernels through the space of the lengths, and where they end."""
    last = run.moments[-1]
    for k in range(max(len(m.weights) for m in run.moments)):
        path = np.exp([m.means[:, k] for m in run.moments if k < len(m.weights)]).T
        colour = _COLOURS[k % len(_COLOURS)]
        axis.plot(*path, color=colour, linewidth=1, alpha=0.8)
        axis.scatter(*path[:, 0], color=colour, marker='o', s=14)
        if k < len(last.weights):
            for arm in np.diag(path[:, -1] * last.sd[:, k]):
                ends = np.stack([path[:, -1] - arm, path[:, -1] + arm], 1)
                axis.plot(*ends, color=colour, linewidth=2.5)
    axis.scatter(*run.stream.lengths, marker='*', s=160, color='k', label='truth', zorder=10)
    axis.scatter([], [], [], marker='o', s=14, color='0.4', label='start of a kernel')
    axis.set_title('kernels in the space of lengths [m]', fontsize=10)
    names = [link.split()[0] for link in _LINKS]
    axis.set(**dict(zip(('xlim', 'ylim', 'zlim'), limits['space'])))
    axis.set(**dict(zip(('xlabel', 'ylabel', 'zlabel'), names)))
    axis.set_box_aspect(None, zoom=0.78)
    axis.locator_params(nbins=4)
    axis.tick_params(labelsize=8)
    axis.legend(loc='upper left', fontsize=8)


def _limits(*runs):
    """Return what both sides are drawn within."""
    moments = [m for run in runs for m in run.moments]
    truth = runs[0].stream.lengths[:, None]
    bands = np.exp(np.concatenate([m.means + s * m.sd for m in moments for s in (-1, 1)], 1))
    low, high = np.maximum(bands.min(1), 0.2), np.minimum(bands.max(1), 2.2 * truth[:, 0])
    means = np.concatenate([np.exp(m.means) for m in moments] + [truth], 1)
    return {
        'loss': 2 * max(m.loss for m in moments),
        'lengths': list(zip(low - 0.02, high + 0.06)),
        'space': np.stack([means.min(1), means.max(1)], 1),
    }
