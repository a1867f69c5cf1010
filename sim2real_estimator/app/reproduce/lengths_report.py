"""Table and picture of the first experiment."""

import math

import matplotlib
from rich import box
from rich.table import Table

from .lengths_experiment import RATE, SAMPLES, TRAJECTORIES, TRUE_LENGTHS

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402 (the drawing backend has to be chosen first)

_COLORS = ('tab:blue', 'tab:orange')
_NAMES = ('upper link', 'lower link')


def table(results):
    """Return a rich table with the epochs every case needed."""
    out = Table(
        box=box.SIMPLE,
        padding=0,
        title='Epochs of Adam until both lengths stay within',
        caption='Median over the random starts, 90th percentile in brackets, a dash for never; '
        'arrived: starts that end within 1 %. The paper reports about 80 epochs.',
    )
    out.add_column('case', no_wrap=True)
    for heading in ('5 %', '1 %', 'at the end', 'arrived', 'time'):
        out.add_column(heading, justify='right', no_wrap=True)
    for result in results:
        final = result.errors()[-1]
        out.add_row(
            result.case.title,
            *(_epochs(result.epochs_to(e)) for e in (0.05, 0.01)),
            f'{100 * float(final.median()):.3f} %',
            f'{int((final < 0.01).sum())}/{len(final)}',
            f'{result.seconds:.1f} s',
        )
    return out


def _epochs(epochs):
    """Return the median and the 90th percentile of epochs, starts that never arrive last."""
    ordered = sorted(math.inf if math.isnan(e) else e for e in epochs.tolist())
    middle = ordered[len(ordered) // 2]
    late = ordered[min(len(ordered) - 1, math.ceil(0.9 * len(ordered)) - 1)]
    text = [f'{e:.0f}' if math.isfinite(e) else '-' for e in (middle, late)]
    return f'{text[0]} ({text[1]})'


def picture(results, path):
    """Draw the estimates of all starts over the epochs, a panel a case, and save them."""
    columns = 3
    rows = -(-len(results) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(13, 3.8 * rows), sharex=True, sharey=True, squeeze=False
    )
    for axis, result in zip(axes.flat, results):
        _panel(axis, result)
    for axis in axes.flat[len(results) :]:
        axis.axis('off')
    for axis in axes.flat[: len(results)]:
        axis.set_xlabel('training epoch')
        axis.tick_params(labelbottom=True)
    for axis in axes[:, 0]:
        axis.set_ylabel('estimated length [m]')
    handles, labels = axes[0, 0].get_legend_handles_labels()
    axes[-1, -1].legend(handles, labels, loc='center', fontsize=11, frameon=False)
    figure.suptitle(
        f'Two link lengths from {TRAJECTORIES} trajectories of {SAMPLES} samples at '
        f'{RATE:.0f} Hz: every thin line is one random start'
    )
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _panel(axis, result):
    for link, (color, name) in enumerate(zip(_COLORS, _NAMES)):
        lines = axis.plot(result.lengths[:, link].numpy(), color=color, linewidth=0.6, alpha=0.6)
        lines[0].set_label(f'{name}, estimates')
        axis.axhline(
            TRUE_LENGTHS[link], color=color, linestyle='--', linewidth=1.8, label=f'{name}, true'
        )
    axis.axvline(80, color='0.6', linewidth=1)
    axis.text(
        82,
        0.03,
        'epochs in the paper',
        color='0.45',
        fontsize=8,
        transform=axis.get_xaxis_transform(),
    )
    final = 100 * float(result.errors()[-1].median())
    axis.set_title(f'{result.case.title}\nmedian error at the end: {final:.2g} %', fontsize=10)
    axis.grid(alpha=0.25)
