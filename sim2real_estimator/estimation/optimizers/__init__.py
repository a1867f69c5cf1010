"""Optimizers: one file each, and this table. A new one is a new file and a new line."""

from .adam import Adam, Moments
from .base import AbstractOptimizer, LeastSquares, Objective, Result
from .basin_hopping import BasinHopping
from .cma_es import CmaEs
from .levenberg_marquardt import LevenbergMarquardt

OPTIMIZERS = {
    'levenberg_marquardt': LevenbergMarquardt,
    'adam': Adam,
    'cma_es': CmaEs,
    'basin_hopping': BasinHopping,
}

__all__ = ['OPTIMIZERS', 'AbstractOptimizer', 'LeastSquares', 'Moments', 'Objective', 'Result']
