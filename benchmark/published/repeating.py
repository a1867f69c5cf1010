"""
How well recordings of one robot agree: repeatability as a check of uncertainty.

Nobody knows the truth of a real robot. But what one recording says, with an interval of 90 %,
has to agree with what the others say, and with a reference where there is one.
"""

from dataclasses import dataclass

import drawings
import matplotlib
import numpy as np
from rich import box
from rich.markup import escape
from rich.table import Table

from .robots import Known

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402, the drawing backend has to be chosen first

PICTURE = 'repeatability.png'
# Bounds of what is held, and of how much more than is claimed recordings may differ.
HELD, SPREAD = (0.80, 0.97), 1.5
_WIDTH_IN_SD = 3.29


@dataclass(frozen=True)
class Comparison:
    """
    A quantity of a robot as its recordings tell it.

    names: of recordings; quantiles [R, 3]: 5 %, 50 %, 95 %; known: `Known` or None; is_fresh [R]:
    whether nothing in the package was chosen with the recording in view.
    """

    robot: str
    quantity: str
    names: tuple
    quantiles: np.ndarray
    known: Known | None
    is_fresh: np.ndarray

    @property
    def holds_others(self):
        """Whether each interval [R] holds the median of what the other recordings say."""
        middle = self.quantiles[:, 1]
        others = [np.median(np.delete(middle, k)) for k in range(len(middle))]
        return (self.quantiles[:, 0] <= others) & (others <= self.quantiles[:, 2])

    @property
    def holds_reference(self):
        """Whether each interval [R] holds the middle of the reference; none without."""
        if self.known is None:
            return np.zeros(0, dtype=bool)
        inside = self.quantiles[:, 0] <= self.known.middle
        return inside & (self.known.middle <= self.quantiles[:, 2])

    @property
    def spread(self):
        """How much recordings differ, in standard deviations that they claim."""
        claimed = np.median(self.quantiles[:, 2] - self.quantiles[:, 0]) / _WIDTH_IN_SD
        return float(np.std(self.quantiles[:, 1], ddof=1) / claimed)

    @property
    def errors(self):
        """How far each recording [R] is off the middle of the reference, as a part of it."""
        return np.abs(self.quantiles[:, 1] / self.known.middle - 1)


def compare(examples, found):
    """Return the `Comparison`s of examples; found: (folder, recording) -> record or error."""
    comparisons = []
    for example in examples:
        records = {
            each.name: found[example.folder, each.name]
            for each in example.pieces
            if not isinstance(found[example.folder, each.name], str)
        }
        if len(records) < 2:
            continue
        is_fresh = np.array([name not in example.chosen_on for name in records])
        for quantity in example.repeated:
            quantiles = np.array([each['quantities'][quantity] for each in records.values()])
            known = example.known.get(quantity)
            parts = example.title, quantity, tuple(records), quantiles, known, is_fresh
            comparisons.append(Comparison(*parts))
    return comparisons


def table(comparisons):
    """Return the table: a line for each quantity, and one for each robot and all of them."""
    result = Table(box=box.SIMPLE, padding=(0, 1))
    headings = (
        'robot, quantity',
        'recordings',
        'median error',
        'largest',
        'hold the others',
        'the reference',
        'spread / claimed sd',
        'reads',
    )
    for number, heading in enumerate(headings):
        result.add_column(heading, justify='right' if 0 < number < 7 else 'left', no_wrap=True)
    robots = dict.fromkeys(each.robot for each in comparisons)
    for robot in robots:
        of_robot = [each for each in comparisons if each.robot == robot]
        result.add_section()
        for each in of_robot:
            errors = ['', '']
            if each.known is not None:
                errors = [f'{100 * x:.1f} %' for x in (np.median(each.errors), each.errors.max())]
            held = [f'{each.holds_others.mean():.2f}', _share(each.holds_reference)]
            beyond = 'MISSES' if each.spread > SPREAD else ''
            count, spread = str(len(each.names)), f'{each.spread:.2f}'
            result.add_row(
                escape(f'{robot}, {each.quantity}'), count, *errors, *held, spread, beyond
            )
        result.add_row(*_together(f'{robot}, together', of_robot), style='bold')
    result.add_section()
    result.add_row(*_together('all', comparisons), style='bold')
    fresh = [each for each in comparisons if each.is_fresh.any()]
    if fresh:
        others, reference = (
            np.concatenate([getattr(each, name)[each.is_fresh] for each in fresh])
            for name in ('holds_others', 'holds_reference')
        )
        held = [f'{others.mean():.2f}', _share(reference)]
        count = str(sum(each.is_fresh.sum() for each in fresh))
        title = 'recordings that nothing was chosen on'
        result.add_row(title, count, '', '', *held, '', _verdict(others, reference))
    return result


def draw(comparisons):
    """Write the picture: what every recording says, as a part of the median of all."""
    columns = 4
    rows = -(-len(comparisons) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(11, 1.9 * rows), squeeze=False)
    for axis, each in zip(axes.flat, comparisons):
        middle = np.median(each.quantiles[:, 1])
        low, value, high = 100 * (each.quantiles.T / middle - 1)
        place = np.arange(len(value))
        for is_held, color in ((True, 'tab:blue'), (False, 'tab:red')):
            chosen = each.holds_others == is_held
            reach = (value - low)[chosen], (high - value)[chosen]
            axis.errorbar(place[chosen], value[chosen], reach, fmt='o', ms=3, lw=1.2, color=color)
        axis.axhline(0, color='0.5', lw=0.8)
        if each.known is not None:
            bounds = [100 * (x / middle - 1) for x in (each.known.low, each.known.high)]
            axis.axhspan(*bounds, color='tab:orange', alpha=0.35, lw=0)
            axis.axhline(np.mean(bounds), color='tab:orange', lw=1.0)
        axis.set_title(f'{each.robot}\n{each.quantity}', fontsize=8)
        axis.set_xticks([])
        axis.tick_params(labelsize=7)
    for axis in list(axes.flat)[len(comparisons) :]:
        axis.axis('off')
    for axis in axes[:, 0]:
        axis.set_ylabel('off the median [%]', fontsize=7)
    figure.tight_layout()
    picture = drawings.place(PICTURE)
    figure.savefig(picture, dpi=90)
    pyplot.close(figure)
    return picture


def _together(title, comparisons):
    """Return the row of several quantities."""
    others = np.concatenate([each.holds_others for each in comparisons])
    reference = np.concatenate([each.holds_reference for each in comparisons])
    spread = float(np.median([each.spread for each in comparisons]))
    held = [f'{others.mean():.2f}', _share(reference)]
    return title, str(len(others)), '', '', *held, f'{spread:.2f}', _verdict(others, reference)


def _verdict(others, reference):
    """Return whether shares are within the bounds, in a word."""
    shares = [each.mean() for each in (others, reference) if each.size]
    return 'holds' if all(HELD[0] <= share <= HELD[1] for share in shares) else 'MISSES'


def _share(held):
    return f'{held.mean():.2f}' if held.size else ''
