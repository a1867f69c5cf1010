"""Mixtures of more components against exact posteriors that are not Gaussian."""

from dataclasses import replace
from pathlib import Path
import sys
from types import SimpleNamespace

import numpy as np
from problems import p3
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / 'benchmark'))

from estimation.p3 import Modes, SETTINGS  # noqa: E402
from estimation.reference import exact_posterior  # noqa: E402

from sim2real_estimator.estimation.batch.fit import effective_share, fit, Fits, Objective, Window
from sim2real_estimator.estimation.batch.laplace import mixture_at_end, modes  # noqa: E402
from sim2real_estimator.estimation.batch.refinement import refine  # noqa: E402
from sim2real_estimator.estimation.drift import STILL  # noqa: E402
from sim2real_estimator.estimation.estimators import ESTIMATORS  # noqa: E402
from sim2real_estimator.estimation.filter.update import tidied  # noqa: E402
from sim2real_estimator.estimation.gaussian import log_normalized  # noqa: E402
from sim2real_estimator.estimation.mixture import Mixture  # noqa: E402

SECONDS = 2.0
# A problem whose two modes are about to merge, and one of two modes far apart.
NEAR_FOLD, APART = 66, 8
ESTIMATOR = ESTIMATORS['gaussian_sum'](
    **SETTINGS, drift=0.0, drift_of_dissipation=0.0, drift_of_efforts=0.0, refinement=30
)


@pytest.fixture(scope='module')
def problem():
    return p3.make_problem()


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

    def whitened(self, z):
        return z


def laplace_of(objective, size=2):
    """Return Laplace's one component at the origin."""
    z = np.zeros((size, 1))
    found = objective.expand(z)
    return Fits(z[:0], z, found.costs, found.curvature), np.zeros(1)


def fitted(problem, seed):
    """Return (truth, frames, objective, window, modes, log weights) of a batch."""
    truth, frames = p3.draw((9, seed), seconds=SECONDS, is_start_known=True)
    window = Window(frames, *problem.first_state(frames))
    generator = np.random.default_rng(0)
    prior = problem.prior
    starts = prior.mean[:, None] + prior.root @ generator.standard_normal((2, 16))
    objective = Objective(problem, window, ESTIMATOR.noise)
    found = fit(objective, np.zeros((2, 16)), starts)
    kept = modes(found, ESTIMATOR.merge, ESTIMATOR.prune)
    return truth, frames, objective, window, kept, log_normalized(kept.log_evidence())


def test_a_bent_posterior_is_followed_by_more_components():
    objective = Bent(1.0)
    fits, log_weights = laplace_of(objective)
    before = effective_share(objective, fits, log_weights, np.random.default_rng(0), 4000)
    found, weights, _ = refine(objective, fits, log_weights, np.random.default_rng(1))
    after = effective_share(objective, found, weights, np.random.default_rng(0), 4000)
    assert before < 0.1 and after > 0.9
    assert np.exp(weights).sum() == pytest.approx(1.0)
    # x is standard normal and y its square plus noise: means 0 and 1, variances 1 and 3.
    z, share = found.parameters, np.exp(weights)
    spread = np.einsum('k,kij->ij', share, np.linalg.inv(found.information))
    mean = z @ share
    spread = spread + ((z - mean[:, None]) * share) @ (z - mean[:, None]).T
    np.testing.assert_allclose(mean, [0, 1], atol=0.15)
    np.testing.assert_allclose(np.diag(spread), [1, 3], rtol=0.25)


def test_what_is_gaussian_stays_as_it_is():
    fits, log_weights = laplace_of(Bent(1e3))
    found, weights, share = refine(Bent(1e3), fits, log_weights, np.random.default_rng(1))
    assert found is fits and weights is log_weights and share > 0.99


def test_near_the_fold_it_comes_closer_to_the_exact_posterior(problem):
    truth, frames, objective, window, kept, log_weights = fitted(problem, NEAR_FOLD)
    grid = exact_posterior(truth, frames, Modes(problem, truth, frames).deviations)
    found, weights, share = refine(objective, kept, log_weights, np.random.default_rng(1))
    before = grid.divergence(mixture_at_end(problem, window, kept, log_weights, STILL))
    after = grid.divergence(mixture_at_end(problem, window, found, weights, STILL))
    assert before > 0.1 and after < 0.03
    assert share > 0.9
    again, same, _ = refine(objective, kept, log_weights, np.random.default_rng(1))
    np.testing.assert_array_equal(again.information, found.information)
    np.testing.assert_array_equal(same, weights)


def test_two_modes_far_apart_stay_as_they_are(problem):
    *_, objective, _, modes, log_weights = fitted(problem, APART)
    assert len(modes.costs) == 2
    found, _, share = refine(objective, modes, log_weights, np.random.default_rng(1), 0.9)
    assert found is modes and share > 0.99


def test_the_batch_hands_a_refined_mixture_over(problem):
    _, frames = p3.draw((9, NEAR_FOLD), seconds=SECONDS, is_start_known=True)
    plain = replace(ESTIMATOR, refinement=0)
    shares = []
    for estimator in (plain, ESTIMATOR):
        state = estimator.init(problem)
        for frame in frames:
            state, _ = estimator.update(problem, state, frame)
        shares.append(state.share)
    assert shares[0] < 0.9 < shares[1]


def test_twins_of_a_filter_become_one_with_both_weights():
    means = np.array([[0.0, 0.1, 5.0]])
    roots = np.ones((3, 1, 1))
    mixture = Mixture(np.log([0.4, 0.3, 0.3]), np.zeros((0, 3)), means, roots)
    found = tidied(mixture, 1e-6, 0.5)
    np.testing.assert_array_equal(found.means, [[0.0, 5.0]])
    np.testing.assert_allclose(found.weights, [0.7, 0.3])
