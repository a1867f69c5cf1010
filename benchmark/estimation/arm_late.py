"""The ready arm, whose torques act 0, 1 or 5 ms late, which the estimator has to find out."""

import numpy as np

from . import disturbed_arms
from .targets import Line

TITLE = 'arm of seven joints, torques 0, 1 or 5 ms late, the delay unknown'
MOST = disturbed_arms.MOST
_NAME, _DELAYS = 'commands.delay', (0.0, 0.001, 0.005)


def measure(seed):
    """Return the record of one problem."""
    config, delay = disturbed_arms.config(commands__delay={}), _DELAYS[seed[-1] % len(_DELAYS)]
    robot = disturbed_arms.robot(seed, config, truth={_NAME: delay})
    record = disturbed_arms.measure(config, robot)
    return record | {'delay_error': 1000 * abs(record['found'][_NAME] - delay)}


def delay_error(records):
    """Return the median error of the delay [ms]."""
    return float(np.median([r['delay_error'] for r in records]))


def lines():
    """Return the lines of the table."""
    error = Line('median error of the delay [ms]', delay_error, (None, 0.3))
    return [*disturbed_arms.lines(0.83), error]
