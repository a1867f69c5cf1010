"""What was kept from the estimation, beside what the models say it should have been."""

import numpy as np

from ..blocks import Cell, Section, Table
from ..drawing import drawing, picture, plain_numbers
from ..looks import BLACK, GREY, LIGHT, PREDICTORS, WIDTH
from ..words import count, number

_TITLE = 'Prediction of data that were kept back'
# Signals that are drawn over time, at most; in so many columns.
_SIGNALS, _COLUMNS = 8, 2
_BINS = 10
_DOTS = 150


def prediction(found):
    """Return the section of the held-out stretches."""
    held = found.held_out
    if not held.traces:
        return Section(_TITLE, missing=f'There is no comparison: {held.reason}.')
    return Section(_TITLE, (_scores(held), _table(held), _signals(held), _growth(held)))


def _scores(held):
    """Draw the error of each signal in terms of its noise."""
    with drawing(WIDTH, 1.0 + 0.3 * len(held.traces)) as figure:
        axis = figure.subplots()
        rows = range(len(held.traces))
        for name in ('nominal', 'mean'):
            words, colour, _ = PREDICTORS[name]
            errors = [trace.rms(name) / trace.sd for trace in held.traces]
            marker = 'X' if name == 'nominal' else 'o'
            axis.plot(errors, rows, marker, color=colour, markersize=8, label=words)
        axis.axvline(1, color=BLACK, linewidth=1.2, label='noise of the sensor')
        axis.set_xscale('log')
        plain_numbers(axis.xaxis)
        axis.set_yticks(rows, [f'{trace.sensor}: {trace.label}' for trace in held.traces])
        axis.set_ylim(len(held.traces) - 0.5, -0.5)
        axis.set_xlabel('error of the prediction, in standard deviations of the noise')
        figure.legend(loc='outside upper center', ncols=3)
        caption = (
            f'Error of predictions of {held.horizon:g} s, in '
            f'{count(len(held.starts_ns), "window")} of the last {100 * held.share:.0f} % of the '
            'data, of which the estimate knows nothing: its dots should lie at the noise of the '
            'sensor, since nothing can predict noise; crosses show the description as it was.'
        )
        return picture(figure, caption, 'Error of each signal, in terms of its noise')


def _table(held):
    rows = [
        (
            f'{trace.sensor}: {trace.label}',
            trace.unit,
            number(trace.rms('nominal')),
            Cell(number(trace.rms('mean')), 'strong'),
            number(trace.rms('draws')),
            number(trace.sd),
            f'{100 * trace.coverage():.0f} %',
        )
        for trace in held.traces
    ]
    head = ('signal', 'unit', 'description', 'estimate', 'draws', 'noise', 'within 90 %')
    caption = (
        'The same as numbers: root mean square errors of the robot description, of the estimate, '
        'and on average of draws of the posterior; and how much of what was measured lies within '
        'the 90 % that these draws and the noise promise.'
    )
    return Table(caption, head, tuple(rows), texts=(0, 1))


def _signals(held):
    """Draw signals of one window over time, the difference below each."""
    traces = _telling(held.traces)
    rows = -(-len(traces) // _COLUMNS)
    window = int(np.bincount(traces[0].windows).argmax())
    with drawing(WIDTH, 0.5 + 3.0 * rows) as figure:
        grid = figure.subfigures(rows, _COLUMNS, squeeze=False).ravel()
        for part, trace in zip(grid, traces):
            _signal(part, trace, window)
        handles, labels = grid[0].axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc='outside upper center', ncols=len(labels))
        shown = len(traces), len(held.traces)
        which = '' if shown[0] == shown[1] else f' ({shown[0]} of {shown[1]} signals)'
        caption = (
            f'Measured against predicted in one of these windows{which}: from time zero on the '
            'models only know the efforts. Below each, measured less estimate, which should '
            'scatter within the grey band of two standard deviations of the noise.'
        )
        return picture(figure, caption, 'Signals over time, measured and predicted')


