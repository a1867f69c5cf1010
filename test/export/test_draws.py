"""Draws of robots: feasible, reproducible, and with the moments that they say they have."""

from dataclasses import replace

from estimates import pendulum, posterior_of
import measured_arms
import numpy as np
from problems import seven_joints
import pytest

from sim2real_estimator.errors import ConfigError, DataError
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.checks import NEVER_NEGATIVE
from sim2real_estimator.observability.feasible_draws import feasible_draws
from sim2real_estimator.posterior.draws import (
    draw_robots,
    DrawSettings,
    KINDS,
    mjcf_of,
    read_draws,
    urdf_of,
    write_draws,
)
from sim2real_estimator.posterior.draws.draw_files import described
from sim2real_estimator.posterior.draws.drawn_robots import (
    _widened,
    CONDITIONED,
    PROJECTED,
    REJECTED,
)

pytestmark = pytest.mark.usefixtures('one_thread')
MANY = 100_000
# Of the standard error of a mean of that many; draws of a population have some bodies in common.
WIDE = 12.0


def mixture_of(problem, left, away=0.0, seed=0):
    """Return a component: left, away [p] or a number, in standard deviations of the prior."""
    generator = np.random.default_rng(seed)
    size, root = len(problem.labels), problem.prior.root
    mean = problem.prior.mean + root @ (away * generator.standard_normal(size))
    # Directions that are turned, so that coordinates are correlated.
    axes = np.linalg.qr(generator.standard_normal((size, size)))[0]
    half = root @ axes * np.broadcast_to(left, size)
    return Mixture(np.zeros(1), np.zeros((0, 1)), mean[:, None], half[None])


def joined(mixtures, weights):
    return Mixture(
        np.log(weights),
        np.zeros((0, len(mixtures))),
        np.concatenate([each.means for each in mixtures], 1),
        np.concatenate([each.roots for each in mixtures]),
    )


@pytest.fixture(scope='module')
def arm():
    """Return the problem of the shipped arm of seven joints, torques measured, and a posterior."""
    problem, posterior = posterior_of(seven_joints.measured(), away=0.0)
    left = np.where(np.arange(len(problem.labels)) % 3 > 0, 0.1, 0.7)
    return problem, replace(posterior, mixture=mixture_of(problem, left))


@pytest.fixture(scope='module')
def two_links():
    return measured_arms.pipeline().problem


def expect_feasible(problem, draws):
    """Check masses, triangle inequalities and what is never negative, from the numbers alone."""
    assert draws.bodies
    for mass, _, inertia in draws.bodies.values():
        assert (mass > 0).all()
        xx, yy, zz, xy, xz, yz = inertia.T
        matrices = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)
        moments = np.linalg.eigvalsh(matrices)
        assert (moments[:, 0] > 0).all()
        assert (moments[:, 0] + moments[:, 1] >= moments[:, 2] * (1 - 1e-9)).all()
    for name, values in draws.values.items():
        assert np.isfinite(values).all(), name
        if name.rpartition('.')[2] in NEVER_NEGATIVE:
            assert (values >= 0).all(), name


def coordinates(problem, draws):
    """Return the coordinates [p, N] of draws where torques are linear in them."""
    parametrization = problem.parametrization
    values = np.stack([draws.values[name] for name in parametrization.names])
    return parametrization.inner.from_named(values)


@pytest.mark.parametrize('kind', KINDS)
def test_every_draw_of_the_arm_of_seven_joints_is_feasible(arm, kind):
    problem, posterior = arm
    draws = draw_robots(problem, posterior.mixture, DrawSettings(kind, 3000), 1)
    assert len(draws) == 3000 and draws.kind == kind
    assert len(draws.bodies) == 7
    expect_feasible(problem, draws)


@pytest.mark.parametrize('kind', KINDS)
def test_the_same_seed_gives_the_same_draws(arm, kind):
    problem, posterior = arm
    first, again, other = (
        draw_robots(problem, posterior.mixture, DrawSettings(kind, 50), seed) for seed in (4, 4, 5)
    )
    assert first.seed == 4
    for name, values in first.values.items():
        np.testing.assert_array_equal(values, again.values[name])
    is_other = any((v != other.values[n]).any() for n, v in first.values.items())
    assert is_other == (kind != 'corners')


