"""The ready arm, held for two seconds before it moves."""

from . import disturbed_arms
from .targets import Line

TITLE = 'arm of seven joints, at rest for 2 s, then moving'
MOST = disturbed_arms.MOST
# It settles where it is held, then is listened to for so long before it moves [s].
_SETTLING, _REST = 4.0, 2.0


def measure(seed):
    """Return the record of one problem."""
    config = disturbed_arms.config()
    robot = disturbed_arms.robot(seed, config, rest=_SETTLING + _REST)
    return disturbed_arms.measure(config, robot, _SETTLING, _SETTLING + _REST)


def earliest(records):
    """Return when the first of all filters took over [s], counted from the first motion."""
    return min(r['handed_over'] for r in records if r['handed_over'] is not None)


def lines():
    """Return the lines of the table."""
    return [*disturbed_arms.lines(0.85), Line('earliest hand-over [s]', earliest, (0.0, None))]
