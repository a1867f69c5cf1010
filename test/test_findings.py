"""What is said of a robot: in words, by names, and never what data have not told."""

from dataclasses import replace
from pathlib import Path
import re

import numpy as np
from posteriors import feed, pipeline_of, samples_of
from problems import p2, p2_identifiability, p3
from problems.common import roll, states_of
import pytest
import torch

from sim2real_estimator.estimation.disturbances import bank, Disturbances
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.observability.findings import Assessment, find, shares_cut, spread_at_zero
from sim2real_estimator.parameters.parametrization import DirectParametrization, Prior
from sim2real_estimator.records import Frame, Sample, UpdateReport
from sim2real_estimator.reported_events import Happened

SECOND = 10**9
TIP = {'to_tip.origin.z'}
UPPER = {'upper.mass', 'upper.com.z', 'upper.inertia.yy'}
LOWER = {'lower.mass', 'lower.com.z', 'lower.inertia.yy'}


def follow(problem, frames, **settings):
    """Return (problem, mixture, last stamp) after all frames."""
    estimator = ESTIMATORS['gaussian_sum'](**settings)
    state = estimator.init(problem)
    for frame in frames:
        state, _ = estimator.update(problem, state, frame)
    return problem, estimator.mixture(problem, state), frames[-1].end_ns


def names_in(direction):
    return {word for word in direction.split() if word not in '+-'}


@pytest.mark.parametrize('title', p2_identifiability.EXPERIMENTS)
def test_what_can_be_told_is_counted_and_the_rest_is_named(title):
    experiment = p2_identifiability.EXPERIMENTS[title]
    problem = p2_identifiability.make_problem(experiment)
    frames = p2_identifiability.draw(experiment, 0)
    found = find(*follow(problem, frames), exact=False)
    assert (found.observed, found.unobserved) == (experiment.observed, experiment.unobserved)
    named = [names_in(direction) for direction in found.null_directions]
    assert UPPER in named
    # What hangs below moves the joint of the upper link with it.
    assert LOWER | {'upper.com.z'} in named
    assert (TIP in named) is not experiment.has_markers
    if not experiment.has_torques:
        # Without a torque only ratios are told.
        (scale,) = (names for names in named if 'elbow.damping' in names)
        assert {'shoulder.damping', 'upper.mass', 'lower.mass'} <= scale
    assert found.information > 25


@pytest.fixture(scope='module')
def driven():
    experiment = p2_identifiability.EXPERIMENTS['torques, angles']
    problem = p2_identifiability.make_problem(experiment)
    return follow(problem, p2_identifiability.draw(experiment, 1))


def test_every_parameter_has_its_verdict_and_every_combination_its_value(driven):
    problem, mixture, _ = driven
    found = find(*driven, exact=False)
    by_name = {parameter.name: parameter for parameter in found.parameters}
    assert tuple(by_name) == problem.parametrization.names
    assert by_name['elbow.damping'].verdict == by_name['elbow.origin.z'].verdict == 'identified'
    assert by_name['to_tip.origin.z'].verdict == 'prior-only'
    assert by_name['upper.mass'].verdict_text == 'aliased with upper.com.z, upper.inertia.yy'
    for parameter in found.parameters:
        low, middle, high = parameter.quantiles
        assert low < middle < high and low < parameter.mean < high
        assert parameter.share <= 1.1
    labels = [combination.label for combination in found.combinations]
    assert labels == list(problem.labels)
    length = found.combinations[labels.index('log(-elbow.origin.z)')]
    assert length.mean == pytest.approx(np.log(-by_name['elbow.origin.z'].mean), abs=1e-3)
    assert length.sd < 0.01 * length.prior_sd
    assert [weight for weight, _ in found.modes] == [1.0]


