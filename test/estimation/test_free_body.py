"""A thrown body that only motion capture sees, from its URDF and a config to verdicts."""

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
from problems import free_body
import pytest
from scipy.stats import chi2

sys.path.append(str(Path(__file__).resolve().parents[2] / 'benchmark'))

from estimation.free_body import quantities, run  # noqa: E402
from estimation.metrics import judge  # noqa: E402

from sim2real_estimator.pipeline import Pipeline  # noqa: E402
from sim2real_estimator.reported_events import Happened

SEEDS = (1, 4, 7)
CHANCE = 0.001


pytestmark = pytest.mark.usefixtures('one_thread')


@pytest.fixture(scope='module')
def flights():
    """Return [(pipeline, true values, samples, estimates)] of a few throws."""
    found = []
    for seed in SEEDS:
        pipeline = Pipeline.from_config(free_body.config())
        values, samples = free_body.draw(seed, pipeline.problem.parametrization.priors)
        found.append((pipeline, values, samples, run(pipeline, samples)))
    return found


@pytest.fixture(scope='module')
def findings(flights):
    """Return [(along tangents, exact)] of the flights: `Findings`."""
    return [(flight[0].findings(exact=False), flight[0].findings()) for flight in flights]


def mixture_of(pipeline):
    return pipeline.estimator.mixture(pipeline.problem, pipeline.state)


def test_what_a_flight_can_tell_is_found_and_named(flights):
    problem = flights[0][0].problem
    centre = {f'brick.com.{axis}' for axis in 'xyz'}
    products = {f'brick.inertia.{pair}' for pair in ('xy', 'xz', 'yz')}
    ratios = {f'log(brick.inertia.{a}) - log(brick.inertia.zz)' for a in ('xx', 'yy')}
    assert set(problem.labels) == centre | products | ratios


def test_the_filter_takes_over_although_nobody_knows_the_mass(flights):
    for _, _, _, estimates in flights:
        events = [event for estimate in estimates for event in estimate.report.events]
        assert Happened.HANDED_OVER in events and Happened.CHANGED not in events
        assert estimates[-1].report.stage == 'filter'


@pytest.mark.parametrize('told', [free_body.centre, free_body.ratios])
def test_intervals_hold_the_true_body(flights, told):
    for pipeline, values, _, _ in flights:
        of_body = quantities(pipeline.problem.parametrization, values, told)
        said, count = judge(mixture_of(pipeline), of_body), len(of_body.truth)
        assert chi2.ppf(CHANCE, count) < count * said['nees'] < chi2.ppf(1 - CHANCE, count)
        assert (np.array(said['sd']) < 0.01).all()


def test_the_mass_stays_as_unknown_as_it_was(flights):
    for pipeline, _, _, estimates in flights:
        last, priors = estimates[-1], pipeline.problem.parametrization.priors
        assert np.isfinite(last.mean).all() and np.isfinite(last.sd).all()
        found = dict(zip(last.names, zip(last.mean, last.sd, last.verdicts)))
        mean, sd, verdict = found['brick.mass']
        assert verdict == 'prior-only'
        assert sd == pytest.approx(mean * priors['brick.mass'].sd, rel=0.1)
        assert all(found[f'brick.com.{axis}'][2] == 'identified' for axis in 'xyz')


def test_every_parameter_is_as_well_known_as_is_said(flights, findings):
    for (_, values, _, estimates), (along, exact) in zip(flights, findings):
        last = estimates[-1]
        for k, name in enumerate(last.names):
            parts = along.parameters[k], exact.parameters[k]
            for mean, sd in ((last.mean[k], last.sd[k]), *((p.mean, p.sd) for p in parts)):
                assert abs(mean - values[name]) < 4 * sd
                assert 1 / 1.5 < sd / exact.parameters[k].sd < 1.5


def test_every_combination_is_as_well_known_as_is_said(flights, findings):
    for (_, values, _, _), (along, _) in zip(flights, findings):
        logs = {f'log({name})': np.log(abs(value)) for name, value in values.items()}
        for found in along.combinations:
            first, *others = (({**values, **logs})[term] for term in found.label.split(' - '))
            assert abs(found.mean - (first - sum(others))) < 4 * found.sd


def test_products_of_inertia_are_known_as_well_as_the_size_of_the_body(flights, findings):
    moments = {f'brick.inertia.{axis}' for axis in ('xx', 'yy', 'zz')}
    for (_, _, _, estimates), both in zip(flights, findings):
        last = estimates[-1]
        mean, sd = dict(zip(last.names, last.mean)), dict(zip(last.names, last.sd))
        size = sd['brick.inertia.xx'] / mean['brick.inertia.xx']
        for pair in ('xy', 'xz', 'yz'):
            name = f'brick.inertia.{pair}'
            assert sd[name] == pytest.approx(size * abs(mean[name]), rel=0.15)
            for found in both:
                (parameter,) = (p for p in found.parameters if p.name == name)
                assert parameter.verdict == 'aliased' and moments <= set(parameter.aliases)
        for found in both:
            assert found.parameters[last.names.index('brick.mass')].verdict == 'prior-only'


def test_the_sign_of_a_quaternion_says_nothing(flights):
    before, _, samples, _ = flights[0]
    flipped = [
        replace(sample, values=sample.values * np.array([1.0] * 3 + [-1.0] * 4))
        for sample in samples
    ]
    signs = {np.sign(sample.values[3]) for sample in samples}
    pipeline = Pipeline.from_config(free_body.config())
    run(pipeline, flipped)
    assert signs == {-1.0, 1.0}
    assert np.array_equal(mixture_of(pipeline).means, mixture_of(before).means)
