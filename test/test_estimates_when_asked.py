"""What an estimate says is worked out when somebody looks, wherever that is."""

from dataclasses import replace
import pickle

import numpy as np
import pytest

from sim2real_estimator.records import Estimate, Findings, ParameterFinding, UpdateReport

MEAN, SD = np.array([1.0, 2.0]), np.array([0.1, 0.2])


@pytest.fixture
def asked():
    return []


@pytest.fixture
def estimate(asked):
    def numbers():
        asked.append(1)
        return MEAN, SD

    def found():
        asked.append('findings')
        parameters = tuple(
            ParameterFinding(*named, (0.0, 0.0, 0.0), 0.0, 1.0, 0.1, verdict, ())
            for *named, verdict in zip(('mass', 'damping'), MEAN, SD, ('identified', 'aliased'))
        )
        return Findings(6, parameters, (), (), 2, 0, 1.0, ())

    def payload():
        asked.append('payload')
        return 'a payload'

    findings = Findings.when_asked(6, found, payload, misfit=None, unknown_efforts=())
    return Estimate.when_asked(7, ('mass', 'damping'), numbers, findings, UpdateReport('filter'))


def test_nobody_who_looks_at_other_things_waits_for_the_numbers(estimate, asked):
    assert (estimate.stamp_ns, estimate.names[1]) == (7, 'damping')
    assert estimate.report.stage == 'filter'
    assert not asked
    assert estimate.verdicts == estimate.verdicts == ('identified', 'aliased')
    assert asked == ['findings']


def test_the_payload_waits_for_nothing_else(estimate, asked):
    findings = vars(estimate)['_findings']
    assert findings.payload == findings.payload == 'a payload' and asked == ['payload']
    assert findings.parameters and asked == ['payload', 'findings']
    assert findings.payload == 'a payload'


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