@pytest.mark.parametrize('title', p2_identifiability.EXPERIMENTS)
def test_curves_and_their_tangents_agree(title):
    experiment = p2_identifiability.EXPERIMENTS[title]
    problem = p2_identifiability.make_problem(experiment)
    followed = follow(problem, p2_identifiability.draw(experiment, 1))
    exact, along = find(*followed), find(*followed, exact=False)
    assert exact.null_directions == along.null_directions
    for one, other in zip(exact.parameters, along.parameters):
        assert one.mean == pytest.approx(other.mean, abs=0.5 * other.sd)
        assert 1 / 1.5 < one.sd / other.sd < 1.5
        assert (one.verdict == 'identified') is (other.verdict == 'identified')
        if one.verdict == 'identified':
            assert one.sd == pytest.approx(other.sd, rel=0.2)


def test_the_same_posterior_and_stamp_give_the_same_findings(driven):
    problem, mixture, stamp = driven
    assert find(*driven, exact=False) == find(*driven, exact=False)
    assert find(problem, mixture, stamp + 1, False) != find(*driven, exact=False)


def test_a_robot_that_stands_still_has_told_nothing():
    problem = p2.make_problem()
    frames = p2.observed(np.random.default_rng(0), np.zeros((501, 4)), np.zeros((500, 2)))
    found = find(*follow(problem, frames, starts=2), exact=False)
    assert set(found.verdicts) == {'prior-only'}
    assert set(found.null_directions) == set(problem.parametrization.names)
    assert (found.observed, found.unobserved) == (0, 10)
    assert found.information == pytest.approx(0, abs=1e-9)
    numbers = [(p.mean, p.sd, p.share, *p.quantiles) for p in found.parameters]
    assert np.isfinite(numbers).all()


def test_a_robot_that_stood_still_tells_as_soon_as_it_moves():
    _, torques = p2.draw_motion(np.random.default_rng(3), 0.75)
    torques[:30] = 0
    values = {name: prior.mean for name, prior in p2.priors().items()}
    path = roll(
        p2.simulator(), np.zeros(4), p2.RATE, len(torques), values, torch.from_numpy(torques)
    )
    frames = p2.observed(np.random.default_rng(0), states_of(path), torques)
    found = find(*follow(p2.make_problem(), frames, starts=4), exact=False)
    assert found.observed >= 5
    assert (
        dict(zip(p2.make_problem().parametrization.names, found.verdicts))['elbow.damping']
        == 'identified'
    )


def test_several_answers_are_told_apart():
    # A bar that swings freely moves alike for two places of its centre of mass.
    _, frames = p3.draw(1, seconds=2, is_start_known=True)
    problem, mixture, stamp = follow(p3.make_problem(), frames, starts=16)
    found = find(problem, mixture, stamp, exact=False)
    assert dict(zip(problem.parametrization.names, found.verdicts))['bar.com.z'] == 'ambiguous'
    assert len(found.modes) == 2
    (first, one), (second, other) = found.modes
    assert first >= second > 0.01 and first + second == pytest.approx(1)
    place = problem.parametrization.names.index('bar.com.z')
    assert abs(one[place] - other[place]) > 0.05


def test_a_robot_counts_as_changed_for_five_seconds(driven):
    problem, mixture, _ = driven
    found = find(*driven, exact=False)
    report, assessment = UpdateReport('filter', 6.0, 3), Assessment(found, 10 * SECOND)

    def words(stamp_ns):
        return set(assessment.find(problem, mixture, stamp_ns, report, False).verdicts)

    assert words(14 * SECOND) == {'changed'}
    assert 'changed' not in words(15 * SECOND)
    # The clock was set back.
    assert 'changed' not in words(3 * SECOND)
    assert assessment.find(problem, mixture, 1, report, False).misfit == 2.0


