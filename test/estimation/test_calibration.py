"""
Whether the estimator is as certain as it is right: a few problems of known truth.

The bounds hold for a calibrated estimator in 999 of 1000 choices of the seed. `make evaluate`
measures the same on hundreds of problems, against the targets.
"""

from pathlib import Path
import sys

import numpy as np
from problems import p1, p2, p3
import pytest
from scipy.stats import binom, chi2
import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / 'benchmark'))

from estimation.course import follow, follow_from_prior  # noqa: E402
from estimation.metrics import coverage, judge, Quantities  # noqa: E402
from estimation.p1 import SETTINGS as P1_SETTINGS  # noqa: E402
from estimation.p2 import base_quantities  # noqa: E402
from estimation.p3 import Modes  # noqa: E402
from estimation.p3 import SETTINGS as P3_SETTINGS  # noqa: E402

from sim2real_estimator.estimation.estimators import ESTIMATORS  # noqa: E402

CHANCE = 0.001
# Targets of `make evaluate` for the median error [%].
P1_ERRORS = {10: 0.5, 25: 0.1, 50: 0.04}
P2_ERRORS = {1: 0.5, 2: 0.1, 3: 0.07}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope='module')
def lengths():
    """Return frame index -> judgements of four problems P1."""
    problem, marks = p1.make_problem(), tuple(P1_ERRORS)
    found = {mark: [] for mark in marks}
    for seed in range(4):
        truth, frames = p1.draw(seed, count=max(marks))
        logs = np.log([truth.values[name] for name in p1.NAMES])
        course = follow(problem, ESTIMATORS['gaussian_sum'](**P1_SETTINGS), frames, marks)
        for mark in marks:
            found[mark].append(judge(course.mixtures[mark], Quantities(lambda x: x, logs)))
    return found


@pytest.fixture(scope='module')
def pendulums():
    """Return second -> judgements of twelve problems P2, and their innovations."""
    problem, marks = p2.make_problem(), {t: round(t * p2.RATE) for t in P2_ERRORS}
    found, innovations = {t: [] for t in marks}, []
    for seed in range(12):
        truth, frames = p2.draw(seed, seconds=max(marks))
        course = follow(problem, ESTIMATORS['gaussian_sum'](), frames, marks.values())
        innovations += course.innovations
        for t, mark in marks.items():
            quantities = base_quantities(problem, truth.values)
            found[t].append(judge(course.mixtures[mark], quantities))
    return found, np.array(innovations)


def is_expected(share, level, judgements):
    """Tell whether a coverage is one that a calibrated estimator has but for bad luck."""
    ranks = [j['rank'] for j in judgements]
    # The parameters of one problem are right or wrong together: they count as half as many.
    count = np.size(ranks) // 2
    low, high = binom.ppf([CHANCE / 2, 1 - CHANCE / 2], count, level) / count
    return low <= share <= high


def check_calibration(judgements):
    """Check coverages, and the squared errors in the posterior's own metric."""
    for level in (0.5, 0.9):
        share = coverage([j['rank'] for j in judgements], level)
        assert is_expected(share, level, judgements), f'{level:.0%} intervals cover {share:.0%}'
    degrees = np.size([j['error'] for j in judgements])
    nees = degrees * np.mean([j['nees'] for j in judgements])
    low, high = chi2.ppf([CHANCE / 2, 1 - CHANCE / 2], degrees)
    assert low <= nees <= high


def median_error(judgements):
    return 100 * np.median(np.abs([j['error'] for j in judgements]))


@pytest.mark.parametrize('count', P1_ERRORS)
def test_lengths_of_ball_jointed_rods_are_right_and_honest(lengths, count):
    assert median_error(lengths[count]) < 2 * P1_ERRORS[count]
    check_calibration(lengths[count])


@pytest.mark.parametrize('seconds', P2_ERRORS)
def test_base_parameters_of_a_pendulum_are_right_and_honest(pendulums, seconds):
    found, _ = pendulums
    assert median_error(found[seconds]) < 2 * P2_ERRORS[seconds]
    check_calibration(found[seconds])


def test_innovations_are_as_large_as_the_noise_says(pendulums):
    _, innovations = pendulums
    squared, degrees = innovations.sum(0)
    low, high = chi2.ppf([CHANCE / 2, 1 - CHANCE / 2], degrees)
    assert degrees > 2000
    assert low <= squared <= high


def test_a_filter_that_begins_with_the_prior_is_neither():
    problem, wrong = p2.make_problem(), 0
    for seed in range(4):
        truth, frames = p2.draw(seed, seconds=2)
        course = follow_from_prior(problem, frames, [200])
        wrong += judge(course.mixtures[200], base_quantities(problem, truth.values))['nees'] > 10
    assert wrong >= 2


@pytest.mark.parametrize('is_start_known', [True, False])
def test_both_modes_of_a_mirrored_pendulum_are_found(is_start_known):
    problem, seconds, modes_seen = p3.make_problem(), 2, 0
    for seed in range(6):
        truth, frames = p3.draw(seed, seconds=seconds, is_start_known=is_start_known)
        last = len(frames) - 1
        course = follow(problem, ESTIMATORS['gaussian_sum'](**P3_SETTINGS), frames, [last])
        modes = Modes(problem, truth, frames)
        if modes.are_two:
            modes_seen += 1
            assert modes.kept_by(course.mixtures[last]), f'seed {seed}'
    assert modes_seen >= 3
