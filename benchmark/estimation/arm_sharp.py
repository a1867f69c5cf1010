"""The ready arm, whose friction changes its sign within a fifth of the speed of its model."""

from . import disturbed_arms

TITLE = 'arm of seven joints, friction sharper than its model: within 2 mrad/s, not 10'
MOST = disturbed_arms.MOST
_WIDTH = 0.002


def measure(seed):
    """Return the record of one problem."""
    config = disturbed_arms.config()
    truth = {f'{joint}.friction_velocity': _WIDTH for joint in disturbed_arms.JOINTS}
    return disturbed_arms.measure(config, disturbed_arms.robot(seed, config, truth=truth))


def lines():
    """Return the lines of the table."""
    return disturbed_arms.lines(0.85)
