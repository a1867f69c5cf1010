"""Arms that MuJoCo simulates the way arms are used, and an estimator judged by what they hide."""

from .section import run

__all__ = ['run']
