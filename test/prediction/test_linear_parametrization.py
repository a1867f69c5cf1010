"""An arm in coordinates in which its torques are linear."""

import numpy as np
from problems import p2, seven_joints
import pytest

from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.body_numbers import are_possible
from sim2real_estimator.observability.findings import find
from sim2real_estimator.observability.null_space import (
    draw_samples,
    likeliest,
    physical_draws,
    tangents_of,
)
from sim2real_estimator.observability.verdicts import Verdict
from sim2real_estimator.parameters.body_priors import BodyPrior
from sim2real_estimator.parameters.linear_parametrization import LinearParametrization
from sim2real_estimator.parameters.parametrization import mass_matrices, Prior
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization
from sim2real_estimator.setup.build import build_parts

pytestmark = pytest.mark.usefixtures('one_thread')

RANK_TOLERANCE = 1e-5


@pytest.fixture(scope='module')
def problem():
    """Return the `RobotProblem` of the arm; nothing is simulated."""
    return build_parts(seven_joints.config(simulation__backend='eager'))[0]


@pytest.fixture(scope='module')
def parametrization(problem):
    return problem.parametrization


def known(parametrization, generator, away=0.5):
    """Return coordinates [p, 1] that may be estimated."""
    return (
        away
        * parametrization.prior.root
        @ generator.standard_normal((len(parametrization.labels), 1))
    )


def told(parametrization, mean, left):
    """Return a `Mixture` about a mean [p, 1] that leaves a part of the prior's deviations."""
    return Mixture(np.zeros(1), np.zeros((0, 1)), mean, left * parametrization.prior.root[None])


def test_data_tell_what_torques_tell(problem, parametrization):
    columns = seven_joints.torque_columns(problem) * parametrization.inner.deviations
    _, sizes, directions = np.linalg.svd(columns)
    rank = int((sizes > RANK_TOLERANCE * sizes[0]).sum())
    assert (len(parametrization.names), len(parametrization.labels)) == (91, rank) == (91, 62)
    unseen = parametrization.inner.deviations[:, None] * directions[rank:].T
    shares = np.abs(parametrization.combinations @ unseen)
    assert shares.max() < 1e-4 * np.sqrt(np.diag(parametrization.prior.covariance)).max()


def test_its_combinations_are_called_by_what_they_are(parametrization):
    labels = ' '.join(parametrization.labels)
    for label in ('hand.mass*com.x', 'hand.frame_inertia.xy', 'wrist_roll.friction'):
        assert label in labels
    assert 'log(' not in labels


def test_slopes_are_those_of_the_values(parametrization):
    inner = parametrization.inner
    at = inner.prior.mean[:, None] + inner.offsets(2, np.random.default_rng(0))
    slopes, step = inner.slope(at), 1e-6
    for k in range(len(inner.names)):
        move = step * np.eye(len(inner.names))[:, k : k + 1]
        change = (inner.to_named(at + move) - inner.to_named(at - move)) / (2 * step)
        np.testing.assert_allclose(slopes[:, :, k], change.T, atol=1e-6)


def test_values_and_slopes_of_what_is_estimated_are_those_of_all_parameters(parametrization):
    at = np.concatenate(
        [known(parametrization, np.random.default_rng(seed)) for seed in (5, 6)], 1
    )
    values, slopes = parametrization.expanded(at)
    np.testing.assert_array_equal(values, parametrization.to_named(at))
    np.testing.assert_allclose(
        slopes,
        parametrization.inner.slope(parametrization.embed(at)) @ parametrization.basis,
        rtol=1e-12,
        atol=1e-14,
    )


def test_the_prior_has_the_moments_of_bodies_that_can_be_built(parametrization):
    inner = parametrization.inner
    draws = inner.prior.mean[:, None] + inner.offsets(4000, np.random.default_rng(1))
    white = inner.whitened(draws)
    np.testing.assert_allclose(white.mean(0), 0.0, atol=0.1)
    np.testing.assert_allclose(np.cov(white.T), np.eye(len(draws)), atol=0.25)
    for rows in inner.rows:
        assert are_possible(draws[rows].T).all()
    np.testing.assert_allclose(inner.unwhitened(white), draws)


