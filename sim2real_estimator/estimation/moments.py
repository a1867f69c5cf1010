"""The running means behind the steps of Adam."""

from dataclasses import dataclass

import numpy as np

_MEAN_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Moments:
    """Running means of gradients and of their squares, like the gradients, and their count."""

    mean: np.ndarray
    square: np.ndarray
    count: np.ndarray

    @staticmethod
    def like(values):
        """Return the moments before any gradient; the last dimension may stop by itself."""
        return Moments(np.zeros_like(values), np.zeros_like(values), np.zeros(values.shape[-1]))

    def step(self, gradient):
        """Return (moments, direction): minus the direction times a rate is the step."""
        mean = _MEAN_DECAY * self.mean + (1 - _MEAN_DECAY) * gradient
        square = _SQUARE_DECAY * self.square + (1 - _SQUARE_DECAY) * gradient**2
        count = self.count + 1
        unbiased = mean / (1 - _MEAN_DECAY**count)
        spread = np.sqrt(square / (1 - _SQUARE_DECAY**count))
        return Moments(mean, square, count), unbiased / (spread + _TINY)
