"""The arm that is pushed by efforts of unknown origin takes up a load, and puts it down again."""

from . import arm_pushed, disturbed_arms, seven_joints_load

TITLE = 'arm of seven joints, pushed, takes up .5 to 3.5 kg after 6 s and puts it down after 9 s'
MOST, lines = 30, seven_joints_load.lines


def measure(seed):
    """Return the record of one problem."""
    config = disturbed_arms.config()

    def robot(number, loads):
        return disturbed_arms.robot((number,), config, arm_pushed.forces, payloads=loads)

    return seven_joints_load.measure_load(seed, config, robot)