def test_findings_are_renewed_where_the_clock_was_set_back(driven):
    problem, mixture, stamp = driven
    report, before = UpdateReport('filter', 6.0, 3), Assessment(find(*driven, exact=False))

    def found_at(end_ns):
        return before.after(problem, mixture, Frame(end_ns, end_ns, ()), report).latest.stamp_ns

    assert found_at(stamp + SECOND // 2) == stamp
    assert found_at(stamp - SECOND // 2) == stamp - SECOND // 2


def test_limits_are_those_of_the_coordinates():
    parametrization = DirectParametrization(
        {
            'a': Prior(-2.0, 0.3, True, (-4.0, -1.0)),
            'b': Prior(0.0, 1.0, False, (-2.0, 2.0)),
            'c': Prior(1.0, 0.3, True),
        }
    )
    first, second, third = parametrization.limits
    assert first == pytest.approx((0.0, np.log(4.0)))
    assert second == (-2.0, 2.0) and third is None


def test_verdicts_of_estimates_are_those_of_the_findings_and_renewed_by_data_time():
    pipeline = pipeline_of()
    stamps, changed = [], []
    for sample in samples_of():
        pipeline.push(sample)
        for estimate in pipeline.step():
            stamps.append(pipeline.latest_findings().stamp_ns)
            assert estimate.verdicts == pipeline.latest_findings().verdicts
            assert 0 <= estimate.stamp_ns - stamps[-1] < SECOND
            changed.append((estimate.report.events, set(estimate.verdicts)))
    assert len(set(stamps)) < len(stamps) / 5
    when = next(k for k, (events, _) in enumerate(changed) if Happened.CHANGED in events)
    assert all(words == {'changed'} for _, words in changed[when:])
    assert all('changed' not in words for _, words in changed[:when])


def test_missing_efforts_are_told_with_the_remedy():
    pipeline = pipeline_of()
    encoders = [sample for sample in samples_of()[:80] if sample.sensor == 'encoders']
    estimates = feed(pipeline, encoders)
    assert estimates[-1].report.events == (Happened.EFFORTS_UNKNOWN,)
    found = pipeline.latest_findings()
    assert found.unknown_efforts == ('shoulder', 'elbow')
    assert 'shoulder, elbow' in found.obstacle and 'efforts.measured' in found.obstacle
    again = [Sample(s.sensor, s.stamp_ns, s.values) for s in samples_of()[80:200]]
    feed(pipeline, again)
    assert pipeline.latest_findings().obstacle == ''


def test_the_example_of_the_page_on_estimation_is_what_is_said():
    pipeline = pipeline_of()
    feed(pipeline, samples_of(2.5, remounted_at=9))
    found = pipeline.findings(exact=False)
    page = Path(__file__).parents[1] / 'docs/estimation.md'
    (block,) = re.findall(r'```text\n(parameter.*?)```', page.read_text(), re.DOTALL)
    rows = [line.split(None, 5) for line in block.split('\n\n')[0].splitlines()[1:]]
    assert [(row[0], row[5]) for row in rows] == [
        (parameter.name, parameter.verdict_text) for parameter in found.parameters
    ]
    for row, parameter in zip(rows, found.parameters):
        assert float(row[1]) == pytest.approx(parameter.mean, rel=0.01)
        assert float(row[2]) == pytest.approx(parameter.sd, rel=0.1)
    shares = [each.share for each in found.parameters]
    assert [float(row[3]) / 100 for row in rows] == pytest.approx(shares, rel=0.1)
    told = f'{found.observed} dimensions known from data, {found.unobserved} as before'
    assert told in block
    named = re.findall('no data tell: (.*)', block)
    assert list(map(names_in, named)) == list(map(names_in, found.null_directions))


def test_a_run_that_was_stopped_says_the_same(tmp_path):
    samples, whole, first, second = samples_of(), pipeline_of(), pipeline_of(), pipeline_of()
    middle = next(k for k, s in enumerate(samples) if s.stamp_ns - samples[0].stamp_ns > 2.1e9)
    expected = feed(whole, samples)
    before = feed(first, samples[:middle], to_the_end=False)
    first.save(tmp_path / 'run.npz')
    second.load(tmp_path / 'run.npz')
    after = feed(second, samples[middle:])
    assert 'changed' in before[-1].verdicts
    words = [estimate.verdicts for estimate in expected]
    assert [estimate.verdicts for estimate in [*before, *after]] == words
    assert second.latest_findings() == whole.latest_findings()


@pytest.mark.parametrize(
    ('sizes', 'weights', 'is_aliased'),
    [
        ((0.0,), (1.0,), False),
        ((0.02,), (1.0,), True),
        # As a filter begins, and when evidence has decided.
        ((0.0, 0.02, 0.1), (1 / 3, 1 / 3, 1 / 3), False),
        ((0.0, 0.02, 0.1), (0.1, 0.8, 0.1), True),
    ],
)
def test_losses_are_aliased_with_efforts_that_evidence_is_for(driven, sizes, weights, is_aliased):
    problem, mixture, stamp = driven
    mixture = mixture.pick([mixture.heaviest()] * len(sizes))
    mixture = replace(
        mixture, disturbances=Disturbances.of(bank(sizes)), log_weights=np.log(weights)
    )
    for each in find(problem, mixture, stamp, exact=False).parameters:
        is_dissipation = each.name.endswith('.damping')
        named = 'efforts of unknown origin' in each.aliases
        assert named is (is_dissipation and is_aliased), each.name
        if named:
            assert each.verdict == 'aliased'


@pytest.mark.parametrize('exact', [True, False])
def test_no_loss_is_said_to_be_below_zero(exact):
    problem = p2.make_problem(None, {'elbow.friction': Prior(0.05, 0.7, True)})
    estimator = ESTIMATORS['gaussian_sum']()
    known = estimator.mixture(problem, estimator.init(problem))
    assert problem.parametrization.prior.root[problem.labels.index('elbow.friction')].any()
    found = {each.name: each for each in find(problem, known, 0, exact=exact).parameters}
    low, middle, high = found['elbow.friction'].quantiles
    assert low == 0.0 < middle < high
    assert found['elbow.friction'].mean > 0.05


def test_what_piles_up_at_zero_is_as_uncertain_as_data_leave_it():
    """Draws of a parameter that data put below zero are all moved to where robots can be built."""
    generator = np.random.default_rng(0)
    piled, sound = 1e-5 + 1e-6 * generator.random(400), generator.normal(1.0, 0.1, 400)
    modes = np.ones(1), np.array([[-0.07], [1.0]]), np.array([[0.02], [0.1]])
    found = spread_at_zero(np.array([piled, sound]), modes)
    assert found[0].min() > 0
    assert found[0].std() == pytest.approx(0.02 * np.sqrt(1 - 2 / np.pi), rel=0.02)
    assert np.quantile(found[0], 0.95) == pytest.approx(0.0392, rel=0.02)
    assert (found[1] == sound).all()


@pytest.mark.parametrize('exact', [True, False])
def test_what_no_robot_has_is_never_identified(exact):
    """However sure data are: draws that can be built pile up at the limit and look certain."""
    problem = p2.make_problem(None, {'elbow.friction': Prior(0.05, 0.7, True)})
    estimator = ESTIMATORS['gaussian_sum']()
    known = estimator.mixture(problem, estimator.init(problem))
    place = problem.labels.index('elbow.friction')
    means, roots = known.means.copy(), known.roots.copy()
    row = place - len(means)  # those of the state come first
    roots[:, row] *= 0.05
    sd = np.linalg.norm(roots[0, row])
    before = problem.parametrization.inner.prior.mean[
        problem.parametrization.inner.names.index('elbow.friction')
    ]
    for deviations, is_possible in ((-2.0, True), (-8.0, False)):
        means[place] = deviations * sd - before
        mixture = replace(known, means=means.copy(), roots=roots)
        found = {each.name: each for each in find(problem, mixture, 0, exact=exact).parameters}
        friction = found['elbow.friction']
        assert (friction.asked == ()) is is_possible
        if not is_possible:
            assert friction.verdict == 'out of prior'
            assert friction.asked == ('', pytest.approx(-8 * sd), pytest.approx(sd))
            assert 'which no joint has' in friction.verdict_text
        others = [each.asked for name, each in found.items() if name != 'elbow.friction']
        assert not any(others)


def test_what_is_cut_off_at_zero_is_no_surer_than_before():
    generator = np.random.default_rng(0)
    cut, sound = np.abs(generator.normal(0.0, 0.1, 400)), generator.normal(1.0, 0.1, 400)
    modes = np.ones(1), np.array([[0.0], [1.0]]), np.array([[0.1], [0.1]])
    draws = np.array([cut, sound])
    found = draws.std(1) * shares_cut(draws, modes)
    assert found == pytest.approx([0.1, sound.std()])
    assert (shares_cut(draws, None) == 1.0).all()
