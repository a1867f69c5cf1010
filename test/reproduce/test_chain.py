"""A ball that hits a chain, and the mass of the chain."""

import numpy as np
import pytest

from sim2real_estimator import cli
from sim2real_estimator.app.reproduce.chain import chain_experiment, chain_report
from sim2real_estimator.app.reproduce.chain.chain_by_lcp import positions_by_lcp
from sim2real_estimator.app.reproduce.chain.chain_simulation import ChainSimulation


@pytest.fixture(scope='module')
def simulation():
    return ChainSimulation()


@pytest.fixture(scope='module')
def exact(simulation):
    return simulation.motion(7.0, derivatives=False).positions


def test_the_derivative_goes_through_all_impacts(simulation):
    for mass in (0.5, 7.0):
        motion, size = simulation.motion(mass), 1e-5 * mass
        ahead, behind = (
            simulation.motion(mass + s * size, derivatives=False).positions for s in (1, -1)
        )
        differences = (ahead - behind) / (2 * size)
        assert len(motion.impacts) >= 4
        assert abs(motion.slopes - differences).max() < 1e-5 * abs(differences).max()


def test_the_ball_bounces_off_with_the_restitution_it_has(simulation):
    motion = simulation.motion(1e6, derivatives=False)
    # A chain without end of mass is a wall.
    first, second = motion.positions[-1, -2] - motion.positions[-31, -2], 0.75 * 0.5
    assert first == pytest.approx(-second, rel=1e-4)
    (time, link, speed), *others = motion.impacts
    assert not others and link == 9
    # .5 m/s after a tenth of a second, and the ball meets the chain after 2.2 m.
    assert (time, speed) == pytest.approx((0.05 + 2.2 / 0.5, 0.5))


def test_exact_steps_of_free_bodies_give_the_same_motion(simulation):
    short = ChainSimulation(seconds=5.0)
    ours = short.motion(7.0, derivatives=False).positions
    coarse, fine = (positions_by_lcp(7.0, 1 / rate, 5.0, 30) for rate in (120, 240))
    errors = [abs(theirs - ours).max() for theirs in (coarse, fine)]
    # Of first order in their step.
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 4e-3


@pytest.mark.parametrize('start', [0.5, 20.0])
def test_the_mass_is_found_from_far_away(simulation, exact, start):
    course = chain_experiment.descend(simulation, exact, start)
    assert course.iterations_to(0.01) <= 5
    assert course.masses[-1] == pytest.approx(7.0, abs=1e-5)


def test_a_course_that_leaves_again_has_not_arrived():
    def course(*masses):
        return chain_experiment.Course(np.array(masses), 0, 0.0, 1.0)

    assert course(2.0, 7.0, 8.0).iterations_to(0.01) is None
    assert course(2.0, 7.0, 8.0, 7.005).iterations_to(0.01) == 3
    assert course(7.0, 7.0).iterations_to(0.01) == 0


def test_intervals_are_as_wide_as_masses_scatter(simulation, exact):
    found = [chain_experiment.interval(simulation, exact, seed) for seed in range(20)]
    masses = np.array([each.mass for each in found])
    widths = np.array([each.high - each.low for each in found])
    assert np.std(masses) == pytest.approx(widths.mean() / (2 * 1.6449), rel=0.4)
    assert sum(each.holds for each in found) >= 14


def test_the_command_ends_with_a_table_and_a_picture(tmp_path, capsys, monkeypatch, exact):
    monkeypatch.setattr(chain_experiment, 'observations', lambda: exact)
    monkeypatch.setattr(chain_report, 'SHARES', (0.0, 1.0))
    arguments = ['reproduce', 'chain', '--seeds', '2', '--output', str(tmp_path)]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    assert '6 of 6 starts arrive' in printed
    assert (tmp_path / 'chain.png').read_bytes().startswith(b'\x89PNG')
