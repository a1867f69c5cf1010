"""
Sensors: one file each, and this table. A new sensor is a new file and a new line.

`JointEfforts` and `WrenchInput` read messages too, but what they yield are inputs, so they are not
in the table.
"""

from .base import AbstractSensor
from .decoding import stamp_ns
from .joint_efforts import JointEfforts
from .joint_poses import JointPoses
from .joint_positions import JointPositions
from .link_pose import LinkPose
from .marker import Marker
from .mounting import CAPTURE, Placement
from .planar_camera import PlanarCamera, View
from .wrench_input import WrenchInput

SENSORS = {
    'joint_positions': JointPositions,
    'joint_poses': JointPoses,
    'link_pose': LinkPose,
    'marker': Marker,
    'planar_camera': PlanarCamera,
}

__all__ = [
    'CAPTURE',
    'SENSORS',
    'AbstractSensor',
    'JointEfforts',
    'Placement',
    'View',
    'WrenchInput',
    'stamp_ns',
]
