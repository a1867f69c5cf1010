"""
The table that is shown of a running estimator: what was heard of it, in a terminal.

It knows no ROS: whoever listens tells a `Board`, and a `Display` shows that.
"""

from .board import Board, Happening, Row, Task
from .display import Display

__all__ = ['Board', 'Display', 'Happening', 'Row', 'Task']
