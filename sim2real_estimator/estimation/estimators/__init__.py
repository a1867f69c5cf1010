"""Estimators: one file each, and this table. A new one is a new file and a new line."""

from .base import AbstractEstimator
from .gaussian_sum import GaussianSum
from .gumbel_mixture import GumbelMixture
from .kinematic_calibration import KinematicCalibration
from .measured_torque import MeasuredTorque
from .multiple_shooting import MultipleShooting

ESTIMATORS = {
    'gaussian_sum': GaussianSum,
    'gumbel_mixture': GumbelMixture,
    'kinematic_calibration': KinematicCalibration,
    'measured_torque': MeasuredTorque,
    'multiple_shooting': MultipleShooting,
}

__all__ = ['ESTIMATORS', 'AbstractEstimator']
