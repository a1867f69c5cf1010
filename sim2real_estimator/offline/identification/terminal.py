"""The progress and the result of an identification in a terminal, or as lines for logs."""

import time

from rich import live
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ...posterior.listing import parameter_table

# Between two lines where there is no terminal [s].
_PERIOD = 10.0
# Events that are shown above a table that is drawn anew; all are printed at the end.
_LATEST = 8
_NANO = 1e9


class Live:
    """A table that is drawn anew in its place."""

    def __init__(self, console):
        """Take the console, which is a terminal."""
        self._live = live.Live(console=console, refresh_per_second=5, transient=True)

    def __enter__(self):
        self._live.start()
        return self

    def __exit__(self, *_):
        self._live.stop()

    def show(self, step):
        """Show a `Step`."""
        said = [Text(remark) for remark in step.remarks]
        for line in events_once(step.events, step.recordings)[-_LATEST:]:
            # A line each, or they would leave no place for the table; whole sentences follow.
            line.no_wrap, line.overflow = True, 'ellipsis'
            said.append(line)
        shown = parameter_table(step.findings.parameters, self._live.console.width, False)
        self._live.update(Group(*said, Text(in_words(step)), shown))

    def refresh(self):
        """Draw at once what was shown last."""
        self._live.refresh()


class Lines:
    """A line now and then, for logs."""

    def __init__(self, console):
        """Take the console."""
        self._console, self._shown, self._said = console, None, set()

    def show(self, step):
        """Print a `Step` if the last line is old enough; remarks and events once."""
        for remark in step.remarks:
            self._say_once(remark, remark)
        for event in step.events:
            (line,) = events_once([event], step.recordings)
            self._say_once((event.bag, event.name, event.text), line)
        now = time.monotonic()
        if self._shown is None or now - self._shown > _PERIOD:
            self._shown = now
            self._console.print(in_words(step), soft_wrap=True, markup=False)

    def _say_once(self, key, line):
        """Print a line unless something of the same key was printed."""
        if key not in self._said:
            self._said.add(key)
            self._console.print(line, soft_wrap=True, markup=False)


def in_words(step):
    """Return a `Step` as a line."""
    which = f' ({step.bag + 1} of {step.bags})' if step.bags > 1 else ''
    observed, unobserved = step.findings.observed, step.findings.unobserved
    return (
        f'{step.name}{which}: {step.seconds:.1f} of {step.length:.1f} s, {step.speed:.1f} times '
        f'real time, {observed} of {observed + unobserved} dimensions known from data'
    )


def events_once(events, recordings):
    """
    Return a line of `Text` for each `Happening`, those that are equal in one with their number.

    recordings: with `name` and `begin_ns`, from which time is counted. Warnings begin with '!'.
    """
    alike = {}
    for event in events:
        alike.setdefault((event.bag, event.name, event.text), []).append(event)
    return [_line(same, recordings) for same in alike.values()]


def _line(same, recordings):
    """Return the line of events that are equal but for their time."""
    first, last = same[0], same[-1]
    recording = recordings[first.bag]
    begin, end = ((each.stamp_ns - recording.begin_ns) / _NANO for each in (first, last))
    which = f'{recording.name} ' if len(recordings) > 1 else ''
    more = f' ({len(same)} times, the last at {end:.1f} s)' if len(same) > 1 else ''
    mark, style = ('!', 'yellow') if first.is_warning else (' ', '')
    return Text(f'{mark} {which}{begin:.1f} s  {first.name}: {first.text}{more}', style)


def scores(held_out):
    """Return the prediction errors of a `HeldOut` as a table, or why there are none."""
    if held_out.reason:
        return Text(f'not predicted: {held_out.reason}')
    result = Table(
        title=f'held out: {len(held_out.starts_ns)} predictions of {held_out.horizon:g} s, '
        'rms error'
    )
    for title in ('signal', 'unit', 'nominal', 'posterior mean', 'draws', 'within their 90 %'):
        justify = 'left' if title in ('signal', 'unit') else 'right'
        result.add_column(title, justify=justify, overflow='fold')
    for trace in held_out.traces:
        errors = [f'{trace.rms(name):.3g}' for name in held_out.predictors]
        name = f'{trace.sensor}: {trace.label}'
        result.add_row(escape(name), trace.unit, *errors, f'{100 * trace.coverage():.0f} %')
    return result


def fit_table(fit, findings):
    """Return an `OptimizerFit` beside the posterior's `Findings` as a table, or why not."""
    if fit.reason:
        return Text(f'not fitted by {fit.optimizer}: {fit.reason}')
    misfits = ', '.join(f'{name} {rms:.3g}' for name, rms in fit.misfits.items())
    about = (
        f'fit by {fit.optimizer}: {fit.windows} windows of {fit.settings["seconds"]:g} s; '
        f'{fit.at_lowest} of {fit.starts} starts end at the lowest cost'
        + ('' if fit.converged else ', and the best of them has not converged')
    )
    result = Table()
    for title in ('parameter', 'posterior', 'sd', 'fit', 'its sd'):
        justify = 'left' if title == 'parameter' else 'right'
        result.add_column(title, justify=justify, overflow='fold')
    for found in findings.parameters:
        if found.name in fit.mean:
            value, sd = fit.mean[found.name], fit.sd[found.name]
            numbers = f'{found.mean:.5g}', f'{found.sd:.2g}', f'{value:.5g}', f'{sd:.2g}'
            result.add_row(found.name, *numbers)
    left = f'rms residual in standard deviations of the noise: {misfits}'
    return Group(Text(about), result, Text(left))


def torque_scores(held_out):
    """Return the errors of predicted torques of a `HeldOut` as a table."""
    result = Table(title='held out: torques predicted from motion, error of their rms')
    for title in ('joint', 'nominal', 'posterior mean', 'rms', 'within 90 %'):
        justify = 'left' if title == 'joint' else 'right'
        result.add_column(title, justify=justify, overflow='fold')
    for trace in held_out.torques:
        shares = [f'{100 * trace.share(name):.3g} %' for name in ('nominal', 'mean')]
        rms, inside = f'{trace.rms("mean"):.3g}', f'{100 * trace.coverage():.0f} %'
        result.add_row(escape(trace.joint), *shares, rms, inside)
    total = (held_out.torque_error(name) for name in ('nominal', 'mean'))
    result.add_row('all', *(f'{100 * each:.3g} %' for each in total), '', '')
    return result
