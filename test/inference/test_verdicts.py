"""Verdicts on parameters from draws of their posterior."""

import numpy as np
import pytest

from sim2real_estimator.inference.verdicts import (
    information_gain,
    judge,
    unseen_directions,
    Verdict,
)

NAMES = ('a', 'b', 'c')


def draws(sds, generator=None):
    generator = generator or np.random.default_rng(0)
    return np.array(sds)[:, None] * generator.standard_normal((len(sds), 4000))


def verdicts(*args, **kwargs):
    return [j.verdict for j in judge(NAMES, *args, **kwargs)]


def test_the_share_of_the_prior_that_is_left_decides():
    found = judge(NAMES, np.zeros(3), np.full(3, 2.0), draws([0.1, 1.2, 1.98]))
    assert [j.verdict for j in found] == [
        Verdict.IDENTIFIED,
        Verdict.PRIOR_ASSISTED,
        Verdict.PRIOR_ONLY,
    ]
    assert found[1].share == pytest.approx(0.6, rel=0.05)


def test_no_data_at_all_is_prior_only():
    assert verdicts(np.zeros(3), np.ones(3), draws([1, 1, 1])) == [Verdict.PRIOR_ONLY] * 3


def test_parameters_that_only_vary_together_are_aliases_of_one_another():
    values = draws([1.0, 1.0, 0.01])
    values[1] = -values[0] + 0.05 * values[1]
    found = judge(NAMES, np.zeros(3), np.ones(3), values)
    assert [j.verdict for j in found] == [Verdict.ALIASED, Verdict.ALIASED, Verdict.IDENTIFIED]
    assert found[0].aliases == ('b',) and found[1].aliases == ('a',)


def test_a_mean_far_from_the_prior_is_said_so():
    values = draws([0.1, 0.1, 0.1]) + np.array([[0.0], [3.5], [2.5]])
    assert verdicts(np.zeros(3), np.ones(3), values)[1] is Verdict.OUT_OF_PRIOR
    assert verdicts(np.zeros(3), np.ones(3), values)[2] is Verdict.IDENTIFIED


def test_two_modes_apart_are_ambiguous_only_where_they_are_apart():
    modes = (
        np.array([0.4, 0.6]),
        np.array([[0.0, 1.0], [0.5, 0.5], [0.0, 0.0]]),
        np.full((3, 2), 0.01),
    )
    values = draws([0.3, 0.01, 0.01])
    found = verdicts(np.zeros(3), np.ones(3), values, modes)
    assert found == [Verdict.AMBIGUOUS, Verdict.IDENTIFIED, Verdict.IDENTIFIED]
    light = (np.array([0.999, 0.001]), *modes[1:])
    assert verdicts(np.zeros(3), np.ones(3), values, light)[0] is not Verdict.AMBIGUOUS


def test_what_cannot_be_seen_is_named():
    assert len(unseen_directions(NAMES, np.eye(3), np.array([[1.0, 1.0, 0.0]]))) == 2
    (text,) = unseen_directions(('m', 'c'), np.eye(2), np.array([[1.0, 1.0]]))
    assert text in ('m - c', '- m + c')


def test_information_is_counted_in_nats():
    assert information_gain(np.eye(2), np.eye(2)) == pytest.approx(0.0)
    narrowed = np.diag([np.exp(-2.0), 1.0])
    assert information_gain(np.eye(2), narrowed) == pytest.approx(1.0)
