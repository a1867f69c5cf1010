"""A picture: what both tools claim, against how wrong they are."""

import drawings
from matplotlib.figure import Figure
import numpy as np

_FILES = {'pendulum': 'sysid.png', 'arm': 'sysid_arm.png'}
_SIZES = {'pendulum': 'of a length', 'arm': "of the hand's centre of mass"}
_TITLES = {'ours': 'this estimator', 'theirs': 'mujoco.sysid'}
_MILLI = 1e3
# [mm]; what is less wrong, or claims less, is drawn at the edge.
_ENDS = {'pendulum': (0.003, 500.0), 'arm': (0.0003, 500.0)}


def draw(found, robot):
    """Draw the outcomes, by `Case` and tool, of a robot, and return the path of the picture."""
    figure = Figure(figsize=(11, 6.2), layout='constrained')
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    ends, cases = _ENDS[robot], [case for case in found if case.frees_state]
    for axis, (tool, title) in zip(axes, _TITLES.items()):
        axis.fill_between(ends, ends, ends[0], color='0.93')
        axis.plot(ends, ends, '--', color='0.35', linewidth=1)
        for number, case in enumerate(cases):
            claimed, wrong = (
                _MILLI * np.array([getattr(o, part)[:3] for o in found[case][tool]]).ravel()
                for part in ('half', 'error')
            )
            axis.plot(
                np.clip(claimed, *ends),
                np.clip(np.abs(wrong), *ends),
                'x' if case.is_wrong else 'o',
                color=f'C{number}',
                alpha=0.75,
                markersize=6 if case.is_wrong else 4.5,
                label=case.title,
            )
        place = {'color': '0.35', 'transform': axis.transAxes, 'ha': 'center'}
        axis.text(0.82, 0.06, 'the interval holds\nthe truth', **place)
        axis.text(0.12, 0.82, 'too sure', **place)
        axis.set(title=title, xlim=ends, ylim=ends, xscale='log', yscale='log')
        axis.set(xlabel=f'claimed: half the 95 % interval {_SIZES[robot]} [mm]')
        axis.grid(alpha=0.3)
    axes[0].set(ylabel='true error [mm]')
    figure.legend(*axes[0].get_legend_handles_labels(), loc='outside lower center', ncols=3)
    picture = drawings.place(_FILES[robot])
    figure.savefig(picture, dpi=100)
    return picture