def test_draws_move_exactly_alike_and_vary_as_the_prior_in_what_is_unseen(parametrization):
    generator = np.random.default_rng(2)
    at = known(parametrization, generator)
    draws = physical_draws(parametrization, np.repeat(at, 60, 1), generator)
    responses = parametrization.responses.values(
        np.concatenate([draws, parametrization.embed(at)], 1)
    )
    np.testing.assert_allclose(responses, np.repeat(responses[:, -1:], len(draws.T) + 1, 1))
    spread = dict(
        zip(parametrization.inner.labels, draws.std(1) / parametrization.inner.deviations)
    )
    # The first joint turns about the vertical.
    assert spread['column.mass'] > 0.8 and spread['column.mass*com.z'] > 0.8
    assert spread['hand.mass*com.x'] < 1e-9
    assert (np.linalg.norm(draws - draws[:, :1], axis=0)[1:] > 0).all()


def test_the_likeliest_of_all_that_move_alike_is_what_is_simulated(parametrization):
    at = known(parametrization, np.random.default_rng(4))
    points, is_converged = likeliest(parametrization, at)
    assert is_converged.all()
    offset = points[:, 0] - parametrization.inner.prior.mean
    blind = tangents_of(parametrization, told(parametrization, at, 0.01)).blind[0]
    across = blind @ np.linalg.solve(parametrization.inner.prior.covariance, offset)
    np.testing.assert_allclose(across, 0.0, atol=1e-9)
    masses = parametrization.to_named(at)[parametrization.inner.rows[:, 0], 0]
    assert (
        masses > 0.5 * parametrization.inner.prior.mean[parametrization.inner.rows[:, 0]]
    ).all()


@pytest.mark.parametrize('exact', (False, True))
def test_nothing_that_torques_leave_open_is_called_identified(problem, parametrization, exact):
    at = known(parametrization, np.random.default_rng(5), 0.3)
    found = find(problem, told(parametrization, at, 1e-4), 10**9, exact)
    assert (found.observed, found.unobserved) == (62, 29)
    assert len(found.null_directions) == 29
    verdicts = {each.name: each.verdict for each in found.parameters}
    for name in ('column.mass', 'column.com.z', 'hand.mass', 'hand.com.z', 'hand.inertia.xx'):
        assert verdicts[name] != Verdict.IDENTIFIED.value
    for name in ('wrist_roll.damping', 'base_yaw.friction', 'elbow_pitch.armature'):
        assert verdicts[name] == Verdict.IDENTIFIED.value
    blind = tangents_of(parametrization, told(parametrization, at, 1e-4)).blind[0]
    slope = parametrization.inner.slope(parametrization.embed(at))[0]
    open_ = (
        np.sqrt(np.diag(slope @ blind @ slope.T)) > 0.3 * parametrization.inner.apart.deviations
    )
    names = np.array(parametrization.names)[open_]
    assert len(names) > 40
    assert not {verdicts[name] for name in names} & {Verdict.IDENTIFIED.value}


def test_draws_have_masses(problem, parametrization):
    at = known(parametrization, np.random.default_rng(6), 1.5)
    values = draw_samples(problem, told(parametrization, at, 0.3), 300, 0)
    assert values.shape == (91, 300)
    assert (values[parametrization.inner.rows[:, 0]] > 0).all() and np.isfinite(values).all()
    assert np.array_equal(values, draw_samples(problem, told(parametrization, at, 0.3), 300, 0))


def test_what_has_no_mass_left_stays_finite(parametrization):
    at = parametrization.inner.prior.mean[:, None].repeat(2, 1)
    at[parametrization.inner.rows[0, 0], 0] = -1.0
    assert np.isfinite(parametrization.inner.to_named(at)).all()
    assert np.isfinite(parametrization.inner.slope(at)).all()
    assert parametrization.inner.are_sound(at).tolist() == [False, True]


@pytest.mark.parametrize(('part', 'tolerance'), [(-2.0, 1e-11), (-1e-3, 1e-9), (0.0, 1e-3)])
def test_bodies_without_mass_or_less_move_as_those_that_respond_alike(
    problem, parametrization, part, tolerance
):
    likely = parametrization.embed(known(parametrization, np.random.default_rng(9)))
    row = parametrization.inner.rows[-1, 0]
    # Along what cannot be told, to where the mass of the last link is a part of what it was.
    unseen = np.eye(len(likely)) - parametrization.basis @ parametrization.combinations
    away = unseen[:, np.argmax(np.abs(unseen[row]))][:, None]
    other = likely + away * (part - 1) * likely[row] / away[row]
    assert other[row, 0] == pytest.approx(part * likely[row, 0], abs=1e-9)
    values = parametrization.inner.to_named(np.concatenate([likely, other], 1))
    poses = np.random.default_rng(4).standard_normal((7, 1)).repeat(2, 1)
    one, two = mass_matrices(seven_joints.system(problem), values, poses)
    np.testing.assert_allclose(two, one, atol=tolerance * np.abs(one).max())


