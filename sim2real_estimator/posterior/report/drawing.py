"""Figures as data that an HTML file holds, the same for the same numbers."""

import base64
from contextlib import contextmanager
import io

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from .blocks import Picture

_SETTINGS = {
    # Whole numbers at the ticks, not what to add to them.
    'axes.formatter.useoffset': False,
    'axes.grid': True,
    'axes.spines.right': False,
    'axes.spines.top': False,
    'axes.titlelocation': 'left',
    'axes.titlesize': 10,
    'figure.dpi': 100,
    'font.family': 'DejaVu Sans',
    'font.size': 9,
    'grid.alpha': 0.25,
    'legend.fontsize': 9,
    'legend.frameon': False,
    # Names of joints are no formulas, whatever is in them.
    'text.parse_math': False,
    # Text as outlines: it looks alike wherever it is opened. The salt makes names of parts of a
    # drawing the same each time.
    'svg.fonttype': 'path',
    'svg.hashsalt': 'sim2real_estimator',
}

_TYPES = {'png': 'image/png', 'svg': 'image/svg+xml'}
# From this version on matplotlib makes room for a legend itself; Ubuntu 24.04 has an earlier one.
_OUTSIDE = (3, 7)
# The height of a legend of one line [inch].
_LEGEND = 0.3
# Of images, so that they are sharp on paper [dots per inch].
_SHARP = 160


@contextmanager
def drawing(width, height, layout='constrained'):
    """Give a `Figure` of a size [inch] to draw on; layout: None where its places are given."""
    with matplotlib.rc_context(_SETTINGS):
        yield Figure(figsize=(width, height), layout=layout)


def legend_above(figure, handles, labels):
    """Put a legend on one line above the axes of a constrained figure."""
    if matplotlib.__version_info__ >= _OUTSIDE:
        figure.legend(handles, labels, loc='outside upper center', ncols=len(labels))
        return
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - _LEGEND / figure.get_figheight()))
    figure.legend(handles, labels, loc='upper center', ncols=len(labels))


def picture(figure, caption, alt, is_dense=False):
    """
    Return the `Picture` of a figure; to be called where it was drawn.

    is_dense: whether it has so many marks that points of an image are fewer.
    """
    file = io.BytesIO()
    # Without the date of today and the version of the library the same drawing is the same file.
    kind, unsaid = ('png', 'Software') if is_dense else ('svg', 'Date')
    figure.savefig(file, format=kind, dpi=_SHARP if is_dense else None, metadata={unsaid: None})
    return Picture(caption, alt, _source(kind, file.getvalue()))


def svg_picture(svg, caption, alt, legend=()):
    """Return the `Picture` of an SVG text that is small enough to be read on any screen."""
    return Picture(caption, alt, _source('svg', svg.encode()), legend, fits=True)


def _source(kind, content):
    """Return the bytes of a figure as what an <img> has as its source."""
    return f'data:{_TYPES[kind]};base64,{base64.b64encode(content).decode()}'


def plain_numbers(axis):
    """Write 10 and 100 along a logarithmic `Axis` of a plot, in place of powers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
    axis.set_minor_formatter(NullFormatter())


def panels(figure, count, columns, **options):
    """Return `count` axes of a grid, the rest of it empty."""
    rows = -(-count // columns)
    grid = figure.subplots(rows, columns, squeeze=False, **options).ravel()
    for axis in grid[count:]:
        axis.set_axis_off()
    return grid[:count]
