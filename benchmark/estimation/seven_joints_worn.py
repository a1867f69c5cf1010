"""The arm of seven joints, one of which gets stiffer all at once, and is what it was again."""

import numpy as np
from problems import seven_joints

from sim2real_estimator.app.synthetic.settings import ChangeConfig

from .changing_arm import followed, knowing, LASTS, MOST, noticing, UP

__all__ = ['lines', 'measure', 'MOST', 'TITLE']

TITLE = 'arm of seven joints, the friction of one grows by 40 % after 6 s, for 3 s'
_FACTOR = 1.4


def measure(seed):
    """Return the record of one problem."""
    generator = np.random.default_rng(seed)
    config = seven_joints.config(simulation__disturbance_time=None)
    joint = str(generator.choice(list(config.joints)))
    number = int(generator.integers(2**31))
    before = seven_joints.robot(config, number).truths[0].values
    before = {name: before[name] for name in (f'{joint}.damping', f'{joint}.friction')}
    after = {name: _FACTOR * value for name, value in before.items()}
    changes = {'worn': ChangeConfig(UP, after), 'mended': ChangeConfig(UP + LASTS, before)}
    robot = seven_joints.robot(config, number, changes=changes)
    return followed(config, robot, f'friction of {joint}')


def lines():
    """Return the lines of the table."""
    # Friction shows only while the joint moves.
    return [*noticing(1000), *knowing()]
