"""Smoothers of windows: equal to a fit where both apply, and applicable where a fit is not."""

from dataclasses import replace

import numpy as np
from problems import p2
import pytest

from sim2real_estimator.estimation.batch.fit import fit, Objective, Window
from sim2real_estimator.estimation.batch.smoothed_fits import first_trajectories, fit_by_smoothing
from sim2real_estimator.estimation.disturbances import bank
from sim2real_estimator.estimation.filter.smoother import Smoother, Trajectories
from sim2real_estimator.estimation.filter.update import (
    fixed_lag_update,
    FixedLagWindow,
    measurement_update,
)
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.noise import NormalNoise, StudentNoise
from sim2real_estimator.estimation.protocol import Linearization
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.prediction.robot_problem import ProblemOptions

pytestmark = pytest.mark.usefixtures('one_thread')

FRAMES, STARTS = 80, 3


@pytest.fixture(scope='module')
def problem():
    return p2.make_problem()


@pytest.fixture(scope='module')
def window(problem):
    frames = p2.draw(5, 1.0)[1][:FRAMES]
    return Window(frames, *problem.first_state(frames))


@pytest.fixture(scope='module')
def starts(problem):
    noise = np.random.default_rng(8).standard_normal((len(problem.labels), STARTS))
    return problem.prior.mean[:, None] + problem.prior.root @ noise


def known_before(problem, window, count):
    """Return what the window's guess and the prior say, as `count` components."""
    t, n = problem.tangent_size, problem.tangent_size + len(problem.labels)
    root = np.zeros((count, n, n))
    root[:, :t, :t], root[:, t:, t:] = window.root, problem.prior.root
    points = np.repeat(window.point[:, None], count, 1)
    means = np.repeat(problem.prior.mean[:, None], count, 1)
    return Mixture(np.zeros(count), points, means, root)


def begins_at(problem, window, starts):
    guess = np.repeat(problem.first_trajectory(window.frames)[..., None], starts.shape[1], 2)
    return Trajectories(guess, starts)


def smoothed(problem, window, noise, starts):
    known = known_before(problem, window, starts.shape[1])
    smoother = Smoother(problem, window.frames, noise, known)
    return smoother.run(begins_at(problem, window, starts))


@pytest.mark.parametrize('noise', [NormalNoise(), StudentNoise(8.0)], ids=['normal', 'student'])
def test_without_hidden_forces_a_smoother_finds_what_a_fit_finds(problem, window, starts, noise):
    found = smoothed(problem, window, noise, starts)
    offsets = np.zeros((problem.tangent_size, STARTS))
    fits = fit(Objective(problem, window, noise), offsets, starts, tolerance=1e-6)
    best = int(np.argmin(fits.costs))
    size = problem.tangent_size
    deviations = np.sqrt(np.diag(np.linalg.inv(fits.information[best])))[size:]
    assert found.is_converged.all()
    away = np.abs(found.mixture.means - fits.parameters[:, [best]]) / deviations[:, None]
    assert away.max() < 0.05
    spread = np.linalg.norm(found.mixture.parameter_roots(), axis=-1)
    # Where noise is not normal, the filter weighs a row by what came before it alone.
    np.testing.assert_allclose(spread, np.tile(deviations, (STARTS, 1)), rtol=0.05)
    np.testing.assert_allclose(found.log_evidence, found.log_evidence[0], atol=0.01)


def test_evidence_of_two_models_differs_as_that_of_fits(problem, window, starts):
    other = p2.make_problem(noise=1.3 * p2.NOISE)
    offsets, noise = np.zeros((problem.tangent_size, STARTS)), NormalNoise()
    ours, theirs = [], []
    for each in (problem, other):
        ours.append(smoothed(each, window, noise, starts).log_evidence[0])
        theirs.append(fit(Objective(each, window, noise), offsets, starts).log_evidence()[0])
    assert ours[1] - ours[0] == pytest.approx(theirs[1] - theirs[0], abs=0.02)


def test_a_window_of_unknown_noise_tells_how_much_there_is(window):
    problem = p2.make_problem(noise=0.5 * p2.NOISE, noises={'encoders': Prior(1.0, 0.7, True)})
    begins = begins_at(problem, window, problem.prior.mean[:, None])
    mixture, _, fits = fit_by_smoothing(problem, window, begins, NormalNoise(), bank((0.0,)))
    mean, deviation = (x[0, 0] for x in mixture.noises.logs())
    assert fits
    assert abs(mean - np.log(2.0)) < 4 * deviation
    assert deviation < 0.1


