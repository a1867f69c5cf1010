"""Verdicts on parameters from draws of their posterior."""

import numpy as np
import pytest

from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.observability.verdicts import (
    direction_text,
    information_gain,
    modes_of,
    null_directions,
    PriorMoments,
    spectrum,
    Verdict,
    verdicts_of,
)

NAMES = ('a', 'b', 'c')


def priors(sd=1.0, limits=(None, None, None)):
    return PriorMoments(NAMES, np.zeros(3), np.full(3, sd), limits)


def draws(sds, generator=None):
    generator = generator or np.random.default_rng(0)
    return np.array(sds)[:, None] * generator.standard_normal((len(sds), 4000))


def verdicts(*args, **kwargs):
    return [j.verdict for j in verdicts_of(*args, **kwargs)]


def mixture(weights, means, roots):
    """Return a `Mixture` of parameters alone; means [p, K], roots [K, p, p]."""
    means = np.array(means, dtype=float)
    points = np.zeros((0, means.shape[1]))
    return Mixture(np.log(weights), points, means, np.array(roots, dtype=float))


def test_the_share_of_the_prior_that_is_left_decides():
    found = verdicts_of(priors(2.0), draws([0.1, 1.2, 1.98]))
    assert [j.verdict for j in found] == [
        Verdict.IDENTIFIED,
        Verdict.PRIOR_ASSISTED,
        Verdict.PRIOR_ONLY,
    ]
    assert found[1].share == pytest.approx(0.6, rel=0.05)


def test_no_data_at_all_is_prior_only():
    assert verdicts(priors(), draws([1, 1, 1])) == [Verdict.PRIOR_ONLY] * 3


def test_parameters_that_only_vary_together_are_aliases_of_one_another():
    # The sum of two parameters is known well.
    values = draws([0.7, 0.7, 0.01])
    values[1] = -values[0] + 0.05 * values[1]
    found = verdicts_of(priors(), values)
    assert [j.verdict for j in found] == [Verdict.ALIASED, Verdict.ALIASED, Verdict.IDENTIFIED]
    assert found[0].aliases == ('b',) and found[1].aliases == ('a',)


def test_what_no_data_can_tell_is_never_identified_however_little_it_is():
    # A product of inertia that is known as well as the size of the body: b = 0.1 a.
    values = draws([0.5, 0.001, 0.1])
    values[1] += 0.1 * values[0]
    blind = np.array([0.5, 0.05, 0.05])
    first, second, third = verdicts_of(priors(), values, blind=blind)
    assert second.verdict is Verdict.ALIASED and second.aliases == ('a',)
    assert first.verdict is Verdict.ALIASED and first.aliases == ('b',)
    # Of which the most may still be told.
    assert third.verdict is Verdict.IDENTIFIED
    # It belongs to no other, and data leave it open.
    assert verdicts(priors(), draws([0.5, 0.2, 0.1]), blind=0.2 * np.ones(3))[1:] == [
        Verdict.PRIOR_ASSISTED,
        Verdict.PRIOR_ASSISTED,
    ]


def test_a_mean_far_from_the_prior_is_said_so():
    values = draws([0.1, 0.1, 0.1]) + np.array([[0.0], [3.5], [2.5]])
    assert verdicts(priors(), values)[1] is Verdict.OUT_OF_PRIOR
    assert verdicts(priors(), values)[2] is Verdict.IDENTIFIED


def test_of_what_no_robot_has_nothing_is_identified():
    values = draws([0.1, 0.1, 1.0])
    assert verdicts(priors(), values, impossible={1: None, 2: None}) == [
        Verdict.IDENTIFIED,
        Verdict.OUT_OF_PRIOR,
        Verdict.OUT_OF_PRIOR,
    ]


