"""A `Board` as a table with bars and lines below it, and as lines alone."""

from dataclasses import dataclass
import math

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ...observability.looks import LOOKS

# By verdict.
STYLES = {verdict.value: look.style for verdict, look in LOOKS.items()}
# Widths in characters: least and largest of the bar, which is left out where there is no room; of
# the terminal from which on units are shown; least of numbers and of verdicts, so that the table
# stays as wide as it is while they change; of what is between columns, and at both edges.
_LEAST, _MOST, _ROOMY = 7, 40, 100
_NUMBER, _VERDICT, _BETWEEN = 8, 14, 2
_LATEST = 5
_INPUT, _SOURCE = 'input ', 'samples of '
_NOBODY = 'nothing heard yet; if it stays so, see whether there is such a node in this domain'
# The line is so many standard deviations of the prior long, to either side; a band has two.
_REACH, _BAND = 3.0, 2.0
# Beyond these a table gets too wide.
_MOST_DECIMALS, _SMALLEST, _LARGEST = 6, 1e-5, 1e6


def picture(board, width, is_fine=True):
    """
    Return what a rich console shows of a `Board`.

    width: of the terminal, in characters; is_fine: whether it can do more than ASCII.
    """
    rows = board.rows()
    parts = [_table(board, rows, width, FINE if is_fine else PLAIN)] if rows else []
    return Group(*parts, *(Text(line, style) for line, style in _below(board, rows)))


def plain_lines(board):
    """Return the estimate of each parameter as a line, where output is no terminal."""
    lines = []
    for row in board.rows():
        truth = '' if row.truth is None else f'  true {written(row.truth, row.sd)}'
        unit = '' if row.unit == '1' else row.unit
        numbers = f'{written(row.mean, row.sd)} +- {written(row.sd, row.sd)} {unit}'
        lines.append(f'{row.name}: {numbers.strip()}{truth}  {_in_words(row)}')
    return lines


def happened(board, happening):
    """Return a `Happening` as a line; one without a stamp came before any data."""
    at = f'{board.seconds(happening.stamp_ns):7.2f} s' if happening.stamp_ns else ' no data'
    return f'{at:9}  {happening.name}: {happening.text}'


def heading(board):
    """Return the stage and the time of the estimate, in words."""
    values = board.tasks['estimate'].values if 'estimate' in board.tasks else {}
    stage = values.get('stage', 'starting')
    if board.stamp_ns is None:
        return f'no estimate yet ({stage})'
    return f'{board.seconds(board.stamp_ns):6.2f} s of data ({stage})'


def _table(board, rows, width, strokes):
    has_truth = any(row.truth is not None for row in rows)
    has_units = width >= _ROOMY
    columns = {'parameter': [row.name for row in rows]}
    if has_units:
        columns['unit'] = [row.unit for row in rows]
    if has_truth:
        columns['truth'] = [
            '' if row.truth is None else written(row.truth, row.sd) for row in rows
        ]
    columns['mean'] = [written(row.mean, row.sd) for row in rows]
    columns['sd'] = [written(row.sd, row.sd) for row in rows]
    numbers = ('truth', 'mean', 'sd')
    widths = {title: max(map(len, (title, *texts))) for title, texts in columns.items()}
    widths |= {title: max(widths[title], _NUMBER) for title in numbers if title in widths}
    taken = sum(each + _BETWEEN for each in (*widths.values(), _VERDICT)) + _BETWEEN
    space = min(width - taken - _BETWEEN, _MOST)
    table = Table(
        box=box.SIMPLE_HEAD if strokes is FINE else box.ASCII2,
        title=heading(board),
        caption=strokes.legend if space >= _LEAST else None,
        caption_style='dim',
        padding=(0, 1, 0, 0),
    )
    for title, least in widths.items():
        justify = 'right' if title in numbers else 'left'
        table.add_column(title, justify=justify, no_wrap=True, min_width=least)
    table.add_column('verdict', no_wrap=True, min_width=_VERDICT)
    if space >= _LEAST:
        table.add_column('', no_wrap=True)
    for row, texts in zip(rows, zip(*columns.values())):
        style = STYLES.get(row.verdict, '')
        drawn = [bar(row, space, strokes, style)] if space >= _LEAST else []
        table.add_row(*map(escape, texts), Text(row.verdict, style), *drawn)
    return table


