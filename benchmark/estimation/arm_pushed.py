"""The ready arm, pushed by efforts of unknown origin: a tenth of its Coulomb friction."""

from . import disturbed_arms
from .mismatch import Pushes

TITLE = 'arm of seven joints, pushed by a tenth of its Coulomb friction for 0.1 s at a time'
MOST = disturbed_arms.MOST
_SHARE, _TIME = 0.1, 0.1


def measure(seed):
    """Return the record of one problem."""
    config = disturbed_arms.config()
    return disturbed_arms.measure(config, disturbed_arms.robot(seed, config, forces))


def forces(frictions, generator):
    """Return the forces of a `MismatchedPlant`."""
    return (Pushes(_SHARE * frictions, _TIME, generator),)


def lines():
    """Return the lines of the table."""
    return disturbed_arms.lines(0.8, 0.95)
