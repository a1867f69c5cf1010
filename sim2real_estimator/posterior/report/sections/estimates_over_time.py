"""Estimates over time."""

import numpy as np

from ..blocks import Section
from ..drawing import drawing, panels, picture
from ..figure_style import BLUE, GREY, LIGHT, RED, WIDTH
from ..words import count

_COLUMNS, _HEIGHT = 3, 2.1
_NANO = 1e9
_BAND = 1.645
# Parameters that are drawn at most, the best known first.
_MOST = 24


def course(found):
    """Return the section of the estimates over time."""
    times = found.course
    if len(times.stamps_ns) < 2:
        return Section(
            'Estimates over time',
            missing='There are no estimates over time: the result is of a posterior file, or of '
            'less than two seconds of data.',
        )
    blocks = [_picture(found, bag) for bag in sorted(set(times.bags.tolist()))]
    return Section('Estimates over time', tuple(blocks))


def _picture(found, bag):
    """Draw all parameters over the time of one recording."""
    times, known = found.course, {each.name: each for each in found.findings.parameters}
    rows = times.bags == bag
    elapsed = (times.stamps_ns[rows] - times.stamps_ns[rows][0]) / _NANO
    stages = np.array(times.stages, dtype=str)[rows]
    is_converged = stages == 'filter'
    order = sorted(
        range(len(times.names)), key=lambda k: getattr(known.get(times.names[k]), 'share', 1.0)
    )
    chosen = sorted(order[:_MOST])
    begin = times.stamps_ns[rows][0]
    happened = [each for each in found.events if each.bag == bag]
    height = 0.6 + _HEIGHT * -(-len(chosen) // _COLUMNS)
    with drawing(WIDTH, height) as figure:
        for axis, k in zip(panels(figure, len(chosen), _COLUMNS), chosen):
            name, mean, sd = times.names[k], times.mean[rows, k], times.sd[rows, k]
            before = known.get(name)
            if before is not None:
                low, high = (
                    before.prior_mean - before.prior_sd,
                    before.prior_mean + before.prior_sd,
                )
                axis.axhspan(low, high, color=LIGHT, alpha=0.5, linewidth=0)
            axis.fill_between(
                elapsed, mean - _BAND * sd, mean + _BAND * sd, color=BLUE, alpha=0.25, linewidth=0
            )
            axis.plot(elapsed, mean, color=BLUE, linewidth=1.4)
            for each in happened:
                colour = RED if each.is_warning else GREY
                at = (each.stamp_ns - begin) / _NANO
                axis.axvline(at, color=colour, linewidth=0.9, linestyle=':')
            axis.set_ylim(*_range(mean, sd, is_converged))
            axis.set_title(f'{name} [{times.units[k]}]')
            axis.set_xlabel('time [s]')
        of = f' of {found.bags[bag].name}' if bag < len(found.bags) else ''
        left_out = len(times.names) - len(chosen)
        more = f' {count(left_out, "parameter")} known less are not drawn.' if left_out else ''
        caption = (
            f'Estimates over the time{of}: the band holds the true value with 90 % and should '
            'narrow and then stay within itself; grey is what was believed before, dotted lines '
            f'are events (red: something changed or is wrong).{more}'
        )
        return picture(figure, caption, 'Mean and 90 % band of each parameter over time')


def _range(mean, sd, is_converged):
    """Return the limits to draw: all means of the filter, and the width at the end."""
    shown = mean[is_converged] if is_converged.any() else mean
    low = min(shown.min(), mean[-1] - 3 * sd[-1])
    high = max(shown.max(), mean[-1] + 3 * sd[-1])
    margin = 0.15 * max(high - low, 1e-9 * max(abs(high), 1e-9))
    return low - margin, high + margin
