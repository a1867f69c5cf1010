"""Real arms that nobody of this project recorded: prediction, calibration and changes."""

from .section import run

__all__ = ['run']
