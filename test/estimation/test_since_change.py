"""What was picked up, by what was learnt since: as in one estimate of robot and load at once."""

import numpy as np
import pytest

from sim2real_estimator.estimation.changes.isolation import EarlierModel
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.protocol import ModelChange
from sim2real_estimator.observability.payload import body_since

SIZE, DRAWS, ROWS = 6, 400, 5


def gaussian(mean, covariance, slope, measured):
    """Return (mean, covariance) after rows of unit noise."""
    gain = covariance @ slope.T @ np.linalg.inv(slope @ covariance @ slope.T + np.eye(len(slope)))
    return mean + gain @ (measured - slope @ mean), covariance - gain @ slope @ covariance


def test_it_is_that_of_an_estimate_of_robot_and_body_at_once():
    rng = np.random.default_rng(1)
    root = np.tril(rng.standard_normal((SIZE, SIZE)))
    known, by_body = rng.standard_normal(SIZE), rng.standard_normal((SIZE, 10))
    body = rng.standard_normal((10, DRAWS)) / np.sqrt(DRAWS)
    earlier = EarlierModel('', (), known, root, ModelChange('', (), by_body @ body, body, 'hand'))
    slope, measured = rng.standard_normal((ROWS, SIZE)), 3 * rng.standard_normal(ROWS)
    # Robot before and body in one vector; data tell of their sum.
    both = np.zeros((SIZE + 10, SIZE + 10))
    both[:SIZE, :SIZE], both[SIZE:, SIZE:] = root @ root.T, body @ body.T
    together = np.hstack([np.eye(SIZE), by_body])
    mean, covariance = gaussian(
        np.concatenate([known, np.zeros(10)]), both, slope @ together, measured
    )
    # The estimator knows the sum alone.
    now, spread = gaussian(known, together @ both @ together.T, slope, measured)
    state = np.zeros((1, 0))
    mixture = Mixture(
        np.zeros(1), state.T, now[:, None], np.linalg.cholesky(spread)[None], np.zeros(1)
    )
    found = body_since(earlier, mixture)
    np.testing.assert_allclose(found.mean, mean[SIZE:], atol=1e-9)
    np.testing.assert_allclose(found.covariance, covariance[SIZE:, SIZE:], atol=1e-7)


@pytest.mark.parametrize('jump', [None, ModelChange('friction of elbow', (), np.eye(SIZE))])
def test_there_is_none_where_none_came(jump):
    earlier = EarlierModel('', (), np.zeros(SIZE), np.eye(SIZE), jump)
    assert body_since(earlier, None) is None
