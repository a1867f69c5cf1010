"""P2 whose elbow has a motor that nobody reports about: the rest from the measured motion."""

from problems import silent_elbow

from . import driven_elbow
from .targets import covered, Line, median_nees, median_width, share, total

TITLE = 'P2 with a motor in the elbow that nobody reports about, angles to 0.1 deg at 100 Hz'


def measure(seed):
    """Return the record of one problem."""
    return driven_elbow.measured(silent_elbow, seed)


def lines():
    """Return the lines of the table."""
    width = 'width [%]', median_width('end')
    return [
        Line('filters that begin', share('handed_over'), (0.9, None), 'share'),
        Line('90 % intervals, 6 s', covered('end', 0.9), (0.85, None), 'share', width),
        Line('median NEES / p, 6 s', median_nees('end'), (None, 1.1)),
        Line('false alarms of a change', total('false_alarms'), (None, 0)),
    ]
