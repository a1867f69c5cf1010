"""One filter tells how probable every jump is, as a filter that reckons with it does."""

from dataclasses import replace

import numpy as np
from problems import p2
import pytest

from sim2real_estimator.estimation.changes.isolation import change_evidence
from sim2real_estimator.estimation.filter.smoother import Smoother, Trajectories
from sim2real_estimator.estimation.gaussian import predict
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.noise import NormalNoise

pytestmark = pytest.mark.usefixtures('one_thread')

FRAMES = 30


@pytest.fixture(scope='module')
def smoother():
    """Return a smoother that knows states and parameters well, and both together."""
    problem, frames = p2.make_problem(), p2.draw(5, 1.0)[1][:FRAMES]
    point, state_root = problem.first_state(frames)
    t, p = problem.tangent_size, len(problem.labels)
    root = np.zeros((1, t + p, t + p))
    root[:, :t, :t], root[:, t:, t:] = 0.1 * state_root, 0.05 * problem.prior.root
    root[:, t:, :t] = 0.01 * np.random.default_rng(2).standard_normal((p, t))
    known = Mixture(np.zeros(1), point[:, None], problem.prior.mean[:, None], root)
    return Smoother(problem, frames, NormalNoise(), known)


@pytest.mark.parametrize('rank', [1, 3])
def test_a_jump_is_as_probable_as_a_filter_that_reckons_with_it_finds(smoother, rank):
    problem, known = smoother.problem, smoother.known
    course = Trajectories(problem.first_trajectory(smoother.frames)[..., None], known.means + 0.1)
    t, p = problem.tangent_size, len(problem.labels)
    jump = 0.3 * np.random.default_rng(rank).standard_normal((p, rank))
    steps = smoother.forward(course, None)
    told = change_evidence(steps, p)
    gain, explained, mean = told.of(jump)
    still = np.eye(t + p)[None, :t]
    released = replace(known, roots=predict(known.roots, still, np.zeros(t), jump))
    other = Smoother(problem, smoother.frames, smoother.noise, released)
    other_steps = other.forward(course, None)
    assert explained > 1.0
    # As if it were known to have been the jump's mean.
    moved = replace(known, means=known.means + mean[:, None])
    there = Smoother(problem, smoother.frames, smoother.noise, moved)
    better = there.log_evidence(there.forward(course, None)) - smoother.log_evidence(steps)
    expected = told.score @ mean - mean @ told.precision @ mean / 2
    np.testing.assert_allclose(better[0], expected, rtol=1e-7)
    # No other of its size and less is that probable.
    smaller = np.linalg.lstsq(jump, mean, rcond=None)[0]
    np.testing.assert_allclose(expected - smaller @ smaller / 2, explained / 2, rtol=1e-7)
    difference = other.log_evidence(other_steps) - smoother.log_evidence(steps)
    np.testing.assert_allclose(gain, difference[0], rtol=1e-7)
    misfits = [sum(step.cost[0] for step in each) for each in (steps, other_steps)]
    np.testing.assert_allclose(explained, misfits[0] - misfits[1], rtol=1e-7)
