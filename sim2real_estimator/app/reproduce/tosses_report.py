"""Table, verdict and picture of the cube that is thrown."""

import matplotlib
import numpy as np
from rich import box
from rich.table import Table

from .tosses_experiment import DISSIPATION, FRICTION, GROUP, INERTIAS, REFERENCE, SCALE

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402 (the drawing backend has to be chosen first)
from matplotlib.ticker import MaxNLocator, NullLocator  # noqa: E402

_ROWS = (
    (FRICTION, 'friction', 1.0),
    (DISSIPATION, 'dissipation [s/m]', 1.0),
    (SCALE, 'scale of the camera', 1.0),
    *((name, f'{name.split(".")[-1]} of inertia [g m^2]', 1e3) for name in INERTIAS),
)
# On the axis of dissipation [s/m].
_TICKS = (2, 5, 10, 20, 50)
# The aims: friction within so much of the authors', the share of groups whose interval holds what
# all groups agree on, roll-outs of 0.57 s.
FRICTION_WITHIN, HELD, DISTANCE, ANGLE = 0.01, 15 / 18, 0.0106, np.radians(15.0)


def pooled(found, name):
    """Return what all groups agree on: the geometric mean of their medians."""
    return float(np.exp(np.mean([np.log(each.values[name][1]) for each in found])))


def held(found, name):
    """Return the number of groups whose interval holds what all groups agree on."""
    value = pooled(found, name)
    return sum(each.holds(name, value) for each in found)


def is_scale_questioned(found):
    """Return the number of groups whose interval of the camera's scale leaves out one."""
    return sum(not each.holds(SCALE, 1.0) for each in found)


def table(ways):
    """Return a rich table; ways: title -> `Found` of each group."""
    count = len(next(iter(ways.values())))
    out = Table(
        box=box.SIMPLE,
        padding=0,
        title=f'A cube on a board: {count} groups of {GROUP} real tosses',
        caption='Mean: geometric, of the medians of all groups. Scatter: standard deviation of '
        'these medians. Width: half of a 90 % interval, on average. Held: groups whose interval '
        'holds the mean. Scatter and width are relative.',
    )
    out.add_column('', no_wrap=True)
    out.add_column('published', justify='right')
    for title in ways:
        for heading in (f'{title}: mean', 'scatter', 'width', 'held'):
            out.add_column(heading, justify='right')
    for name, title, factor in _ROWS:
        reference = REFERENCE.get(name)
        cells = [title, f'{factor * reference:.4g}' if reference else '']
        for found in ways.values():
            rows = np.log([each.values[name] for each in found])
            scatter = rows[:, 1].std(ddof=1) if len(rows) > 1 else np.nan
            width = (rows[:, 2] - rows[:, 0]).mean() / 2
            cells += [
                f'{factor * pooled(found, name):.4g}',
                f'{100 * scatter:.1f} %',
                f'{100 * width:.1f} %',
                f'{held(found, name)}/{len(found)}',
            ]
        out.add_row(*cells)
    for title, index, factor, unit in (
        ('next tosses: distance', 0, 1e3, 'mm'),
        ('next tosses: angle', 1, np.degrees(1.0), 'deg'),
    ):
        cells = [title, '']
        for found in ways.values():
            mean = factor * np.mean([each.errors[index] for each in found])
            cells += [f'{mean:.1f} {unit}', '', '', '']
        out.add_row(*cells)
    cells = ['processor for a frame', '']
    for found in ways.values():
        cells += [f'{np.mean([each.milliseconds for each in found]):.1f} ms', '', '', '']
    out.add_row(*cells)
    return out


def verdict(found):
    """Return (whether the aims are reached, the sentence that says so), of windows."""
    friction, count = pooled(found, FRICTION), len(found)
    number = held(found, FRICTION)
    distance, angle = np.mean([each.errors for each in found], 0)
    is_reached = bool(
        abs(friction - REFERENCE[FRICTION]) <= FRICTION_WITHIN
        and number >= HELD * count
        and distance <= DISTANCE
        and angle <= ANGLE
    )
    scale = pooled(found, SCALE)
    sentence = (
        f'{"holds" if is_reached else "misses"}: friction {friction:.3f} (published '
        f'{REFERENCE[FRICTION]}, aim: within {FRICTION_WITHIN}), held by {number} of {count} '
        f'intervals (aim: {HELD * count:.0f}); over 0.57 s tosses of the next group are '
        f'{1e3 * distance:.1f} mm and {np.degrees(angle):.1f} degrees off on average (aim: '
        f'{1e3 * DISTANCE:.1f} mm, {np.degrees(ANGLE):.0f} degrees). The camera measures lengths '
        f'{100 * (scale - 1):+.1f} % off, and {is_scale_questioned(found)} of {count} intervals '
        'leave out that it is right'
    )
    return is_reached, sentence


def sliding_sentence(found, sliding):
    """Return what flat slides tell, beside windows; sliding: of `sliding_friction`."""
    friction, error, count = sliding
    return (
        f'where the cube slides flat, its deceleration alone says friction {friction:.3f} +- '
        f'{error:.3f} ({count} slides); {pooled(found, FRICTION):.3f} is what impacts and slides '
        'have in common'
    )


def picture(ways, path):
    """Draw the intervals of all groups, a panel a parameter, and save them."""
    rows = _ROWS[:4]
    figure, axes = pyplot.subplots(1, len(rows), figsize=(14, 5.4), layout='constrained')
    for axis, (name, title, factor) in zip(axes, rows):
        for number, (way, found) in enumerate(ways.items()):
            colour = ('tab:blue', '0.55')[number]
            values = factor * np.array([each.values[name] for each in found])
            heights = np.arange(len(found)) + 0.25 * number
            axis.hlines(heights, values[:, 0], values[:, 2], color=colour, linewidth=2.2)
            axis.plot(values[:, 1], heights, 'o', color=colour, markersize=4, label=way)
            axis.axvline(factor * pooled(found, name), color=colour, linewidth=1)
        if name in REFERENCE:
            value = factor * REFERENCE[name]
            axis.axvline(value, color='k', linestyle='--', linewidth=1.2, label='published')
        axis.set_xlabel(title)
        if name == DISSIPATION:
            axis.set_xscale('log')
            axis.set_xticks(_TICKS, [str(tick) for tick in _TICKS], minor=False)
            axis.xaxis.set_minor_locator(NullLocator())
        axis.set_ylim(len(next(iter(ways.values()))), -1)
        axis.yaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(alpha=0.25, axis='x')
    axes[0].set_ylabel(f'group of {GROUP} tosses')
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc='outside lower center', ncols=3, fontsize=9)
    figure.suptitle('90 % intervals of groups of real tosses; lines: what all groups agree on')
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