def _below(board, rows):
    """Yield (line, style) of the lines below the table."""
    if not rows:
        yield (heading(board) if board.tasks else _NOBODY), 'bold'
    for names in dict.fromkeys(tuple(sorted((r.name, *r.aliases))) for r in rows if r.aliases):
        yield f'no data tell apart: {", ".join(names)}', STYLES['aliased']
    yield from _inputs(board)
    yield from _worker(board)
    # The newest first: on a low terminal what is at the end is cut off.
    for happening in reversed(board.happenings[-_LATEST:]):
        yield happened(board, happening), 'yellow' if happening.is_warning else ''
    yield from _samples(board)


def _inputs(board):
    """Yield the rates and troubles of the inputs."""
    inputs = {
        name.removeprefix(_INPUT): task
        for name, task in board.tasks.items()
        if name.startswith(_INPUT)
    }
    if inputs:
        rates = [f'{name} {task.values.get("rate [1/s]", "?")}/s' for name, task in inputs.items()]
        yield f'inputs: {", ".join(rates)}', ''
    for name, task in inputs.items():
        if not task.is_well:
            yield f'{name}: {task.text}', 'yellow'


def _samples(board):
    """Yield the outcomes of the samples of every source."""
    said = []
    for name, task in board.tasks.items():
        if name.startswith(_SOURCE):
            counts = [f'{number} {word}' for word, number in task.values.items() if number != '0']
            said.append(f'{name.removeprefix(_SOURCE)} {", ".join(counts) or "none"}')
    if said:
        yield f'samples: {"; ".join(said)}', ''


def _worker(board):
    """Yield the state of the worker process."""
    if 'worker' not in board.tasks:
        return
    task = board.tasks['worker']
    said = [
        f'{words} {task.values[key]} {unit}'
        for words, key, unit in (
            ('update', 'mean update time [ms]', 'ms'),
            ('longest', 'longest update time [ms]', 'ms'),
            ('data waiting', 'data waiting [s]', 's'),
        )
        if task.values.get(key)
    ]
    yield f'worker: {", ".join([task.text, *said])}', '' if task.is_well else 'yellow'


def _in_words(row):
    return f'{row.verdict} with {", ".join(row.aliases)}' if row.aliases else row.verdict


@dataclass(frozen=True)
class Strokes:
    """The characters of a bar; hit: where estimate and truth share a place."""

    track: str
    band: str
    mean: str
    truth: str
    hit: str

    @property
    def legend(self):
        """The meaning of the characters."""
        return (
            f'{self.mean} mean, {self.band} within {_BAND:g} sd, {self.truth} truth, '
            f'{self.hit} both; the line: prior within {_REACH:g} sd'
        )


FINE = Strokes('·', '━', '●', '┃', '◆')
PLAIN = Strokes('.', '=', 'o', '|', 'X')


def bar(row, width, strokes, style):
    """Return the bar of a `Row`, `width` characters of `Strokes`; style: of the estimate."""
    low = row.prior_mean - _REACH * row.prior_sd
    step = 2 * _REACH * row.prior_sd / width
    if not step > 0:
        return Text(strokes.track * width, 'dim')

    def place(value):
        return min(max(int((value - low) / step), 0), width - 1)

    cells = [(strokes.track, 'dim')] * width
    first, last = (place(row.mean + sign * _BAND * row.sd) for sign in (-1, 1))
    cells[first : last + 1] = [(strokes.band, style)] * (last + 1 - first)
    middle = place(row.mean)
    cells[middle] = (strokes.mean, f'bold {style}')
    if row.truth is not None:
        at = place(row.truth)
        cells[at] = (strokes.hit if at == middle else strokes.truth, f'bold {style}')
    return Text.assemble(*cells)


def decimals(sd):
    """Return the number of decimals to write for a standard deviation."""
    if not math.isfinite(sd) or sd <= 0:
        return _MOST_DECIMALS
    return min(max(1 - math.floor(math.log10(sd)), 0), _MOST_DECIMALS)


def written(value, sd):
    """Return a number as text, as precisely as a standard deviation says."""
    if value and not _SMALLEST <= abs(value) < _LARGEST:
        return f'{value:.3g}'
    return f'{value:.{decimals(sd)}f}'
