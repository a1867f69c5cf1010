"""The ready arm as it is shipped: reckoning with disturbances where there are none."""

from . import disturbed_arms

TITLE = 'arm of seven joints that reckons with disturbances where there are none'
MOST = disturbed_arms.MOST


def measure(seed):
    """Return the record of one problem."""
    config = disturbed_arms.config()
    return disturbed_arms.measure(config, disturbed_arms.robot(seed, config))


def lines():
    """Return the lines of the table."""
    return disturbed_arms.lines(0.86, 0.97)
