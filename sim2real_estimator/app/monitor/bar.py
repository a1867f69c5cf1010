"""A line of characters that shows an estimate within what was thought before any data."""

from dataclasses import dataclass

from rich.text import Text

# The line is so many standard deviations of the prior long, to either side; a band has two.
_REACH, _BAND = 3.0, 2.0


@dataclass(frozen=True)
class Strokes:
    """What a bar is drawn with; hit: where estimate and truth share a place."""

    track: str
    band: str
    mean: str
    truth: str
    hit: str

    @property
    def legend(self):
        """What the characters mean."""
        return (
            f'{self.mean} mean, {self.band} two standard deviations, {self.truth} truth, '
            f'{self.hit} both; the line: {_REACH:g} standard deviations of the prior either way'
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
