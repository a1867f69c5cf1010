"""The ready arm, pushed by efforts of unknown origin: a tenth of its Coulomb friction."""

import numpy as np

from sim2real_estimator.synthetic.chance import generator

from . import disturbed_arms
from .mismatch import MismatchedPlant, Pushes
from .seven_joints import number_of

TITLE = 'arm of seven joints, pushed by a tenth of its Coulomb friction for 0.1 s at a time'
MOST = disturbed_arms.MOST
_SHARE, _TIME = 0.1, 0.1


def measure(seed):
    """Return the record of one problem."""
    config = disturbed_arms.config()
    robot = disturbed_arms.robot(seed, config)
    return disturbed_arms.measure(config, pushed(robot, disturbed_arms.JOINTS, number_of(seed)))


def pushed(robot, joints, number):
    """Return a `SyntheticRobot` that is pushed from now on; number: that chance depends on."""
    frictions = np.array([robot.truths[0].values[f'{joint}.friction'] for joint in joints])
    acting = forces(frictions, generator(number, 'forces'))
    robot.plant = MismatchedPlant(robot.plant, acting)
    return robot


def forces(frictions, generator):
    """Return the forces of a `MismatchedPlant`."""
    return (Pushes(_SHARE * frictions, _TIME, generator),)


def lines():
    """Return the lines of the table."""
    return disturbed_arms.lines(0.8, 0.95)
