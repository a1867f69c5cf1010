"""Multi-start: initial guesses of a fit, and when few of them are enough."""

import numpy as np
from problems import p2, p3
import pytest

from sim2real_estimator.estimation.batch.fit import fit, Objective, Window
from sim2real_estimator.estimation.batch.multi_start import (
    cover_prior,
    fit_again,
    is_covered,
    modes,
)
from sim2real_estimator.estimation.noise import NormalNoise

pytestmark = pytest.mark.usefixtures('one_thread')

STARTS, LIMITS = 6, (0.5, 1e-6)


def objective_of(problem, frames):
    return Objective(problem, Window(frames, *problem.first_state(frames)), NormalNoise())


def draws_of(problem):
    return cover_prior(problem, STARTS, np.random.default_rng(3))


@pytest.fixture(scope='module')
def problem():
    return p2.make_problem()


@pytest.fixture(scope='module')
def frames():
    return p2.draw(5, 1.0)[1]


@pytest.fixture(scope='module')
def first(problem, frames):
    return fit_again(objective_of(problem, frames[:50]), None, draws_of(problem), LIMITS, True)


def test_where_all_came_to_one_answer_few_look_for_others(problem, frames, first):
    assert first.fits.costs.size == STARTS and len(first.kept.costs) == 1
    assert not first.left.size
    objective, draws = objective_of(problem, frames[:60]), draws_of(problem)
    few = fit_again(objective, first.fits, draws, LIMITS, True)
    assert few.fits.costs.size == 3 and few.left.shape[1] == STARTS - 3
    assert fit_again(objective, first.fits, draws, LIMITS, False).fits.costs.size == STARTS
    everywhere = few.with_all_starts(objective, LIMITS)
    assert not everywhere.left.size and not everywhere.differ(few)


def test_where_the_answer_explains_nothing_all_look_for_others(problem, frames, first):
    other = p2.draw(6, 1.0)[1]
    # The torques are those of another motion.
    wrong = tuple(
        type(frame)(frame.start_ns, frame.end_ns, frame.samples, given.inputs)
        for frame, given in zip(frames[:60], other)
    )
    found = fit_again(objective_of(problem, wrong), first.fits, draws_of(problem), LIMITS, True)
    assert not found.left.size and found.fits.costs.size >= STARTS - 2


def test_two_answers_both_go_on():
    problem = p3.make_problem()
    frames = p3.draw(1, seconds=2.0, is_start_known=True)[1]
    objective, draws = objective_of(problem, frames), draws_of(problem)
    before = fit_again(objective, None, draws, LIMITS, True)
    assert len(before.kept.costs) == 2
    # All new starts at one of them: the other is there still.
    same = np.repeat(before.kept.parameters[:, :1], STARTS, 1)
    after = fit_again(objective, before.fits, same, LIMITS, True)
    assert len(after.kept.costs) == 2 and not after.differ(before)


def test_a_start_that_comes_to_where_another_rests_goes_no_further(problem, frames):
    objective, draws = objective_of(problem, frames[:50]), draws_of(problem)
    offsets = np.zeros((objective.size, STARTS))
    alone, beside = (fit(objective, offsets, draws, merge=merge) for merge in (0.0, LIMITS[0]))
    best, early = modes(alone, *LIMITS), modes(beside, *LIMITS)
    assert len(early.costs) == len(best.costs) == 1
    assert early.costs[0] == pytest.approx(best.costs[0], abs=2e-3)
    # One of them is caught elsewhere, with company or without.
    assert (np.abs(beside.costs - alone.costs) < LIMITS[0]).all()


def test_a_wide_delay_needs_starts_with_all_starts_it(problem):
    assert is_covered(problem, None)
    wide = p2.make_problem()
    wide.spacing = np.where(np.arange(len(wide.labels)) == 0, 1e-3, np.inf)
    assert not is_covered(wide, None)


@pytest.mark.parametrize('noise', [1e-12, 1e-40])
def test_next_to_what_samples_tell_the_prior_may_be_rounding(noise):
    problem = p2.make_problem(noise=noise)
    objective = objective_of(problem, p2.draw(0, 1.0)[1][:3])
    begin = np.zeros((problem.tangent_size, 1)), problem.prior.mean[:, None]
    # Fits go on with what they have, as far as their numbers reach.
    assert np.isfinite(fit(objective, *begin).costs).all()
