"""What was kept from the estimation, beside what the models say it should have been."""

import numpy as np

from ..blocks import Cell, Section, Table
from ..drawing import drawing, legend_above, picture, plain_numbers
from ..figure_style import BLACK, GREY, LIGHT, PREDICTORS, WIDTH
from ..words import count, number

_TITLE = 'Prediction of data that were kept back'
# Signals that are drawn over time, at most; in so many columns.
_SIGNALS, _COLUMNS = 8, 2
_BINS = 10
# Errors from which on a robot has flown apart: it is so far off as is never told.
_FAR = 1e3
# Of torques so many seconds are drawn.
_SECONDS, _NANO = 20.0, 1e9
_DOTS = 150


def prediction(found):
    """Return the section of the held-out stretches."""
    held, blocks = found.held_out, []
    if held.torques:
        blocks += [_torque_table(held), _torques(held)]
    if held.traces:
        blocks += [_scores(held), _table(held), _signals(held), _growth(held)]
    if not blocks:
        return Section(_TITLE, missing=f'There is no comparison: {held.reason}.')
    return Section(_TITLE, tuple(blocks))


def _torque_table(held):
    """Return how well torques are predicted from motion."""
    rows = [
        (
            trace.joint if trace.is_explained else f'{trace.joint} (not explained)',
            f'{100 * trace.share("nominal"):.3g} %',
            Cell(f'{100 * trace.share("mean"):.3g} %', 'strong'),
            number(trace.rms('mean')),
            number(trace.sd),
            f'{100 * trace.coverage():.0f} %',
        )
        for trace in held.torques
    ]
    total = (f'{100 * held.torque_error(name):.3g} %' for name in ('nominal', 'mean'))
    before, after = total
    rows.append(('all', before, Cell(after, 'strong'), '', '', ''))
    head = ('joint', 'description', 'estimate', 'rms [N m or N]', 'as learned', 'within 90 %')
    caption = (
        f'Torques of the last {100 * held.share:.0f} % of the data, of which the estimate knows '
        'nothing, predicted from the motion: root mean square error as part of the root mean '
        'square torque, of short means while a joint moves. As learned: what the estimate expects '
        'of its own error; within 90 %: how much of what was measured lies within the band that '
        'draws and this error promise.'
    )
    return Table(caption, head, tuple(rows), texts=(0,))


def _torques(held):
    """Draw torques over time, measured and predicted."""
    traces = held.torques[: 2 * _SIGNALS]
    rows = -(-len(traces) // _COLUMNS)
    with drawing(WIDTH, 0.5 + 2.0 * rows) as figure:
        grid = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
        for axis in grid[len(traces) :]:
            axis.set_visible(False)
        for axis, trace in zip(grid, traces):
            kept = trace.bags == trace.bags[0]
            elapsed = (trace.stamps_ns[kept] - trace.stamps_ns[0]) / _NANO
            kept, elapsed = np.flatnonzero(kept)[elapsed < _SECONDS], elapsed[elapsed < _SECONDS]
            middle, reach = (part[kept] for part in trace.band())
            words, colour, _ = PREDICTORS['draws']
            low, high = middle - reach, middle + reach
            axis.fill_between(
                elapsed, low, high, color=colour, alpha=0.5, linewidth=0, label='90 % promised'
            )
            for name in ('nominal', 'mean'):
                words, colour, line = PREDICTORS[name]
                values = trace.predicted[name][kept]
                axis.plot(elapsed, values, line, color=colour, linewidth=1, label=words)
            few = slice(None, None, max(1, len(kept) // _DOTS))
            dots = trace.measured[kept][few]
            axis.plot(elapsed[few], dots, '.', color=BLACK, markersize=3, label='measured')
            axis.set_title(trace.joint)
        for axis in grid[-_COLUMNS:]:
            axis.set_xlabel('time [s]')
        handles, labels = grid[0].get_legend_handles_labels()
        legend_above(figure, handles, labels)
        caption = (
            'Torques [N m or N] that were kept back, against what the models say that the motion '
            'takes: dots should lie within the band.'
        )
        return picture(figure, caption, 'Torques over time, measured and predicted')


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
        legend_above(figure, *axis.get_legend_handles_labels())
        caption = (
            f'Error of predictions of {held.horizon:g} s, in '
            f'{count(len(held.starts_ns), "window")} of the last {100 * held.share:.0f} % of the '
            f'data, of which the estimate knows nothing: {_expected(held)} Crosses show the '
            'description as it was.'
        )
        return picture(figure, caption, 'Error of each signal, in terms of its noise')


def _expected(held):
    """Return what the best prediction is like, as a sentence."""
    if held.torques:
        return (
            'the robot is driven by torques as they were measured, whose noise adds up to an '
            'error of any model, so dots should lie far below crosses, not at the noise.'
        )
    return 'its dots should lie at the noise of the sensor, since nothing can predict noise.'


def _where_it_should_lie(held):
    return '' if held.torques else ', within which it should scatter'


def _growing(held):
    return (
        'by what the noise of measured torques adds up to'
        if held.torques
        else ('stays at the noise')
    )


def _table(held):
    rows = [
        (
            f'{trace.sensor}: {trace.label}',
            trace.unit,
            *(_error(trace, name) for name in ('nominal', 'mean', 'draws')),
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


def _error(trace, name):
    """Return the error of a predictor as it is written."""
    error = trace.rms(name)
    words = number(error) if error < _FAR / 2 else 'flies apart'
    return Cell(words, 'strong') if name == 'mean' else words


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
        legend_above(figure, handles, labels)
        shown = len(traces), len(held.traces)
        which = '' if shown[0] == shown[1] else f' ({shown[0]} of {shown[1]} signals)'
        caption = (
            f'Measured against predicted in one of these windows{which}: from time zero on the '
            'models only know the efforts. Below each, measured less estimate; the grey band is '
            f'two standard deviations of the noise{_where_it_should_lie(held)}.'
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
    # The description may fly apart, and is then not what is looked at.
    seen = np.concatenate([trace.predicted['mean'][rows], low, high, dots])
    reach = max(2.0 * np.ptp(seen), 10 * trace.sd)
    middle = (seen.max() + seen.min()) / 2
    if np.abs(trace.predicted['nominal'][rows] - middle).max() > reach:
        above.set_ylim(middle - reach / 2, middle + reach / 2)
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
        legend_above(figure, handles, labels)
        caption = (
            'How fast predictions go wrong: the error of a model that is wrong grows with time, '
            f'that of one that is right {_growing(held)}.'
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
