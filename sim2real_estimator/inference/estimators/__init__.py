"""Estimators: one file each, and this table. A new one is a new file and a new line."""

from .base import AbstractEstimator
from .gaussian_sum import GaussianSum
from .gumbel_mixture import GumbelMixture
from .measured_torque import MeasuredTorque

ESTIMATORS = {
    'gaussian_sum': GaussianSum,
    'gumbel_mixture': GumbelMixture,
    'measured_torque': MeasuredTorque,
}

__all__ = ['ESTIMATORS', 'AbstractEstimator']
