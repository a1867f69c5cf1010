"""Why a forward filter has not taken over, for the first line of `identify`."""

from types import SimpleNamespace

import pytest

from sim2real_estimator.estimation.filter.phases import BatchState, FilterState
from sim2real_estimator.offline.identification.run import why_still_fitting


@pytest.mark.parametrize(
    ('known', 'reason'),
    [
        ({'is_astray': True}, 'nothing explains the motion'),
        ({'share': 0.4}, 'several answers'),
        ({'knowledge': SimpleNamespace()}, 'after a gap'),
        ({}, 'not known well enough'),
    ],
)
def test_a_first_fit_that_goes_on_has_a_reason(known, reason):
    assert reason in why_still_fitting(BatchState(mixture=SimpleNamespace(), **known))


def test_a_filter_and_a_batch_before_its_first_fit_have_none():
    assert why_still_fitting(FilterState(SimpleNamespace())) == ''
    assert why_still_fitting(BatchState()) == ''
