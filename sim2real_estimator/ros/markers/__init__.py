"""
What rviz shows: pure functions from what is known of a robot to markers.

`view_of` collects what is to be shown, `scene` makes the markers of it, and a `Board` remembers
which are shown, so that what vanishes is deleted. Markers of a link are in the link's frame, which
robot_state_publisher places: the estimate lies over the measured robot. docs/ros.md has the
legend.
"""

from .mixture_kernels import Kernels, require_axes
from .scene import Board, scene, View, view_of

__all__ = ['Board', 'Kernels', 'View', 'require_axes', 'scene', 'view_of']