def _telling(traces):
    """Return those of the traces in which the models differ the most, in their order."""
    worth = [-trace.rms('nominal') / trace.sd for trace in traces]
    return [traces[k] for k in sorted(np.argsort(worth, kind='stable')[:_SIGNALS])]


def _signal(figure, trace, window):
    """Draw one signal, and below it what is left of it."""
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    rows = np.flatnonzero(trace.windows == window)
    elapsed, measured = trace.elapsed[rows], trace.measured[rows]
    few = slice(None, None, max(1, len(rows) // _DOTS))
    draws = trace.predicted['draws'][rows]
    low, high = np.quantile(draws, (0.05, 0.95), axis=1)
    words, colour, _ = PREDICTORS['draws']
    above.fill_between(elapsed, low, high, color=colour, alpha=0.5, linewidth=0, label=words)
    for name in ('nominal', 'mean'):
        words, colour, line = PREDICTORS[name]
        above.plot(elapsed, trace.predicted[name][rows], line, color=colour, label=words)
    # Of an orientation there is the error only, so nothing to lay beside it.
    dots = [] if trace.is_error else measured[few]
    times = [] if trace.is_error else elapsed[few]
    above.plot(times, dots, '.', color=BLACK, markersize=4, label='measured', zorder=3)
    what = f'{trace.label}, error' if trace.is_error else trace.label
    above.set_title(f'{trace.sensor}: {what} [{trace.unit}]')
    rest = measured - trace.predicted['mean'][rows]
    below.axhspan(-2 * trace.sd, 2 * trace.sd, color=LIGHT, alpha=0.6, linewidth=0)
    below.plot(elapsed[few], rest[few], '.', color=PREDICTORS['mean'][1], markersize=4)
    reach = max(3.2 * trace.sd, 1.1 * np.abs(rest).max(initial=0.0))
    below.set_ylim(-reach, reach)
    below.set_ylabel('difference')
    below.set_xlabel('time since the prediction began [s]')


def _growth(held):
    """Draw how errors grow with the time that is predicted."""
    sensors = list(dict.fromkeys(trace.sensor for trace in held.traces))
    edges = np.linspace(0, held.horizon, _BINS + 1)
    with drawing(WIDTH, 2.8) as figure:
        for axis, sensor in zip(figure.subplots(1, len(sensors), squeeze=False)[0], sensors):
            traces = [trace for trace in held.traces if trace.sensor == sensor]
            for name in ('nominal', 'mean'):
                words, colour, line = PREDICTORS[name]
                middles, errors = _by_elapsed(traces, name, edges)
                axis.plot(middles, errors, line, marker='o', color=colour, label=words)
            axis.axhline(1, color=GREY, linewidth=1.2, label='noise of the sensor')
            axis.set_yscale('log')
            plain_numbers(axis.yaxis)
            axis.set_title(sensor)
            axis.set_xlabel('time since the prediction began [s]')
        first = figure.axes[0]
        first.set_ylabel('error / noise')
        handles, labels = first.get_legend_handles_labels()
        figure.legend(handles, labels, loc='outside upper center', ncols=len(labels))
        caption = (
            'How fast predictions go wrong: the error of a model that is right stays at the '
            'noise, that of one that is wrong grows with time.'
        )
        return picture(figure, caption, 'Error against the time since the prediction began')


def _by_elapsed(traces, name, edges):
    """Return (middles, errors) of all traces together, in standard deviations of their noise."""
    elapsed = np.concatenate([trace.elapsed for trace in traces])
    errors = np.concatenate(
        [(trace.predicted[name] - trace.measured) / trace.sd for trace in traces]
    )
    place = np.clip(np.digitize(elapsed, edges) - 1, 0, len(edges) - 2)
    used = [k for k in range(len(edges) - 1) if (place == k).any()]
    middles = [(edges[k] + edges[k + 1]) / 2 for k in used]
    return middles, [float(np.sqrt((errors[place == k] ** 2).mean())) for k in used]