def test_moments_of_100000_draws_are_those_of_the_mixture(arm):
    problem, _ = arm
    # Close to a robot that can be built, nearly all of the posterior is feasible.
    parts = [mixture_of(problem, 0.01, away, seed) for seed, away in ((1, 0.0), (2, 0.01))]
    mixture = joined(parts, [0.7, 0.3])
    draws = draw_robots(problem, mixture, DrawSettings(count=MANY), 0)
    assert draws.method == CONDITIONED
    found = coordinates(problem, draws)
    mean, covariance = mixture.moments()
    root = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(root, found - mean[:, None])
    assert np.abs(whitened.mean(1)).max() < WIDE / np.sqrt(MANY)
    np.testing.assert_allclose(whitened @ whitened.T / MANY, np.eye(len(mean)), atol=0.03)
    expect_feasible(problem, draws)


def test_what_is_known_keeps_its_moments_where_hardly_any_plain_draw_is_feasible(arm):
    problem, posterior = arm
    mixture = posterior.mixture
    mean, covariance = mixture.moments()
    plain = mixture.draw(2000, np.random.default_rng(0))
    assert problem.possible.are_possible(plain).mean() < 0.1
    found = coordinates(problem, draw_robots(problem, mixture, DrawSettings(count=20_000), 0))
    relative = np.linalg.solve(problem.prior.root, np.linalg.cholesky(covariance))
    axes, sizes, _ = np.linalg.svd(relative)
    whitened = axes.T @ np.linalg.solve(problem.prior.root, found - mean[:, None])
    whitened /= sizes[:, None]
    known = sizes < 0.3
    assert known.sum() > 60
    assert np.abs(whitened[known].mean(1)).max() < 0.5
    assert np.abs(whitened[known].std(1) - 1).max() < 0.15


def test_conditioned_draws_are_those_of_plain_rejection(two_links):
    problem = two_links
    mixture = mixture_of(problem, 0.3, away=0.1, seed=3)
    mean, covariance = mixture.means[:, 0], mixture.parameter_covariances()[0]
    generator = np.random.default_rng(0)
    plain = mixture.draw(400_000, generator)
    kept = plain[:, problem.possible.are_possible(plain)]
    # There is something to condition on, and enough of it is left to compare with.
    assert 2000 < kept.shape[1] < 0.8 * plain.shape[1]
    found = feasible_draws(problem.possible, mean, covariance, 50_000, generator)
    assert problem.possible.are_possible(found).all()
    error = kept.std(1) * np.sqrt(1 / kept.shape[1] + 10 / found.shape[1])
    assert np.abs((found.mean(1) - kept.mean(1)) / error).max() < 5
    np.testing.assert_allclose(found.std(1), kept.std(1), rtol=0.06)


def test_a_singular_covariance_is_drawn_from(two_links):
    mixture = mixture_of(two_links, 0.05)
    root = mixture.roots[0].copy()
    known, copied = (two_links.labels.index(name) for name in ('lower.mass', 'upper.mass'))
    root[known] = 0.0
    root[copied] = root[two_links.labels.index('lower.mass*com.z')]
    draws = draw_robots(two_links, replace(mixture, roots=root[None]), DrawSettings(count=300), 0)
    np.testing.assert_allclose(draws.values['lower.mass'], mixture.means[known, 0], rtol=1e-9)
    assert draws.values['upper.mass'].std() > 0
    expect_feasible(two_links, draws)


def test_where_data_tell_combinations_only_these_have_the_moments_of_the_mixture():
    problem, posterior = posterior_of(seven_joints.config(), away=0.0, left=0.05)
    assert len(problem.labels) < len(problem.parametrization.names)
    draws = draw_robots(problem, posterior.mixture, DrawSettings(count=4000), 0)
    assert draws.method == CONDITIONED
    expect_feasible(problem, draws)
    parametrization = problem.parametrization
    away = coordinates(problem, draws) - parametrization.inner.prior.mean[:, None]
    mean, covariance = posterior.mixture.moments()
    root = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(root, parametrization.combinations @ away - mean[:, None])
    assert np.abs(whitened.mean(1)).max() < 0.15
    np.testing.assert_allclose(whitened.std(1), 1.0, atol=0.08)
    # What they cannot tell varies about as in the prior.
    before = draw_robots(problem, posterior.mixture, DrawSettings('prior', 4000), 0)
    name = 'column.mass'
    assert draws.values[name].std() == pytest.approx(before.values[name].std(), rel=0.2)


