"""Estimators: one file each, and this table. A new one is a new file and a new line."""

from .base import AbstractEstimator
from .gaussian_sum import GaussianSum

ESTIMATORS = {
    'gaussian_sum': GaussianSum,
}

__all__ = ['ESTIMATORS', 'AbstractEstimator']
