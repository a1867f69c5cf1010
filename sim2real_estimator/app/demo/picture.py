"""The picture of a demo: every parameter over time, the truth dashed."""

import math

import matplotlib
import numpy as np

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402 (the drawing backend has to be chosen first)

_COLUMNS, _BAND = 3, 2.0
_ESTIMATE, _TRUTH, _CHANGE = 'tab:blue', 'black', 'tab:red'
# Part of the value that is seen above and below the truth, at least.
_MARGIN = 0.08
_WIDEST = 1e5


def draw(history, goals, path):
    """Draw a `History` with the limit of the `Goals`, and save it."""
    moments = history.moments
    names = list(moments[-1].rows)
    times = np.array([moment.seconds for moment in moments])
    rows = math.ceil((len(names) + 1) / _COLUMNS)
    figure, axes = pyplot.subplots(
        rows, _COLUMNS, figsize=(13, 2.9 * rows), sharex=True, squeeze=False
    )
    for axis, name in zip(axes.flat, names):
        _parameter(axis, times, [moment.rows[name] for moment in moments])
    _widths(axes.flat[len(names)], times, moments, names, goals)
    for axis in axes.flat[len(names) + 1 :]:
        axis.axis('off')
    for axis in axes.flat[: len(names) + 1]:
        for at in history.changes:
            axis.axvline(at, color=_CHANGE, linewidth=1, label='weight picked up')
        axis.grid(alpha=0.25)
        axis.set_xlabel('time [s]')
        axis.tick_params(labelbottom=True)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='upper right', ncols=len(labels), frameon=False)
    figure.suptitle('What was known of a robot while it moved', x=0.02, ha='left')
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _parameter(axis, times, rows):
    """Draw the mean, two standard deviations about it, and the truth."""
    mean, sd = np.array([(row.mean, row.sd) for row in rows]).T
    truth = np.array([math.nan if row.truth is None else row.truth for row in rows])
    axis.fill_between(
        times,
        mean - _BAND * sd,
        mean + _BAND * sd,
        color=_ESTIMATE,
        alpha=0.3,
        linewidth=0,
        label='estimate, 2 sd',
    )
    axis.plot(times, mean, color=_ESTIMATE, linewidth=1.2)
    axis.step(
        times, truth, color=_TRUTH, linestyle='--', linewidth=1.2, where='post', label='truth'
    )
    shown = np.concatenate([truth, [mean[-1] - 3 * sd[-1], mean[-1] + 3 * sd[-1]]])
    margin = _MARGIN * np.nanmax(np.abs(shown))
    axis.set_ylim(np.nanmin(shown) - margin, np.nanmax(shown) + margin)
    last = rows[-1]
    axis.set_title(f'{last.name} [{last.unit}]: {last.verdict} at the end', fontsize=10)


def _widths(axis, times, moments, names, goals):
    """Draw how well everything is known, as a part of its value."""
    for name in names:
        rows = [moment.rows[name] for moment in moments]
        axis.plot(times, [100 * row.sd / abs(row.mean) for row in rows], linewidth=1, label=name)
    axis.axhline(100 * goals.share, color='0.5', linestyle=':', linewidth=1.2)
    axis.text(
        times[-1], 100 * goals.share, 'goal ', color='0.4', fontsize=8, ha='right', va='bottom'
    )
    axis.set_yscale('log')
    # Room for the legend above the lines.
    axis.set_ylim(top=_WIDEST)
    axis.set_title('standard deviation [% of the value]', fontsize=10)
    axis.legend(fontsize=6, ncols=2, loc='upper right')