def test_delays_stay_beside_it(problem):
    late = {'commands.delay': Prior(0.0, 0.005, False)}
    parametrization = choose_parametrization(
        problem.parameters, problem.sensors, {**problem.parametrization.priors, **late}
    )
    assert (
        parametrization.labels == (*problem.parametrization.labels, 'commands.delay')
        and parametrization.is_straight
    )
    draws = physical_draws(parametrization, np.zeros((63, 5)), np.random.default_rng(7))
    assert draws[:91].std(1).max() > 0 and not draws[91].any()


def test_lengths_bend_it(problem):
    """Where a joint sits is estimated too: what masses and it have in common is no line."""
    far = {'elbow_pitch.origin.y': Prior(-0.2, 0.01, False), 'hand.mass': Prior(0.9, 0.25, True)}
    parametrization = choose_parametrization(
        problem.parameters, problem.sensors, {**problem.parametrization.priors, **far}
    )
    assert (
        isinstance(parametrization.inner, LinearParametrization)
        and not parametrization.is_straight
    )
    at = known(parametrization, np.random.default_rng(8))
    draws = physical_draws(parametrization, np.repeat(at, 4, 1), np.random.default_rng(9))
    assert draws.shape[1] == 4
    responses = parametrization.responses.values(
        np.concatenate([draws, parametrization.embed(at)], 1)
    )
    np.testing.assert_allclose(responses, np.repeat(responses[:, -1:], 5, 1), atol=2e-6)


def test_wide_logarithms_stay_logarithms_but_for_losses(problem):
    wide = {
        'wrist_roll.friction': Prior(1.0, 0.7, True),
        'wrist_roll.armature': Prior(0.1, 0.7, True),
        'base_yaw.damping': Prior(2.0, 0.4, True),
    }
    parametrization = choose_parametrization(
        problem.parameters, problem.sensors, {**problem.parametrization.priors, **wide}
    )
    assert any('log(wrist_roll.armature)' in label for label in parametrization.labels)
    assert not any('log(' in label and 'armature' not in label for label in parametrization.labels)
    for name, prior in wide.items():
        if name in parametrization.labels:
            row, factor = parametrization.labels.index(name), np.exp(prior.sd**2)
            assert parametrization.prior.mean[row] == 0.0
            deviation = np.sqrt(parametrization.prior.covariance[row, row])
            assert deviation == pytest.approx(prior.mean * np.sqrt(factor * (factor - 1)))


def test_a_body_next_to_a_point_has_a_prior():
    heavy = [Prior(5.0, 0.3, True), *[Prior(0.1, 0.015, False)] * 3]
    tiny = [*[Prior(1e-9, 0.4, True)] * 3, *[Prior(0.0, 1e-10, False)] * 3]
    body = BodyPrior([*heavy, *tiny], are_checked=True)
    draws = body.draw(500, np.random.default_rng(0)) - body.mean
    white = np.linalg.solve(body.root, draws.T)
    np.testing.assert_allclose(np.cov(white), np.eye(10), atol=0.4)
    np.testing.assert_allclose(body.deviations[4:7], 4e-10, rtol=0.3)


def test_few_unknowns_stay_as_they_are():
    assert len(p2.make_problem().parametrization.inner.rows) == 0


def test_a_rod_has_a_prior_of_bodies_that_can_be_built():
    moments = [Prior(x, 0.4, True) for x in (0.1, 0.1, 0.0005)]
    products = [Prior(0.0, 0.007, False)] * 3
    priors = [Prior(1.0, 0.3, True), *[Prior(0.0, 0.02, False)] * 3, *moments, *products]
    body = BodyPrior(priors, True)
    assert body.is_slender
    assert are_possible(body.draw(2000, np.random.default_rng(0))).all()
    assert body.means[4:7] == pytest.approx([0.1, 0.1, 0.0005], rel=0.15, abs=3e-3)
    assert 0.2 < body.deviations[4] / body.means[4] < 0.6
