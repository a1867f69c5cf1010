"""How well Laplace's mixture stands for a posterior: the effective share of its draws."""

from types import SimpleNamespace

import numpy as np
import pytest

from sim2real_estimator.estimation.batch.fit import Fits
from sim2real_estimator.estimation.batch.multi_start import effective_share


class Bent:
    """The posterior of (x, y) where y stands near the square of x, and x is standard normal."""

    def __init__(self, sd):
        self.sd = sd

    def costs(self, z):
        return 0.5 * z[0] ** 2 + 0.5 * ((z[1] - z[0] ** 2) / self.sd) ** 2

    def expand(self, z):
        slope = np.stack([-2 * z[0], np.ones(z.shape[1])], -1) / self.sd
        residual = (z[1] - z[0] ** 2) / self.sd
        curvature = slope[:, :, None] * slope[:, None] + np.diag([1.0, 0.0])
        gradient = slope * residual[:, None] + np.stack([z[0], 0 * z[0]], -1)
        return SimpleNamespace(costs=self.costs(z), gradient=gradient, curvature=curvature)


def laplace_of(objective, size=2):
    """Return Laplace's one component at the origin."""
    z = np.zeros((size, 1))
    found = objective.expand(z)
    return Fits(z[:0], z, found.costs, found.curvature), np.zeros(1)


@pytest.mark.parametrize(('sd', 'low', 'high'), [(1.0, 0.0, 0.1), (1e3, 0.99, 1.0)])
def test_the_share_is_small_of_a_bent_posterior_and_one_of_a_gaussian(sd, low, high):
    objective = Bent(sd)
    fits, log_weights = laplace_of(objective)
    share = effective_share(objective, fits, log_weights, np.random.default_rng(0), 4000)
    assert low < share <= high


def test_a_quarter_of_the_draws_is_enough_where_it_shows_clearly_more_than_wanted():
    asked = []

    class Counting(Bent):
        def costs(self, z):
            asked.append(z.shape[1])
            return super().costs(z)

    objective = Counting(1e3)
    fits, log_weights = laplace_of(objective)
    asked.clear()
    effective_share(objective, fits, log_weights, np.random.default_rng(0), 400, wanted=0.9)
    assert asked == [100]
