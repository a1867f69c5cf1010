"""What an estimate says is worked out when somebody looks, wherever that is."""

from dataclasses import replace
import pickle

import numpy as np
import pytest

from sim2real_estimator.records import Estimate, UpdateReport

MEAN, SD = np.array([1.0, 2.0]), np.array([0.1, 0.2])


@pytest.fixture
def asked():
    return []


@pytest.fixture
def estimate(asked):
    def numbers():
        asked.append(1)
        return MEAN, SD

    words = ('identified', 'aliased')
    return Estimate.when_asked(7, ('mass', 'damping'), numbers, words, UpdateReport('filter'))


def test_nobody_who_looks_at_other_things_waits_for_the_numbers(estimate, asked):
    assert (estimate.stamp_ns, estimate.names[1]) == (7, 'damping')
    assert (estimate.verdicts[0], estimate.report.stage) == ('identified', 'filter')
    assert not asked


def test_they_are_worked_out_once(estimate, asked):
    assert estimate.sd is SD and estimate.mean is MEAN and estimate.sd is SD
    assert len(asked) == 1


@pytest.mark.parametrize('copied', [lambda e: pickle.loads(pickle.dumps(e)), replace])
def test_a_copy_says_the_same(estimate, copied):
    found = copied(estimate)
    np.testing.assert_array_equal(found.mean, MEAN)
    np.testing.assert_array_equal(found.sd, SD)
    assert found.verdicts == estimate.verdicts and found.report == estimate.report


def test_what_it_does_not_have_is_said(estimate):
    with pytest.raises(AttributeError, match='variance'):
        _ = estimate.variance