def test_correlations_of_the_posterior_are_kept(arm):
    problem, _ = arm
    root = 0.05 * problem.prior.root.copy()
    a, b = (problem.labels.index(f'{joint}.damping') for joint in ('base_yaw', 'wrist_roll'))
    root[b, a], root[b, b] = root[b, b], 0.2 * root[b, b]
    mixture = Mixture(np.zeros(1), np.zeros((0, 1)), problem.prior.mean[:, None], root[None])
    draws = draw_robots(problem, mixture, DrawSettings(count=4000), 0)
    found = np.corrcoef(draws.values['base_yaw.damping'], draws.values['wrist_roll.damping'])
    assert found[0, 1] == pytest.approx(1 / np.sqrt(1.04), abs=0.01)


def test_a_widened_posterior_is_no_wider_than_the_prior():
    prior = np.linalg.cholesky(np.array([[2.0, 0.3], [0.3, 1.0]]))
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))[0]
    for before, after in (((0.1, 0.7), (0.3, 1.0)), ((0.5, 1.2), (1.0, 1.2))):
        wider = _widened(prior @ axes * np.array(before), prior, 9.0)
        sizes = np.linalg.svd(np.linalg.solve(prior, wider))[1]
        np.testing.assert_allclose(sorted(sizes), after)


def test_what_is_known_is_widened_by_the_factor_and_what_is_not_stays_as_the_prior(arm):
    problem, posterior = arm
    sizes = {}
    for kind in ('posterior', 'widened', 'prior'):
        found = coordinates(
            problem, draw_robots(problem, posterior.mixture, DrawSettings(kind, 6000, 4.0), 0)
        )
        roots = np.linalg.solve(problem.prior.root, found - found.mean(1, keepdims=True))
        sizes[kind] = np.sqrt(np.linalg.eigvalsh(roots @ roots.T / 6000))
    ratio = sizes['widened'] / sizes['posterior']
    assert np.median(ratio[:60]) == pytest.approx(2.0, abs=0.15)
    assert sizes['widened'][-1] < 1.15 * sizes['prior'][-1]


def test_corners_of_named_parameters_are_all_their_extremes(arm):
    problem, _ = arm
    mixture = mixture_of(problem, 0.03)
    names = ('hand.mass', 'elbow_pitch.damping')
    draws = draw_robots(problem, mixture, DrawSettings('corners', 6, names=names), 0)
    said = [note.split(', feasible')[0] for note in draws.notes]
    assert said[:4] == [
        f'hand.mass {a}, elbow_pitch.damping {b}' for a in ('low', 'high') for b in ('low', 'high')
    ]
    assert said[4:] == said[:2]
    marginal = draw_robots(problem, mixture, DrawSettings(count=4000), 0)
    for name, row in zip(names, ([0, 0, 1, 1], [0, 1, 0, 1])):
        low, high = np.quantile(marginal.values[name], (0.05, 0.95))
        wanted = np.where(row, high, low)
        np.testing.assert_allclose(draws.values[name][:4], wanted, atol=0.15 * (high - low))


def test_corners_along_principal_directions_begin_with_the_least_known(arm):
    problem, _ = arm
    left = np.full(len(problem.labels), 0.02)
    left[5] = 0.3
    draws = draw_robots(
        problem, mixture_of(problem, left), DrawSettings('corners', 2 * len(left)), 0
    )
    assert draws.notes[0].startswith('direction 0 up, mostly ')
    assert '0.3 of the prior' in draws.notes[0] and '0.02 of the prior' in draws.notes[2]
    found = coordinates(problem, draws)
    np.testing.assert_allclose(
        (found[:, 0::2] + found[:, 1::2]).mean(1) / 2,
        problem.prior.mean,
        atol=0.1 * np.sqrt(np.diag(problem.prior.covariance)).max(),
    )
    expect_feasible(problem, draws)


def test_where_feasibility_contradicts_the_posterior_draws_are_projected(two_links):
    mixture = mixture_of(two_links, 0.01)
    row = two_links.labels.index('lower.mass')
    mean = mixture.means.copy()
    mean[row] = -mean[row]
    draws = draw_robots(two_links, replace(mixture, means=mean), DrawSettings(count=20), 0)
    assert draws.method == PROJECTED
    expect_feasible(two_links, draws)


