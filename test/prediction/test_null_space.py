"""Physical parameters drawn from what data can tell, under the prior."""

import numpy as np
import pytest
from robots import ball_arm, pendulum, PENDULUM_PRIORS, priors, seen

from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.state_coordinates import StateCoordinates
from sim2real_estimator.observability.null_space import physical_draws, tangents_of
from sim2real_estimator.parameters.parametrization import DirectParametrization
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.parameters.responses import CompiledResponses, Responses
from sim2real_estimator.sensors import JointPositions


@pytest.fixture(scope='module')
def setting():
    """Return the parametrization of a pendulum with torques, and its responses."""
    parameters = pendulum()
    sensors = (JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3),)
    parametrization = choose_parametrization(
        parameters, sensors, priors(parameters, PENDULUM_PRIORS)
    )
    return parametrization, parametrization.responses


def test_draws_respond_exactly_as_what_they_were_drawn_for(setting):
    parametrization, responses = setting
    known = 0.3 * np.random.default_rng(0).standard_normal((len(parametrization.labels), 1))
    draws = physical_draws(parametrization, np.repeat(known, 60, 1), np.random.default_rng(1))
    assert draws.shape[1] >= 54
    target = responses.values(
        parametrization.inner.prior.mean[:, None] + parametrization.basis @ known
    )
    np.testing.assert_allclose(
        responses.values(draws), np.repeat(target, draws.shape[1], 1), atol=2e-6
    )


def test_what_cannot_be_seen_keeps_the_spread_of_the_prior(setting):
    parametrization, responses = setting
    known = np.zeros((len(parametrization.labels), 200))
    draws = physical_draws(parametrization, known, np.random.default_rng(2))
    spread = dict(zip(parametrization.names, draws.std(1)))
    assert spread['end.origin.z'] == pytest.approx(0.2, rel=0.2)
    assert spread['upper.inertia.yy'] > 0.2
    assert spread['elbow.damping'] < 1e-6
    assert spread['elbow.origin.z'] < 1e-6


def test_masses_and_centres_trade_against_each_other(setting):
    parametrization, responses = setting
    known = np.zeros((len(parametrization.labels), 200))
    draws = physical_draws(parametrization, known, np.random.default_rng(3))
    mass, centre = (draws[parametrization.names.index(n)] for n in ('lower.mass', 'lower.com.z'))
    # The product of both is known, each alone is not.
    assert mass.std() > 0.05
    assert (mass + centre).std() < 1e-6


def known_exactly(means):
    """Return a `Mixture` of equal weights and next to no width at means [p, K]."""
    size, count = means.shape
    roots = np.tile(1e-6 * np.eye(size), (count, 1, 1))
    return Mixture(np.full(count, -np.log(count)), np.zeros((0, count)), means, roots)


def test_tangents_touch_the_curves_where_the_prior_likes_them_best(setting):
    parametrization, responses = setting
    known = 0.3 * np.random.default_rng(0).standard_normal((len(parametrization.labels), 2))
    tangents = tangents_of(parametrization, known_exactly(known))
    points, prior = tangents.follow(known), parametrization.inner.prior
    np.testing.assert_allclose(
        responses.values(points), responses.values(parametrization.embed(known)), atol=2e-6
    )
    # Where nothing better lies nearby on the curve, the way to the prior's mean is across it.
    across, along = (
        np.abs(np.einsum('kpq,qk->kp', tangents.blind, np.linalg.solve(prior.covariance, x)))
        for x in (points - prior.mean[:, None], parametrization.embed(known) - prior.mean[:, None])
    )
    assert across.max() < 1e-4 < 0.01 < along.max()


def test_tangents_leave_unseen_what_does_not_respond_and_follow_what_does(setting):
    parametrization, responses = setting
    known = 0.3 * np.random.default_rng(0).standard_normal((len(parametrization.labels), 1))
    tangents, step = tangents_of(parametrization, known_exactly(known)), 1e-4
    _, slopes = responses.slopes(tangents.points)
    assert np.abs(slopes[0] @ tangents.blind[0]).max() < 1e-9
    assert np.linalg.matrix_rank(tangents.blind[0], 1e-9) == len(parametrization.names) - len(
        parametrization.labels
    )
    for k in range(len(known)):
        moved = known + step * np.eye(len(known))[:, k : k + 1]
        change = responses.values(parametrization.embed(moved)) - responses.values(
            tangents.follow(moved)
        )
        assert np.abs(change).max() < 20 * step**2 + 2e-6


