"""
Draws of robots for domain randomization: docs/consumers.md.

`draw_robots` draws from a posterior, wider than it, from the prior or at its corners; `apply_draw`
writes a draw into a live model of MuJoCo; the other files keep draws and replace ranges by them.
"""

from .draw import Draw, Draws, read_draws
from .draw_files import described, draw_lines, mjcf_of, urdf_of, write_draws
from .drawn_robots import draw_robots, DrawSettings, KINDS
from .live_mujoco import apply_draw
from .ranges import left_open, load_ranges, narrowed, RandomizationConfig, RangeConfig

__all__ = [
    'Draw',
    'DrawSettings',
    'Draws',
    'KINDS',
    'RandomizationConfig',
    'RangeConfig',
    'apply_draw',
    'described',
    'draw_lines',
    'draw_robots',
    'left_open',
    'load_ranges',
    'mjcf_of',
    'narrowed',
    'read_draws',
    'urdf_of',
    'write_draws',
]
