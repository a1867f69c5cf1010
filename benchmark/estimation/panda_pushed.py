"""The Panda of the study `panda`, pushed by efforts of unknown origin."""

from . import arm_pushed, disturbed_arms
from .panda import ARM
from .seven_joints import median_torque, number_of
from .targets import Line

TITLE = 'Panda, pushed by a tenth of its Coulomb friction for 0.1 s at a time'
MOST = disturbed_arms.MOST
_FINER = 8


def measure(seed):
    """Return the record of one problem."""
    config, number = ARM.config(disturbance_time=0.2), number_of(seed)
    robot = ARM.robot(config, number, finer=_FINER)
    robot = disturbed_arms.disturb(robot, ARM.joints, arm_pushed.forces, number)
    return disturbed_arms.measure(config, robot)


def lines():
    """Return the lines of the table."""
    wrong = Line('torques wrong by [%], 10 s', median_torque('10'), (None, 0.8))
    return [*disturbed_arms.lines(0.8, 0.95), wrong]
