"""How delays cut the steps of a segment."""

import numpy as np
import pytest

from sim2real_estimator.prediction.timeline import Segment

CHANGES, END, MAX_STEP = (-0.02, -0.01, 0.0, 0.004), 0.007, 0.004
# [s]: of commands, and by how much the end comes early.
DELAYS, EARLY = (0.0, 0.0125, 0.06, 0.003), (0.0, 0.001, 0.03, 0.007)
OWNERS = np.zeros(2, dtype=int)


@pytest.fixture
def segment():
    held = np.random.default_rng(4).standard_normal((len(CHANGES), 2, 1))
    bounds, changes = np.array([[0.0], [END]]), np.array(CHANGES)[:, None]
    return Segment(np.zeros((1, 1)), held[:1], (), {}, bounds, changes, held)


def test_no_column_has_more_steps_because_others_have_other_delays(segment):
    delays, early = np.array([DELAYS]), np.array(EARLY)
    together = segment.shifted(delays, OWNERS, early, MAX_STEP)
    alone = [
        segment.shifted(delays[:, [k]], OWNERS, early[[k]], MAX_STEP) for k in range(len(DELAYS))
    ]
    counts = [len(one.durations) for one in alone]
    assert min(counts) < len(together.durations) == max(counts)
    for k, (one, count) in enumerate(zip(alone, counts)):
        for part in ('durations', 'controls', 'by_early'):
            np.testing.assert_array_equal(
                getattr(together, part)[:count, ..., k], getattr(one, part)[..., 0]
            )
        np.testing.assert_array_equal(together.by_delay[:, :count, k], one.by_delay[..., 0])
        slopes = together.by_early[count:, k], together.by_delay[:, count:, k]
        assert not together.durations[count:, k].any() and not any(s.any() for s in slopes)


def test_steps_are_no_longer_than_allowed_and_lead_to_the_end(segment):
    delays, early = np.array([DELAYS]), np.array(EARLY)
    found = segment.shifted(delays, OWNERS, early, MAX_STEP)
    np.testing.assert_allclose(found.durations.sum(0), END - early, atol=1e-15)
    assert np.abs(found.durations).max() <= MAX_STEP * (1 + 1e-9)
    np.testing.assert_allclose(found.by_early.sum(0), -1.0, atol=1e-12)
    np.testing.assert_allclose(found.by_delay.sum(1), 0.0, atol=1e-12)
