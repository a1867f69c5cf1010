"""P1 with motion capture of 0.2 mm, which sees directions to 0.038 deg."""

from problems.p1 import MOCAP_NOISE

from . import p1
from .targets import coverage_lines, efficient, Line, median_nees

TITLE = 'P1 with motion capture of 0.2 mm'
MARKS = (10, 25, 50)
# Other motions than those of P1.
_OTHERS = 1


def measure(seed):
    """Return the record of one problem."""
    return p1.measure((*seed, _OTHERS), MOCAP_NOISE, MARKS)


def lines():
    """Return the lines of the table."""
    found = []
    for count in MARKS:
        mark, when = str(count), f'N={count}'
        if count >= 25:
            found.append(Line(f'efficiency, {when}', efficient(mark), (0.8, None)))
        found += coverage_lines(when, mark, ('efficiency', efficient(mark)))
    found.append(Line('median NEES / p, N=50', median_nees('50'), (0.75, 1.1)))
    return found
