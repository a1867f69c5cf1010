"""The ready arm, its torque constants off by 5 % each, while it holds a body that is known."""

from dataclasses import replace

import numpy as np

from sim2real_estimator.config.settings_tree import PriorConfig

from . import disturbed_arms
from .targets import Line

TITLE = 'arm of seven joints, torque constants off by 5 % each, a known body in its hand'
MOST = disturbed_arms.MOST
_SPREAD = 0.05
_GAINS = tuple(f'{joint}.gain' for joint in disturbed_arms.JOINTS)
# A body of 2 kg beside the axis of the last joint: without one, only ratios could be told.
_KNOWN = {
    'mass': 2.0,
    **dict(zip(('com.x', 'com.y', 'com.z'), (0.08, 0.0, 0.06))),
    **dict(zip(('inertia.xx', 'inertia.yy', 'inertia.zz'), (0.004, 0.004, 0.003))),
    **dict.fromkeys(('inertia.xy', 'inertia.xz', 'inertia.yz'), 0.0),
}


def measure(seed):
    """Return the record of one problem."""
    config = _config()
    robot = disturbed_arms.robot(seed, config)
    record, true = disturbed_arms.measure(config, robot), robot.truths[0].values
    wrong = [record['found'][name] / true[name] - 1 for name in _GAINS]
    return record | {'gain_error': 100 * float(np.abs(wrong).max())}


def _config():
    config = disturbed_arms.config(**{'*__gain': {'sd': _SPREAD}})
    known = {f'hand.{name}': PriorConfig(mean=x, fixed=True) for name, x in _KNOWN.items()}
    return replace(config, estimate={**config.estimate, **known})


def gain_error(records):
    """Return the median of the largest error of a gain [%]."""
    return float(np.median([r['gain_error'] for r in records]))


def lines():
    """Return the lines of the table."""
    error = Line('largest error of a gain [%]', gain_error, (None, 0.5))
    return [*disturbed_arms.lines(0.85), error]
