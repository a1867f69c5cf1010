"""The iterations of a smoother: every column moves until it has converged."""

import numpy as np
from problems import p2
import pytest

from sim2real_estimator.estimation.batch.smoothed_fits import first_trajectories
from sim2real_estimator.estimation.filter.smoother import Smoother, Trajectories
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.noise import NormalNoise

pytestmark = pytest.mark.usefixtures('one_thread')


class Watched(Smoother):
    """A smoother that notes how many columns each of its filters has."""

    def forward(self, trajectories, noises, is_final=False):
        """Return the filter's steps."""
        self.columns.append(trajectories.parameters.shape[1])
        return super().forward(trajectories, noises, is_final)


@pytest.fixture(scope='module')
def problem():
    return p2.make_problem()


@pytest.fixture(scope='module')
def frames():
    return p2.draw(5, 0.8)[1]


@pytest.fixture
def smoothed(problem, frames):
    """Return a function (log weights, begins, ...) -> (`Smoothed`, columns of filters)."""
    point, state_root = problem.first_state(frames)
    t, n = problem.tangent_size, problem.tangent_size + len(problem.labels)
    root = np.zeros((n, n))
    root[:t, :t], root[t:, t:] = state_root, problem.prior.root

    def run(log_weights, begins, *options):
        """begins: parameters [p, K], the motion guessed from the samples, or `Trajectories`."""
        count = len(log_weights)
        means = np.repeat(problem.prior.mean[:, None], count, 1)
        points = np.repeat(point[:, None], count, 1)
        known = Mixture(np.array(log_weights), points, means, np.repeat(root[None], count, 0))
        smoother = Watched(problem, frames, NormalNoise(), known)
        smoother.columns = []
        if not isinstance(begins, Trajectories):
            guess = np.repeat(problem.first_trajectory(frames)[..., None], count, 2)
            begins = Trajectories(guess, begins)
        return smoother.run(begins, *options), smoother.columns

    return run


@pytest.fixture
def starts(problem):
    noise = np.random.default_rng(8).standard_normal((len(problem.labels), 2))
    return problem.prior.mean[:, None] + problem.prior.root @ noise


def test_a_course_that_stays_is_left_alone_while_others_move(smoothed, starts):
    one, _ = smoothed([0.0], starts[:, :1])
    again, few = smoothed([0.0], one.trajectories.parameters)
    both, columns = smoothed(
        [0.0, 0.0], np.stack([one.trajectories.parameters[:, 0], starts[:, 1]], 1)
    )
    assert len(few) < len(columns)
    assert columns == [2] * len(few) + [1] * (len(columns) - len(few))
    assert both.is_converged.all()
    np.testing.assert_allclose(both.trajectories.points[..., 0], again.trajectories.points[..., 0])
    np.testing.assert_allclose(both.log_evidence[0], again.log_evidence[0])


def test_what_is_told_of_a_course_that_stays_is_what_a_filter_about_it_says(smoothed, starts):
    found, _ = smoothed([0.0], starts[:, :1])
    exact, _ = smoothed([0.0], found.trajectories, 0)
    assert not exact.is_converged.any()
    deviations = np.linalg.norm(exact.mixture.parameter_roots()[0], axis=-1)
    spread = np.linalg.norm(found.mixture.parameter_roots()[0], axis=-1)
    np.testing.assert_allclose(spread, deviations, rtol=1e-3)
    np.testing.assert_allclose(found.log_evidence, exact.log_evidence, atol=1e-3)
    np.testing.assert_allclose(found.misfits, exact.misfits, atol=1e-3)


def test_a_hopeless_column_is_left_alone_after_two_passes(smoothed, starts):
    patient, long = smoothed([0.0, -50.0], starts)
    found, columns = smoothed([0.0, -50.0], starts, 15, 30.0)
    assert columns[:3] == [2, 2, 1]
    assert len(columns) <= len(long)
    assert found.is_converged.tolist() == [True, False]
    assert found.log_evidence[0] == pytest.approx(patient.log_evidence[0], abs=1e-6)
    assert found.mixture.weights[1] < 1e-6


def test_samples_are_looked_at_only_for_courses_that_begin_anew(problem, frames, monkeypatch):
    class Deaf:
        """The problem, whose samples nobody may look at."""

        def __getattr__(self, name):
            assert name != 'first_trajectory'
            return getattr(problem, name)

    point, root = problem.first_state(frames)
    mixture = Mixture(np.zeros(1), point[:, None], problem.prior.mean[:, None], np.eye(9)[None])
    trajectories = Trajectories(np.repeat(point[None, :, None], 61, 0), mixture.means)
    window = type('Window', (), {'frames': frames[:60]})
    draws = np.zeros((len(problem.labels), 1))
    led = first_trajectories(Deaf(), window, draws, NormalNoise(), mixture, trajectories)
    np.testing.assert_array_equal(led.points, trajectories.points)
    with pytest.raises(AssertionError):
        first_trajectories(
            Deaf(), window, np.zeros((len(draws), 2)), NormalNoise(), mixture, trajectories
        )
