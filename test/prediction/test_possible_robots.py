"""Robots that can be built, nearest to draws of posteriors that know of no limits."""

import numpy as np
import pytest

from sim2real_estimator.config import read_config
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.body_numbers import are_possible
from sim2real_estimator.observability.null_space import draw_samples
from sim2real_estimator.observability.possible_robots import contradictions
from sim2real_estimator.setup.build import build_parts

pytestmark = pytest.mark.usefixtures('one_thread')
JOINTS = 7
_LINK = """
  <link name="l{0}"><inertial><origin xyz="0.01 0.02 {1}"/><mass value="{2}"/>
    <inertia ixx="{3}" iyy="{3}" izz="{4}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j{0}" type="revolute"><parent link="{5}"/><child link="l{0}"/>
    <origin xyz="0 0 0.2" rpy="{6} 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="{7}" velocity="2"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
"""


@pytest.fixture(scope='module')
def problem():
    """Return the problem of an arm of seven joints whose torques are measured."""
    links = ''.join(
        _LINK.format(
            *(k, 0.05 + 0.01 * k, 4.0 / (k + 1), 0.03 / (k + 1) ** 2, 0.01 / (k + 1) ** 2),
            *('base' if k == 0 else f'l{k - 1}', 1.57 * (-1) ** k, 150 / (k + 1)),
        )
        for k in range(JOINTS)
    )
    urdf = ' '.join(f'<robot name="arm"><link name="base"/>{links}</robot>'.split())
    joints = [f'j{k}' for k in range(JOINTS)]
    efforts = ', '.join(f'{joint}: {{effort: measured}}' for joint in joints)
    config = f"""
model: {{urdf: '{urdf}'}}
joints: {{{efforts}}}
sensors: {{encoders: {{kind: joint_positions, topic: joint_states, joints: {joints}, sd: 1e-4}}}}
estimate: {{'*.mass': {{}}, '*.com.*': {{}}, '*.inertia.*': {{}}, '*.damping': {{}},
            '*.friction': {{}}, '*.armature': {{}}}}
simulation: {{backend: eager}}
"""
    return build_parts(read_config(config))[0]


@pytest.fixture(scope='module')
def posterior(problem):
    """Return (mean, covariance): known in some directions only, the mean a draw of the prior."""
    prior, generator = problem.prior, np.random.default_rng(3)
    size = len(prior.mean)
    directions = np.linalg.qr(generator.standard_normal((size, size)))[0]
    root = prior.root @ directions * np.geomspace(1e-3, 1.0, size)
    mean = prior.mean + prior.root @ generator.standard_normal(size)
    return problem.possible.nearest(mean[:, None], mean, root @ root.T)[:, 0], root


def bodies_of(problem, points):
    return np.moveaxis(points[problem.parametrization.inner.rows], 2, 0)


