"""Ranges by hand, and the posterior that takes their place."""

from dataclasses import replace
from pathlib import Path

from estimates import posterior_of
import numpy as np
from problems import seven_joints
import pytest

from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.posterior.draws import (
    draw_robots,
    DrawSettings,
    left_open,
    load_ranges,
    mjcf_of,
    narrowed,
    RandomizationConfig,
    RangeConfig,
)
from sim2real_estimator.posterior.draws.draw_files import described

pytestmark = pytest.mark.usefixtures('one_thread')
SHIPPED = Path(__file__).parents[2] / 'config' / 'randomization.yaml'
COUNT = 2000
# Of which data have told; of all other parameters nothing is known.
TOLD = ('wrist_roll.damping', 'hand.mass')


@pytest.fixture(scope='module')
def arm():
    """Return the problem, the posterior, draws of it, and what it has left open."""
    problem, posterior = posterior_of(seven_joints.measured(), away=0.0)
    root = problem.prior.root.copy()
    rows = [problem.labels.index(name) for name in TOLD]
    # Of the last row of a triangular root nothing else depends; the others are made narrow whole.
    root[rows] *= 0.05
    mixture = Mixture(np.zeros(1), np.zeros((0, 1)), problem.prior.mean[:, None], root[None])
    draws = draw_robots(problem, mixture, DrawSettings('posterior', COUNT), 0)
    return problem, replace(posterior, mixture=mixture), draws, left_open(problem, mixture)


def applied(arm, config, seed=0):
    problem, _, draws, left = arm
    return narrowed(problem, draws, left, config, seed)


def line_of(lines, name):
    (line,) = [each for each in lines if each.startswith(f'{name}: ')]
    return line


def test_the_shipped_table_is_that_of_the_overview():
    ranges = load_ranges(SHIPPED).ranges
    assert ranges['*.mass'].times == (0.25, 4.0)
    assert ranges['*.damping'].times == (0.2, 20.0)
    assert ranges['controller.gains'].times == (0.5, 2.0)
    assert ranges['action.rate'].between == (125.0, 1000.0)
    assert ranges['object.mass'].between == (0.1, 0.4)
    assert ranges['table.height'].between == (0.73, 0.77)


def test_what_data_have_told_is_drawn_from_the_posterior_and_said_to_be_narrower(arm):
    found, lines = applied(arm, load_ranges(SHIPPED))
    name = 'wrist_roll.damping'
    np.testing.assert_array_equal(found.values[name], arm[2].values[name])
    line = line_of(lines, name)
    assert 'by the posterior' in line and 'times narrower' in line
    ratio = float(line.rpartition(': ')[2].split()[0])
    low, high = np.quantile(arm[2].values[name], (0.05, 0.95))
    nominal = arm[0].parameters[name].nominal
    ends = nominal * 0.2 * 100.0 ** np.array([0.05, 0.95])
    assert ratio == pytest.approx((ends[1] - ends[0]) / (high - low), rel=0.01)
    np.testing.assert_array_equal(found.bodies['hand'][0], arm[2].bodies['hand'][0])


def test_what_they_have_not_stays_by_hand(arm):
    found, lines = applied(arm, load_ranges(SHIPPED))
    name = 'base_yaw.damping'
    assert line_of(lines, name).endswith('0% of the prior is left')
    nominal = arm[0].parameters[name].nominal
    share = np.log(found.values[name] / nominal / 0.2) / np.log(100)
    assert share.min() >= 0 and share.max() <= 1
    np.testing.assert_allclose(np.quantile(share, (0.25, 0.5, 0.75)), (0.25, 0.5, 0.75), atol=0.05)


