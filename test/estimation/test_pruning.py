"""Components of a mixture that are pruned, and those that are merged."""

from dataclasses import replace

import numpy as np

from sim2real_estimator.estimation.filter.update import prune_and_merge
from sim2real_estimator.estimation.mixture import Mixture


def test_twins_of_a_filter_become_one_with_both_weights():
    means = np.array([[0.0, 0.1, 5.0]])
    roots = np.ones((3, 1, 1))
    mixture = Mixture(np.log([0.4, 0.3, 0.3]), np.zeros((0, 3)), means, roots)
    kept, log_weights = prune_and_merge(mixture, 1e-6, 0.5)
    found = replace(mixture, log_weights=log_weights).pick(kept)
    np.testing.assert_array_equal(found.means, [[0.0, 5.0]])
    np.testing.assert_allclose(found.weights, [0.7, 0.3])