def test_tangents_stay_until_the_answer_has_moved(setting):
    parametrization, _ = setting
    known = np.zeros((len(parametrization.labels), 1))
    first = tangents_of(parametrization, known_exactly(known))
    assert tangents_of(parametrization, known_exactly(known + 1e-4), first) is first
    second = tangents_of(parametrization, known_exactly(known + 0.1), first)
    again = tangents_of(parametrization, known_exactly(known + 0.1))
    np.testing.assert_allclose(second.points, again.points, atol=1e-3)


def test_draws_are_the_points_of_the_curve_that_are_nearest_to_those_of_the_prior():
    parameters = pendulum()
    sensors = (JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3),)
    names = ('lower.mass', 'lower.com.z', 'lower.inertia.yy', 'upper.com.z', 'upper.inertia.yy')
    sd = np.array([0.2, 0.3, 0.4, 0.3, 0.4])
    parametrization = choose_parametrization(
        parameters, sensors, priors(parameters, dict(zip(names, sd)))
    )
    assert len(parametrization.labels) == 4
    draws = physical_draws(parametrization, np.zeros((4, 300)), np.random.default_rng(6))
    assert draws.shape[1] == 300
    # Torques tell m c, I + m c c, and of the upper link what the lower one's mass adds to.
    mass = np.linspace(0.61, 1.06, 100_001)
    centre = 0.8 * 0.2 / mass
    upper_centre = 0.25 + 0.5 * (0.8 - mass)
    curve = np.log(
        [
            mass / 0.8,
            centre / 0.2,
            (0.011 + 0.8 * 0.2**2 - mass * centre**2) / 0.011,
            upper_centre / 0.25,
            (0.02 + 0.25**2 + 0.5**2 * (0.8 - mass) - upper_centre**2) / 0.02,
        ]
    )
    found = draws - parametrization.inner.prior.mean[:, None]
    order = [parametrization.names.index(name) for name in names]
    wanted = (
        parametrization.inner.prior.root @ np.random.default_rng(6).standard_normal((5, 300))
    )[order]
    nearest = [
        ((curve - each[:, None]) ** 2 / sd[:, None] ** 2).sum(0).argmin() for each in wanted.T
    ]
    far = np.abs(found[order] - curve[:, nearest]).max(0)
    assert (far < 1e-3).mean() > 0.98


def test_a_program_gives_the_same_responses(setting):
    for parameters, sensors, wide in (
        (pendulum(), (), PENDULUM_PRIORS),
        (*seen(ball_arm()), {'hand.mass': 0.3, 'wrist.origin.z': 0.2, 'rod.mass': 0.3}),
    ):
        parametrization = DirectParametrization(priors(parameters, wide))
        driven = [True] * len(parameters.model.commands)
        eager = Responses(
            parameters, sensors, parametrization, StateCoordinates(parameters.model), driven
        )
        compiled = CompiledResponses(eager, is_observed=True)
        points = parametrization.prior.mean[:, None] + 0.1 * np.random.default_rng(
            1
        ).standard_normal((len(wide), 3))
        values, slopes = eager.slopes(points)
        np.testing.assert_allclose(compiled.values(points), values, atol=1e-9)
        for count in (5, 40):
            few, their_slopes = compiled.slopes(points, count)
            first = (np.arange(len(values)) % 40) < count
            np.testing.assert_allclose(few, values[first], atol=1e-9)
            np.testing.assert_allclose(their_slopes, slopes[:, first], atol=1e-7)


def test_masses_and_moments_of_draws_are_those_of_bodies(setting):
    parametrization, _ = setting
    known = 0.5 * np.random.default_rng(8).standard_normal((len(parametrization.labels), 1))
    draws = physical_draws(parametrization, np.repeat(known, 100, 1), np.random.default_rng(9))
    values = dict(zip(parametrization.names, parametrization.inner.to_named(draws)))
    for name in ('upper.mass', 'lower.mass', 'upper.inertia.yy', 'lower.inertia.yy'):
        assert (values[name] > 0).all()
