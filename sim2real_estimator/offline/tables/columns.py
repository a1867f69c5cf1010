"""
Which column is what: the settings of a conversion, read like all others.

Wherever a column is asked for, a formula of columns does as well; see `formulas`.
"""

from dataclasses import dataclass, field

from ...config import setting
from .table import DIGITS

# Unit -> SI units in it, of positions and of velocities.
UNITS = {'rad': 1.0, 'deg': 0.017453292519943295, 'm': 1.0, 'mm': 1e-3}
# Of a body or a marker; pixels are what a camera sees, and stay what they are.
PIXELS = 'px'
PLACE_UNITS = {'m': 1.0, 'mm': 1e-3, PIXELS: 1.0}
VELOCITY_UNITS = {
    **{f'{unit}/s': factor for unit, factor in UNITS.items()},
    'rpm': 0.10471975511965977,
}


@dataclass(frozen=True)
class TimeColumn:
    """When rows were measured: by a column, or at a steady rate."""

    column: str = setting('', 'its column')
    unit: str = setting('s', 'of its numbers', choices=tuple(DIGITS))
    rate: float | None = setting(
        None, 'of the rows, where no column tells when they were measured', unit='1/s', above=0
    )
    pause: float | None = setting(
        None,
        'where time goes back, the next of several recordings in the table begins so long after '
        'the last row; longer than frames.gap of the estimator, 0.5. Empty: it must not go back',
        unit='s',
        above=0,
    )


@dataclass(frozen=True)
class JointColumns:
    """What columns say of a joint."""

    position: str = setting('', 'column of its position; empty: there is none')
    velocity: str = setting('', 'column of its velocity; empty: there is none')
    effort: str = setting('', 'column of its torque in N m, or force in N; empty: there is none')
    unit: str = setting('rad', 'of its position', choices=tuple(UNITS))
    velocity_unit: str = setting(
        '',
        'of its velocity; empty: that of the position, per second',
        choices=('', *VELOCITY_UNITS),
    )


@dataclass(frozen=True)
class TopicColumns:
    """A topic: joints, or a wrench, or a body of motion capture; without orientation a marker."""

    joints: dict[str, JointColumns] = setting(dict, 'joint -> its columns')
    position: tuple[str, ...] = setting(
        (),
        'columns of x, y, z of a body or a marker, or the array that has them; of what a camera '
        'sees columns of u and v',
    )
    orientation: tuple[str, ...] = setting(
        (), "columns of a body's quaternion, or the array that has them"
    )
    order: str = setting('xyzw', 'of the quaternion', choices=('xyzw', 'wxyz'))
    force: tuple[str, ...] = setting(
        (), 'columns of the force x, y, z [N] of a known wrench, or the array that has them'
    )
    torque: tuple[str, ...] = setting(
        (), 'columns of its torque x, y, z [N m], or the array that has them; empty: zero'
    )
    unit: str = setting(
        'm',
        'of the position of a body or a marker; px: pixels of a camera',
        choices=tuple(PLACE_UNITS),
    )
    time: TimeColumn = setting(TimeColumn, 'its own time, where it is not that of all')
    where: str = setting('', 'its own choice of rows, where it is not that of all')


@dataclass(frozen=True)
class Columns:
    """Everything that can be set for a conversion. `source` is the file it came from."""

    topics: dict[str, TopicColumns] = setting(
        dict, 'topic, as the sensors of the estimator name it -> its columns', required=True
    )
    time: TimeColumn = setting(TimeColumn, 'when all of it was measured')
    where: str = setting(
        '',
        "formula of the rows that count, such as 't < 7.5' or 'z > 0.1': those where it is above "
        'zero; empty: all',
    )
    start: float | None = setting(
        None,
        'the time at which clocks of the table are zero, since 1970; empty: 0 where they tell a '
        'date after 2001, else 1700000000',
        unit='s',
        low=0,
    )
    source: str = field(default='', compare=False)
