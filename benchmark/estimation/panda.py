"""A Franka Panda known by its URDF alone, from encoders: 91 parameters, 62 to be told."""

from . import seven_joints
from .arms import Arm

TITLE = 'Franka Panda, 91 parameters from its URDF, torques, encoders of 2e-4 rad at 250 Hz'
MOST, lines = 40, seven_joints.lines
ARM = Arm(
    'panda_description/urdf/panda.urdf',
    'panda_',
    (0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0),
    ('panda_finger_joint1', 'panda_finger_joint2'),
)


def measure(seed):
    """Return the record of one problem."""
    config = ARM.config()
    return seven_joints.measure_arm(config, ARM.robot(config, seven_joints.number_of(seed)))
