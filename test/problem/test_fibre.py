"""Physical parameters drawn from what data can tell, under the prior."""

import numpy as np
import pytest
from robots import pendulum, PENDULUM_PRIORS, priors

from sim2real_estimator.problem.chart_choice import choose_chart
from sim2real_estimator.problem.fibre import physical_draws
from sim2real_estimator.sensors import JointPositions


@pytest.fixture(scope='module')
def setting():
    """Return the chart of a pendulum with torques, and its responses."""
    parameters = pendulum()
    sensors = (JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], 1e-3),)
    chart = choose_chart(parameters, sensors, priors(parameters, PENDULUM_PRIORS))
    return chart, chart.responses


def test_draws_respond_exactly_as_what_they_were_drawn_for(setting):
    chart, responses = setting
    known = 0.3 * np.random.default_rng(0).standard_normal((len(chart.labels), 1))
    draws = physical_draws(chart, np.repeat(known, 60, 1), np.random.default_rng(1))
    assert draws.shape[1] >= 54
    target = responses.values(chart.inner.prior.mean[:, None] + chart.basis @ known)
    np.testing.assert_allclose(
        responses.values(draws), np.repeat(target, draws.shape[1], 1), atol=2e-6
    )


def test_what_cannot_be_seen_keeps_the_spread_of_the_prior(setting):
    chart, responses = setting
    known = np.zeros((len(chart.labels), 200))
    draws = physical_draws(chart, known, np.random.default_rng(2))
    spread = dict(zip(chart.names, draws.std(1)))
    assert spread['end.origin.z'] == pytest.approx(0.2, rel=0.2)
    assert spread['upper.inertia.yy'] > 0.2
    assert spread['elbow.damping'] < 1e-6
    assert spread['elbow.origin.z'] < 1e-6


def test_masses_and_centres_trade_against_each_other(setting):
    chart, responses = setting
    known = np.zeros((len(chart.labels), 200))
    draws = physical_draws(chart, known, np.random.default_rng(3))
    mass, centre = (draws[chart.names.index(n)] for n in ('lower.mass', 'lower.com.z'))
    # The product of both is known, each alone is not.
    assert mass.std() > 0.05
    assert (mass + centre).std() < 1e-6
