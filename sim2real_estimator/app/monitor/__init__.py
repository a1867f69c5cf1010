"""
The live table of a running estimator, in a terminal.

A listener fills a `Board`, and a `Display` shows it; neither needs ROS.
"""

from .board import Board, Happening, Row, Task
from .display import Display

__all__ = ['Board', 'Display', 'Happening', 'Row', 'Task']
