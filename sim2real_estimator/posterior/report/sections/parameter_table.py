"""What is known of every parameter, before and after."""

import numpy as np

from ..blocks import Cell, Section, Table, Text
from ..drawing import drawing, picture
from ..figure_style import BLACK, LIGHT, MEANINGS, VERDICTS, WIDTH
from ..words import number, span, with_sd

_ROW = 0.34
# Standard deviations of the prior that are shown to each side at least, and at most.
_LEAST, _MOST = 2.5, 8.0


def parameters(found):
    """Return the section of the table and the way from prior to posterior."""
    known = found.findings.parameters
    if not known:
        return Section('Parameters', missing='No parameter was estimated.')
    verdicts = [word for word in VERDICTS if any(each.verdict == word for each in known)]
    meanings = tuple(f'{VERDICTS[word][2]} {word}: {MEANINGS[word]}.' for word in verdicts)
    return Section('Parameters', (_table(found, known), Text('', meanings), _picture(known)))


def _table(found, known):
    rows = []
    for each in known:
        verdict = Cell(f'{VERDICTS[each.verdict][2]} {each.verdict_text}', _mark(each.verdict))
        rows.append(
            (
                each.name,
                found.units[each.name],
                with_sd(each.prior_mean, each.prior_sd),
                Cell(with_sd(each.mean, each.sd), 'strong'),
                span(each.quantiles[0], each.quantiles[2]),
                f'{number(100 * each.share, 2)} %',
                verdict,
            )
        )
    head = ('parameter', 'unit', 'before', 'after', '90 % interval', 'left', 'verdict')
    caption = (
        'Before is what was believed without data, after is what the data made of it, each with '
        'its standard deviation; left is how much of the uncertainty before is left.'
    )
    return Table(caption, head, tuple(rows), texts=(0, 1, 6))


def _mark(verdict):
    return verdict.replace(' ', '-')


def _picture(known):
    """Draw each parameter in standard deviations of its prior."""
    with drawing(WIDTH, 0.9 + _ROW * len(known)) as figure:
        axis = figure.subplots()
        ends = []
        for row, each in enumerate(known):
            low, middle, high = (np.array(each.quantiles) - each.prior_mean) / each.prior_sd
            ends += [low, high]
            axis.barh(row, 4, 0.62, left=-2, color=LIGHT, alpha=0.55)
            axis.barh(row, 2, 0.62, left=-1, color=LIGHT)
            colour, marker, _ = VERDICTS[each.verdict]
            axis.plot([low, high], [row, row], color=colour, linewidth=3, solid_capstyle='butt')
            axis.plot(middle, row, marker, color=colour, markersize=7, markeredgecolor='white')
        reach = float(np.clip(1.15 * np.abs(ends).max(), _LEAST, _MOST))
        axis.set_xlim(-reach, reach)
        axis.axvline(0, color=BLACK, linewidth=0.8)
        axis.set_yticks(range(len(known)), [each.name for each in known])
        axis.set_ylim(len(known) - 0.4, -0.6)
        axis.set_xlabel('away from what was believed, in standard deviations of that belief')
        axis.grid(axis='y', visible=False)
        caption = (
            'From prior to posterior: the grey bar is what was believed (one and two standard '
            'deviations), the coloured line the 90 % interval after the data; a short line far '
            'inside the bar has been measured.'
        )
        return picture(figure, caption, 'Intervals of all parameters before and after the data')