def test_disturbances_are_chosen_by_evidence(window, starts):
    problem = p2.make_problem(ProblemOptions(max_step=0.005, disturbance_time=0.2))
    pushed = Window(disturbed(window.frames), *problem.first_state(window.frames))
    chosen = []
    for each in (replace(pushed, frames=window.frames), pushed):
        begins = begins_at(problem, each, starts)
        mixture, _, fits = fit_by_smoothing(
            problem, each, begins, NormalNoise(), bank((0.0, 0.03))
        )
        assert fits
        chosen.append(mixture.disturbances.sizes[mixture.heaviest()])
    assert chosen == [0.0, 0.03]


def disturbed(frames):
    """Return frames that leave out a part of what the elbow's motor does."""
    left_out = [np.array([0.0, 0.08 * np.sin(0.4 * k)]) for k in range(len(frames))]
    return tuple(
        replace(frame, inputs=tuple((at, values + more) for at, values in frame.inputs))
        for frame, more in zip(frames, left_out)
    )


def test_a_fixed_lag_smoother_agrees_with_one_that_does_not_need_to(problem, window, starts):
    known = smoothed(problem, window, NormalNoise(), starts[:, :1]).mixture
    lag, plain = FixedLagWindow.begun(known), known
    for frame in p2.draw(5, 1.6)[1][FRAMES:]:
        lag = fixed_lag_update(problem, lag, frame, NormalNoise(), 8).lag
        plain = measurement_update(problem, plain, frame, NormalNoise()).mixture
    step = fixed_lag_update(problem, FixedLagWindow.begun(plain), frame, NormalNoise(), 8)
    assert len(lag.frames) == 8
    deviations = np.linalg.norm(plain.parameter_roots()[0], axis=-1)
    late = lag.known.means[:, 0] - plain.means[:, 0]
    assert (np.abs(late) < 0.5 * deviations).all()
    assert step.rows == 2


def test_a_fixed_lag_smoother_does_not_work_out_again_what_it_knows(window, starts):
    problem = p2.make_problem(ProblemOptions(max_step=0.005, disturbance_time=0.2))
    frames = disturbed(p2.draw(5, 1.1)[1])
    pushed = Window(frames[:FRAMES], *problem.first_state(frames[:FRAMES]))
    begins = begins_at(problem, pushed, starts[:, :1])
    known = fit_by_smoothing(problem, pushed, begins, NormalNoise(), bank((0.01, 0.03)))[0]
    columns, linearize = [], problem.linearize

    def counted(points, *arguments):
        columns.append(points.shape[1])
        return linearize(points, *arguments)

    problem.linearize = counted
    lag = forgetful = FixedLagWindow.begun(known)
    for frame in frames[FRAMES:]:
        columns.clear()
        step = fixed_lag_update(problem, lag, frame, NormalNoise(), 2).pruned(1e-6, 0.5)
        # The new frame, and once more all of three, with what disturbs the robot and without.
        assert len(lag.frames) < 2 or columns == [2 * lag.known.size, 6 * lag.known.size]
        lag = step.lag
        again = replace(forgetful, steps=())
        again = fixed_lag_update(problem, again, frame, NormalNoise(), 2).pruned(1e-6, 0.5)
        forgetful = again.lag
        assert step.log_evidence == pytest.approx(again.log_evidence, abs=1e-6)
    assert len(lag.steps) == 2
    for name in ('means', 'points', 'roots', 'log_weights'):
        found, wanted = (getattr(each.mixture, name) for each in (step, again))
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)
    few = fixed_lag_update(problem, lag, frame, StudentNoise(8.0), 2).lag
    assert few.steps == ()


def test_how_probable_a_frame_is_does_not_hang_on_how_many_samples_those_before_have(
    problem, window, starts
):
    known = smoothed(problem, window, NormalNoise(), starts[:, :1]).mixture
    seen, unseen = p2.draw(5, 1.0)[1][FRAMES : FRAMES + 2]
    lag = fixed_lag_update(problem, FixedLagWindow.begun(known), seen, NormalNoise(), 8).lag
    step = fixed_lag_update(problem, lag, replace(unseen, samples=()), NormalNoise(), 8)
    assert (step.rows, step.log_evidence) == (0, pytest.approx(0.0, abs=1e-9))