def test_hundreds_of_draws_are_made_possible(problem, posterior):
    mean, root = posterior
    draws = mean[:, None] + root @ np.random.default_rng(0).standard_normal((len(mean), 400))
    assert not are_possible(bodies_of(problem, draws)).all(1).all()
    found = problem.possible.nearest(draws, mean, root @ root.T)
    assert are_possible(bodies_of(problem, found)).all()
    assert problem.possible.are_possible(found).all()
    for k, label in enumerate(problem.labels):
        if label.endswith(('.damping', '.friction', '.armature')):
            assert (found[k] >= 0).all()
        if label.endswith('.friction'):
            stribeck = problem.labels.index(label.replace('.friction', '.stribeck'))
            assert (found[k] + found[stribeck] >= 0).all()
    # What is known stays: moves are as long as the draws themselves, in terms of what is left.
    moves = np.linalg.solve(root, found - draws)
    assert np.median(np.linalg.norm(moves, axis=0)) < 0.6 * np.sqrt(len(mean))
    known = slice(0, len(mean) // 3)
    spread = np.linalg.solve(root, found - mean[:, None])[known]
    assert 0.8 < np.sqrt((spread**2).mean()) < 1.2


def test_no_other_possible_robot_is_much_nearer(problem, posterior):
    mean, root = posterior
    generator = np.random.default_rng(1)
    draws = mean[:, None] + root @ generator.standard_normal((len(mean), 20))
    found = problem.possible.nearest(draws, mean, root @ root.T)
    away = np.linalg.solve(root, found - draws)
    # Of what is convex, the way to any other point leads away from what was wanted.
    others = np.concatenate([found, problem.possible.usual[:, None], mean[:, None]], 1)
    for k in range(draws.shape[1]):
        along = np.linalg.solve(root, others - found[:, k : k + 1])
        assert (away[:, k] @ along > -0.02 * 4 * JOINTS * 3).all()


def test_what_is_possible_stays_bit_for_bit(problem, posterior):
    mean, root = posterior
    usual = problem.possible.usual[:, None]
    found = problem.possible.nearest(usual, mean, root @ root.T)
    assert (found == usual).all()


def test_published_draws_of_several_answers_can_all_be_built(problem, posterior):
    mean, root = posterior
    other = mean.copy()
    other[problem.parametrization.inner.rows[-1, 0]] += 1.0
    mixture = Mixture(
        np.log([0.6, 0.4]),
        np.zeros((0, 2)),
        np.stack([mean, other], 1),
        np.stack([root, root]),
    )
    values = draw_samples(problem, mixture, 100, seed=5)
    assert values.shape == (len(problem.parametrization.names), 100)
    points = problem.parametrization.inner.from_named(values)
    assert are_possible(bodies_of(problem, points)).all()
    heavier = points[problem.parametrization.inner.rows[-1, 0]]
    assert np.isfinite(values).all() and heavier.max() - heavier.min() > 0.5
    assert (values == draw_samples(problem, mixture, 100, seed=5)).all()


def contradicted(problem, mean, root):
    """Return name -> `Contradiction` of the parameters that are to blame."""
    inner = problem.parametrization.inner
    found = contradictions(inner, problem.possible, mean, root @ root.T)
    # The first of each is the simplest.
    return {inner.names[place]: each for each in found[::-1] for place in each.places}


def test_what_data_are_sure_of_and_no_robot_has_is_named(problem, posterior):
    mean, root = posterior
    names, mean = problem.parametrization.inner.names, mean.copy()
    assert contradicted(problem, mean, root) == {}
    sds = np.linalg.norm(root, axis=1)
    rotor, mass = names.index('j2.armature'), names.index('l5.mass')
    mean[rotor] = -5 * sds[rotor]
    mean[mass] = -3.5 * sds[mass]
    # Two that are possible by themselves, and not together.
    friction, stribeck = names.index('j1.friction'), names.index('j1.stribeck')
    both = np.linalg.norm(root[friction] + root[stribeck])
    mean[stribeck] = -mean[friction] - 6 * both
    found = contradicted(problem, mean, root)
    assert {'j2.armature', 'l5.mass', 'j1.stribeck'} <= set(found)
    # With friction under load they are a third sum.
    joints = {name for name in found if name[0] == 'j'}
    assert joints - {'j1.load_friction'} == {'j2.armature', 'j1.stribeck'}
    one, sum_of_two = found['j2.armature'], found['j1.stribeck']
    assert (one.what, one.mean, one.sd) == ('', mean[rotor], pytest.approx(sds[rotor]))
    assert sum_of_two.what == 'j1.friction + j1.stribeck'
    assert sum_of_two.mean == pytest.approx(-6 * both)
    # Of a robot of which bodies are not asked to be possible, joints are looked at all the same.
    inner = problem.parametrization.inner
    (alone,) = contradictions(inner, None, mean, root @ root.T)
    assert names[alone.places[0]] == 'j2.armature'


def test_a_body_that_no_mass_is_spread_like_is_named(problem, posterior):
    mean, root = posterior
    inner, mean = problem.parametrization.inner, mean.copy()
    body = inner.rows[3]
    small = root.copy()
    small[body] *= 1e-3
    mean[body[4]] -= 3 * mean[body[4:7]].sum()
    found = contradicted(problem, mean, small)
    assert {name.partition('.')[0] for name in found} == {'l3'}
    assert 'l3.inertia.xx' in found and 'l3.mass' not in found
    assert 'pseudo-inertia of l3' in found['l3.inertia.xx'].what
    assert found['l3.inertia.xx'].mean < 0


def test_noise_alone_contradicts_hardly_any_robot(problem, posterior):
    mean, root = posterior
    generator = np.random.default_rng(5)
    alarms = [
        contradicted(problem, mean + root @ generator.standard_normal(len(mean)), root)
        for _ in range(100)
    ]
    # Robots of the posterior are next to many limits, 57 of which are looked at.
    assert np.mean([bool(each) for each in alarms]) < 0.1
