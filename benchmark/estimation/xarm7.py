"""An xArm 7 known by its URDF alone, from encoders: 91 parameters, 62 to be told."""

from . import seven_joints
from .arms import Arm

TITLE = 'xArm 7, 91 parameters from its URDF, torques, encoders of 2e-4 rad at 250 Hz'
MOST, lines = 15, seven_joints.lines
ARM = Arm('xarm_description/urdf/xarm7.urdf', '', (0.0, 0.0, 0.0, 1.57, 0.0, 0.7, 0.0))


def measure(seed):
    """Return the record of one problem."""
    config = ARM.config()
    return seven_joints.measure_arm(config, ARM.robot(config, seven_joints.number_of(seed)))
