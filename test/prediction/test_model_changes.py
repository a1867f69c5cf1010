"""Jumps of coordinates: what a change of a robot does to them, and what it leaves alone."""

import numpy as np
from problems import p1, p2
import pytest

from sim2real_estimator.observability.null_space import on_slice


@pytest.fixture(scope='module')
def problem():
    return p2.make_problem()


@pytest.fixture(scope='module')
def jumps(problem):
    return {jump.name: jump for jump in problem.model_changes(problem.prior.mean)}


def test_every_link_and_joint_has_its_own(jumps):
    assert sorted(jumps) == [
        'friction of elbow',
        'friction of shoulder',
        'mass on lower',
        'mass on upper',
    ]
    assert jumps['friction of elbow'].parameters == ('elbow.damping',)
    assert jumps['mass on lower'].parameters == ('lower.mass', 'lower.com.z', 'lower.inertia.yy')


def test_a_robot_of_which_only_lengths_are_estimated_has_none():
    problem = p1.make_problem()
    assert problem.model_changes(problem.prior.mean) == ()


def test_friction_moves_nothing_but_itself(problem, jumps):
    spread = np.linalg.norm(jumps['friction of elbow'].root, axis=1)
    (row,) = [k for k, label in enumerate(problem.labels) if 'elbow.damping' in label]
    assert spread[row] == pytest.approx(0.5, rel=0.15)
    assert np.delete(spread, row).max() < 1e-6


def changed(problem, values, link):
    """Return coordinates of a robot, and of the same with a body fixed to a link."""
    inner = problem.parametrization.inner
    loaded = values | {f'{link}.mass': 1.7 * values[f'{link}.mass']}
    named = np.array([[each[name] for name in inner.names] for each in (values, loaded)]).T
    coordinates, is_converged = on_slice(problem.parametrization, inner.from_named(named))
    assert is_converged.all()
    return coordinates


def test_a_body_on_a_link_is_well_within_its_jump(problem, jumps):
    values = dict(
        zip(p2.NAMES, problem.parametrization.to_named(problem.prior.mean[:, None])[:, 0])
    )
    names = problem.parametrization.inner.names
    before, after = changed(problem, {n: values[n] for n in names}, 'lower').T
    root = jumps['mass on lower'].root
    scale = np.sqrt(np.diag(problem.prior.covariance))
    sizes, directions = np.linalg.eigh((root / scale[:, None]) @ (root / scale[:, None]).T)
    away = directions.T @ ((after - before) / scale)
    assert (away**2 / (sizes + 1e-9)).sum() < 3 * len(away)


def test_a_jump_says_which_body_it_is_of(jumps):
    taken, worn = jumps['mass on lower'], jumps['friction of elbow']
    assert taken.link == 'lower' and taken.body.shape == (10, taken.root.shape[1])
    assert (taken.body[0] > 0).all() and worn.body is None


def test_places_on_a_slice_respond_like_what_they_stand_for(problem):
    parametrization, generator = problem.parametrization, np.random.default_rng(5)
    points = parametrization.inner.prior.mean[:, None] + 0.5 * parametrization.inner.prior.root @ (
        generator.standard_normal((len(parametrization.inner.names), 20))
    )
    coordinates, is_converged = on_slice(parametrization, points)
    assert is_converged.mean() >= 0.9
    wanted = parametrization.responses.values(points[:, is_converged])
    found = parametrization.responses.values(parametrization.embed(coordinates)[:, is_converged])
    np.testing.assert_allclose(found, wanted, atol=1e-3)
