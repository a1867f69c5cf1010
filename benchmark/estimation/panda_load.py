"""The Panda, pushed by efforts of unknown origin, takes up a load, and puts it down again."""

from . import arm_pushed, disturbed_arms, seven_joints_load
from .panda import ARM

TITLE = 'Panda, pushed, takes up .5 to 3.5 kg after 10 s and puts it down after 13 s'
MOST, lines = 30, seven_joints_load.lines
_UP, _FINER = 10.0, 8
# Frames of 8 ms: what has changed is seen after a few of them, however short they are.
_FRAME_RATE = 125.0


def measure(seed):
    """Return the record of one problem."""
    config = ARM.config(disturbance_time=0.2, frame_rate=_FRAME_RATE)

    def robot(number, loads):
        found = ARM.robot(config, number, finer=_FINER, payloads=loads)
        return disturbed_arms.disturb(found, ARM.joints, arm_pushed.forces, number)

    return seven_joints_load.measure_load(seed, config, robot, f'{ARM.prefix}link7', _UP)
