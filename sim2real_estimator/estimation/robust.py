"""Noise models of the whitened residuals."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class NormalNoise:
    """
    Normally distributed residuals.

    scale_share: what a row tells of the scale of the noise, compared with a normal one.
    """

    expects_outliers = False
    scale_share = 1.0

    def cost(self, residual):
        """Return the negative log likelihood of every row, less a constant."""
        return 0.5 * residual**2

    def weight(self, residual):
        """Return the weight of every squared row in a Gauss-Newton step."""
        return np.ones_like(residual)

    def curvature(self, residual):
        """Return the second derivative of the cost, not below zero."""
        return np.ones_like(residual)


@dataclass(frozen=True)
class StudentNoise:
    """
    Student-t residuals with `degrees` of freedom: outliers lose their weight.

    The curvature, not the weight, belongs into a covariance: the weight overstates what a row
    tells.
    """

    degrees: float = 4.0

    expects_outliers = True

    @property
    def scale_share(self):
        """What a row tells of the scale of the noise, compared with a normal one."""
        return self.degrees / (self.degrees + 3)

    def cost(self, residual):
        """Return the negative log likelihood of every row, less a constant."""
        return 0.5 * (self.degrees + 1) * np.log1p(residual**2 / self.degrees)

    def weight(self, residual):
        """Return the weight of every squared row in a Gauss-Newton step."""
        return (self.degrees + 1) / (self.degrees + residual**2)

    def curvature(self, residual):
        """Return the second derivative of the cost, not below zero."""
        square = residual**2
        raw = (self.degrees + 1) * (self.degrees - square) / (self.degrees + square) ** 2
        return np.maximum(raw, 0.0)


NOISES = {'normal': NormalNoise, 'student': StudentNoise}