def test_a_mass_by_hand_takes_the_whole_body_along(arm):
    problem, posterior, *_ = arm
    found, lines = applied(arm, load_ranges(SHIPPED))
    assert 'stays' in line_of(lines, 'column.mass')
    mass, com, inertia = found.bodies['column']
    factor = mass / problem.parameters['column.mass'].nominal
    assert factor.min() >= 0.25 and factor.max() <= 4 and factor.max() / factor.min() > 10
    np.testing.assert_allclose(com, com[:1].repeat(COUNT, 0))
    zz = problem.parameters['column.inertia.zz'].nominal
    np.testing.assert_allclose(inertia[:, 2], zz * factor)
    np.testing.assert_array_equal(found.values['column.mass'], mass)
    assert 'column.inertia.zz' not in found.values
    assert f'mass="{float(mass[3])!r}"' in mjcf_of(described(problem, posterior), found, 3)


def test_quantities_of_the_simulator_come_with_every_draw(arm):
    found, lines = applied(arm, load_ranges(SHIPPED))
    rates = found.values['action.rate']
    assert len(rates) == COUNT and rates.min() >= 125 and rates.max() <= 1000
    assert 'action.rate' in found[0].values
    assert line_of(lines, 'controller.gains') == (
        'controller.gains: by hand 0.5 to 2 of the usual ones, which stays: not estimated'
    )


def test_the_same_seed_gives_the_same_ranges(arm):
    config = load_ranges(SHIPPED)
    first, again, other = (
        applied(arm, config, seed)[0].values['action.rate'] for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_later_patterns_override_earlier_ones(arm):
    config = RandomizationConfig(
        {'*.damping': RangeConfig((0.2, 20.0)), 'base_yaw.damping': RangeConfig((0.9, 1.1))}
    )
    found, _ = applied(arm, config)
    nominal = arm[0].parameters['base_yaw.damping'].nominal
    assert found.values['base_yaw.damping'].max() <= 1.1 * nominal


def test_where_the_description_has_nothing_multiples_are_of_the_priors_mean(arm):
    problem = arm[0]
    assert problem.parameters['base_yaw.armature'].nominal == 0
    found, lines = applied(arm, RandomizationConfig({'*.armature': RangeConfig((0.5, 2.0))}))
    assert line_of(lines, 'base_yaw.armature').startswith('base_yaw.armature: by hand 0.05 to 0.2')
    assert found.values['base_yaw.armature'].min() >= 0.05


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ("{'*.damping': {}}", r'ranges.\*.damping: give either times or between'),
        ('{a: {times: [1.0, 2.0], between: [1.0, 2.0]}}', 'either times or between'),
        ('{a: {times: [2.0, 1.0]}}', 'the least and the most'),
        ('{a: {between: [1.0]}}', 'the least and the most'),
        ('{a: {times: [0.0, 1.0]}}', 'a number above 0'),
        ("{'*.com.x': {between: [-0.1, 0.1]}}", 'give a range of the mass'),
        ("{'*.inertia.*': {times: [0.5, 2.0]}}", 'give a range of the mass'),
        ('{a: {time: [0.5, 2.0]}}', 'no such setting'),
    ],
)
def test_ranges_that_cannot_be_drawn_are_refused(tmp_path, text, said):
    path = tmp_path / 'ranges.yaml'
    path.write_text(f'ranges: {text}')
    with pytest.raises(ConfigError, match=said):
        load_ranges(path)


def test_a_mass_between_two_numbers_is_refused(arm):
    with pytest.raises(ConfigError, match='give times: the body of hand.mass'):
        applied(arm, RandomizationConfig({'hand.mass': RangeConfig((), (0.1, 0.2))}))


@pytest.mark.parametrize('kind', ['widened', 'corners', 'prior'])
def test_what_data_have_told_does_not_depend_on_what_is_drawn(arm, kind):
    problem, posterior, _, left = arm
    draws = draw_robots(problem, posterior.mixture, DrawSettings(kind, 500), 0)
    found, lines = narrowed(problem, draws, left, load_ranges(SHIPPED))
    name = 'wrist_roll.damping'
    assert f'by the {kind}' in line_of(lines, name)
    np.testing.assert_array_equal(found.values[name], draws.values[name])
    assert 'stays' in line_of(lines, 'base_yaw.damping')