@pytest.mark.parametrize('kind', KINDS)
def test_draws_where_torques_are_not_linear(kind):
    problem, posterior = posterior_of(pendulum(), left=0.1)
    draws = draw_robots(problem, posterior.mixture, DrawSettings(kind, 40), 0)
    assert len(draws) == 40
    expect_feasible(problem, draws)
    if kind != 'corners':
        assert draws.method == REJECTED and draws.drawn >= 40


def test_negative_dampings_are_drawn_again():
    config = pendulum(estimate={'*.damping': {'log': False, 'sd': 0.08}})
    problem, posterior = posterior_of(config, away=0.0, left=1.0)
    names = problem.parametrization.names
    plain = problem.parametrization.to_named(posterior.mixture.draw(400, np.random.default_rng(0)))
    assert (plain[[names.index('shoulder.damping')]] < 0).any()
    draws = draw_robots(problem, posterior.mixture, DrawSettings(count=400), 0)
    assert draws.drawn > 400
    assert min(draws.values['shoulder.damping']) >= 0


def test_nothing_is_drawn_of_what_is_not_finite(arm):
    problem, posterior = arm
    mean = posterior.mixture.means.copy()
    mean[3] = np.nan
    with pytest.raises(DataError, match='not finite'):
        draw_robots(problem, replace(posterior.mixture, means=mean))


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        ({'kind': 'wide'}, 'give one of posterior, widened'),
        ({'count': 0}, 'at least 1'),
        ({'factor': 0.5}, 'factor: is 0.5'),
        ({'factor': float('nan')}, 'factor: is nan'),
        ({'extent': -1.0}, 'extent: is -1'),
        ({'names': tuple('abcdefghi')}, 'at most 8'),
    ],
)
def test_settings_that_cannot_be_drawn_are_refused(changes, said):
    with pytest.raises(ConfigError, match=said):
        DrawSettings(**changes)


def test_corners_of_what_is_not_estimated_are_refused(arm):
    problem, posterior = arm
    with pytest.raises(ConfigError, match='tail.mass is not estimated; there are column.mass'):
        draw_robots(problem, posterior.mixture, DrawSettings('corners', names=('tail.mass',)))


def test_lines_of_json_are_read_as_they_were_written(arm, tmp_path):
    problem, posterior = arm
    draws = draw_robots(problem, posterior.mixture, DrawSettings(count=5), 8)
    path = tmp_path / 'draws.jsonl'
    write_draws(path, described(problem, posterior), draws, ['a line'])
    head, found = read_draws(path)
    assert (head['seed'], head['kind'], head['count']) == (8, 'posterior', 5)
    assert head['method'] == CONDITIONED and head['ranges'] == ['a line']
    assert head['units']['hand.mass'] == 'kg'
    assert found == [draws[k] for k in range(5)]


@pytest.mark.parametrize(
    'damage',
    [
        lambda text: '',
        lambda text: text[: len(text) // 2],
        lambda text: '\n'.join(text.splitlines()[:-1]),
        lambda text: text.replace('"hand.mass": ', '"hand.mass": NaN, "x": ', 2),
        lambda text: text.replace('"com": [', '"com": [1.0, '),
        lambda text: '[]\n',
        lambda text: text.replace('"version": 1', '"version": 2'),
    ],
)
def test_damaged_files_of_draws_are_refused(arm, tmp_path, damage):
    problem, posterior = arm
    path = tmp_path / 'draws.jsonl'
    robot = described(problem, posterior)
    write_draws(path, robot, draw_robots(problem, posterior.mixture, DrawSettings(count=3), 0))
    path.write_text(damage(path.read_text()))
    with pytest.raises(DataError, match='draws.jsonl: .*; (write it anew|give one of)'):
        read_draws(path)


def test_urdf_and_mjcf_of_a_draw_say_which_it_is(arm):
    problem, posterior = arm
    draws = draw_robots(problem, posterior.mixture, DrawSettings(count=3), 6)
    robot = described(problem, posterior)
    for text in (urdf_of(robot, draws, 2).decode(), mjcf_of(robot, draws, 2)):
        assert 'draw 2 of 3, posterior, seed 6, conditioned, no estimate' in text
        assert repr(float(draws.values['hand.mass'][2])) in text
