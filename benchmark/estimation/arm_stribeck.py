"""The ready arm, whose friction is sharper than its model's, and larger at low speeds."""

from . import disturbed_arms
from .mismatch import Stribeck
from .targets import Line, share

TITLE = 'arm of seven joints, friction sharp and 30 % larger below 0.1 rad/s, unknown to the model'
MOST = disturbed_arms.MOST
_SHARE, _WIDTH, _SPEED = 0.3, 0.002, 0.1
TRUTH = {f'{joint}.friction_velocity': _WIDTH for joint in disturbed_arms.JOINTS}


def measure(seed):
    """Return the record of one problem."""
    config = disturbed_arms.config()
    robot = disturbed_arms.robot(seed, config, forces, truth=TRUTH)
    return disturbed_arms.measure(config, robot)


def forces(frictions, generator):
    """Return the forces of a `MismatchedPlant`."""
    return (Stribeck(_SHARE * frictions, _WIDTH, _SPEED),)


def lines():
    """Return the lines of the table."""
    flagged = Line('losses that are called aliased', share('flagged'), (0.95, None), 'share')
    return [*disturbed_arms.lines(0.85), flagged]
