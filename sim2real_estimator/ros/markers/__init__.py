"""
What rviz shows: pure functions from what is known of a robot to markers.

`scene` makes all of them; a `Board` remembers which are shown, so that what vanishes is deleted.
Markers of a link are in the link's frame, which robot_state_publisher places: the estimate lies
over the measured robot. docs/messages.md has the legend.
"""

from .board import Board
from .kernels import Kernels
from .scene import scene, View

__all__ = ['Board', 'Kernels', 'View', 'scene']