def test_two_modes_apart_are_ambiguous_only_where_they_are_apart():
    modes = (
        np.array([0.4, 0.6]),
        np.array([[0.0, 1.0], [0.5, 0.5], [0.0, 0.0]]),
        np.full((3, 2), 0.01),
    )
    values = draws([0.3, 0.01, 0.01])
    found = verdicts(priors(), values, modes)
    assert found == [Verdict.AMBIGUOUS, Verdict.IDENTIFIED, Verdict.IDENTIFIED]
    light = (np.array([0.999, 0.001]), *modes[1:])
    assert verdicts(priors(), values, light)[0] is not Verdict.AMBIGUOUS


def test_at_a_limit_that_somebody_has_set_a_parameter_is_out_of_the_prior():
    limits = (None, (-2.0, 2.0), (-2.0, 2.0))
    values = draws([0.1, 0.1, 0.1]) + np.array([[1.9], [1.9], [1.7]])
    assert verdicts(priors(limits=limits), values) == [
        Verdict.IDENTIFIED,
        Verdict.OUT_OF_PRIOR,
        Verdict.IDENTIFIED,
    ]
    beyond = draws([0.1, 0.1, 0.1]) - 2.5
    assert verdicts(priors(limits=limits), beyond)[1] is Verdict.OUT_OF_PRIOR


def test_limits_alone_do_not_push_out_what_no_data_told():
    limits = ((-1.96, 1.96),) * 3
    assert verdicts(priors(limits=limits), draws([1, 1, 1])) == [Verdict.PRIOR_ONLY] * 3


def test_parameters_of_one_null_direction_are_aliases_though_curved():
    values = draws([0.8, 0.8, 0.8])
    values[1] = values[0] ** 2 / np.sqrt(2)  # no correlation shows that
    found = verdicts_of(priors(), values, directions=[np.array([1.0, -0.6, 0.01])])
    assert [j.aliases for j in found] == [('b',), ('a',), ()]


def test_what_no_data_tell_is_named():
    root = np.diag([1.0, 1.0, 0.1])
    known = np.diag([1.0, 1.0, 1e-8])
    found = null_directions(spectrum(root, known), 0.1)
    assert sorted(direction_text(NAMES, row) for row in found) == ['a', 'b']
    # Only the sum of the first two has been seen.
    seen = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
    (row,) = null_directions(spectrum(root, known - 0.99 * np.outer(seen, seen)), 0.1)
    assert direction_text(NAMES, row) in ('a - b', 'b - a')


def test_nothing_is_unseen_where_all_is_known():
    found = spectrum(np.eye(2), 1e-6 * np.eye(2))
    assert null_directions(found, 0.1).shape == (0, 2)
    np.testing.assert_allclose(found.information, 1e6, rtol=1e-5)


def test_information_is_counted_in_nats():
    one = mixture([1.0], [[0.0], [0.0]], [np.eye(2)])
    assert information_gain(np.eye(2), one) == pytest.approx(0.0)
    marginal = mixture([1.0], [[0.0], [0.0]], [np.diag([np.exp(-2.0), 1.0])])
    assert information_gain(np.eye(2), marginal) == pytest.approx(2.0)


def test_two_narrow_answers_tell_all_but_which_of_them():
    root = np.diag([np.exp(-2.0), 1.0])
    two = mixture([0.5, 0.5], [[-1.0, 1.0], [0.0, 0.0]], [root, root])
    assert information_gain(np.eye(2), two) == pytest.approx(2.0 - np.log(2))
    same = mixture([0.5, 0.5], [[0.0, 0.0], [0.0, 0.0]], [root, root])
    assert information_gain(np.eye(2), same) == pytest.approx(2.0)


def test_components_of_one_answer_count_as_one():
    found = modes_of(mixture([0.3, 0.495, 0.2, 0.005], [[1.0, -1.0, 1.01, 9.0]], [[[0.01]]] * 4))
    assert [weight for weight, _ in found] == pytest.approx([0.5 / 0.995, 0.495 / 0.995])
    assert found[0][1] == pytest.approx([1.004])
