"""Sensors: one file each, and this table. A new sensor is a new file and a new line."""

from .base import AbstractSensor
from .joint_positions import JointPositions
from .link_pose import LinkPose
from .marker import Marker

SENSORS = {
    'joint_positions': JointPositions,
    'link_pose': LinkPose,
    'marker': Marker,
}

__all__ = ['SENSORS', 'AbstractSensor']
