"""
What is known of a robot, in files that other programs load: docs/writing_back.md.

`EstimatedRobot` is the posterior's mean as a robot that can be built; the other files write it as
URDF, MJCF, draws for randomization and parameters of the node.
"""

from .estimated_robot import EstimatedRobot, opened, robot_of, robot_of_file, SETTINGS
from .mjcf import write_mjcf
from .parameter_file import write_parameters
from .randomization import write_randomization
from .urdf_file import write_urdf

__all__ = [
    'EstimatedRobot',
    'SETTINGS',
    'opened',
    'robot_of',
    'robot_of_file',
    'write_mjcf',
    'write_parameters',
    'write_randomization',
    'write_urdf',
]