def test_of_twins_the_one_that_stays_has_the_weight_of_both_in_all_the_window(problem, window):
    starts = problem.prior.mean[:, None]
    one = smoothed(problem, window, NormalNoise(), starts).mixture
    two = one.pick([0, 0])
    frames = p2.draw(5, 1.0)[1][FRAMES : FRAMES + 3]
    twins, single = FixedLagWindow.begun(two), FixedLagWindow.begun(one)
    for frame in frames:
        step = fixed_lag_update(problem, twins, frame, NormalNoise(), 8).pruned(1e-6, 0.5)
        twins = step.lag
        single = fixed_lag_update(problem, single, frame, NormalNoise(), 8).lag
    assert twins.known.size == 1
    assert twins.known.log_weights[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(twins.trajectories.points, single.trajectories.points, atol=1e-12)


def test_courses_found_before_are_led_on_by_a_filter_and_are_half_of_the_starts(problem, window):
    short = replace(window, frames=window.frames[:60])
    begins = begins_at(problem, short, problem.prior.mean[:, None])
    mixture, trajectories, fits = fit_by_smoothing(
        problem, short, begins, NormalNoise(), bank((0.0,))
    )
    draws = np.full((len(problem.labels), 4), 7.0)
    led = first_trajectories(problem, window, draws, NormalNoise(), mixture, trajectories)
    assert fits
    assert led.points.shape == (FRAMES + 1, problem.point_size, 4)
    np.testing.assert_array_equal(led.points[:61, :, 0], trajectories.points[..., 0])
    np.testing.assert_array_equal(led.parameters[:, 1:], draws[:, 1:])
    angles = np.array([frame.samples[0].values for frame in window.frames])
    assert np.abs(led.points[1:, :2, 0] - angles).max() < 6 * p2.NOISE


class Edge:
    """A problem of one number whose row is its root: straight steps go twice too far."""

    point_size, tangent_size, sd, blunt = 1, 1, 1e-3, 1e-4

    def linearize(self, points, parameters, frames, disturbances=None):
        """Return the `Linearization` of frames that leave the state where it is."""
        x = parameters[0]
        near = x**2 + self.blunt
        slope = np.stack([np.zeros_like(x), near**-1.25 * (x**2 / 2 + self.blunt)], 1)
        transition = np.tile([[1.0, 0.0]], (len(x), 1, 1))
        residual = (x * near**-0.25)[:, None] / self.sd
        return Linearization(points, transition, residual, slope[:, None] / self.sd)

    def process_noise(self, frames, disturbances, parameters, states):
        """Return that nothing is added."""
        return np.zeros((len(frames), len(disturbances), 1))

    def input_noise(self, frame):
        """Return that nothing pushes."""
        return np.zeros(1)

    def local(self, starts, ends):
        """Return the way between."""
        return ends - starts

    def retract(self, points, deltas):
        """Return the points moved."""
        return points + deltas


def test_beside_courses_that_fit_nothing_there_is_one_that_begins_anew(problem, window):
    draws = problem.prior.mean[:, None]
    astray = Trajectories(np.zeros((2, problem.point_size, 1)), draws + 3.0)
    mixture = known_before(problem, window, 1)
    for is_astray in (False, True):
        found = first_trajectories(
            problem, window, draws, NormalNoise(), mixture, astray, is_astray
        )
        assert found.parameters.shape[1] == 1 + is_astray
        np.testing.assert_array_equal(found.parameters[:, 0], astray.parameters[:, 0])
    np.testing.assert_array_equal(found.parameters[:, 1], problem.prior.mean)
    guess = problem.first_trajectory(window.frames)
    np.testing.assert_array_equal(found.points[..., 1], guess)


def test_moves_that_lead_to_and_fro_over_an_edge_end_on_it():
    frames = p2.draw(5, 0.1)[1][:1]
    known = Mixture(np.zeros(1), np.zeros((1, 1)), np.full((1, 1), 0.5), np.eye(2)[None])
    smoother = Smoother(Edge(), frames, NormalNoise(), known)
    found = smoother.run(Trajectories(np.zeros((2, 1, 1)), np.full((1, 1), 0.5)))
    assert found.is_converged.all()
    assert abs(found.mixture.means[0, 0]) < 1e-3
