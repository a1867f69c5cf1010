"""Sensors whose noise is unknown: its scale is estimated together with everything else."""

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
from problems import p2
import pytest
from scipy.special import gammaln

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'prediction'))
from robots import ball_arm, ball_arm_frames  # noqa: E402, needs the line above

from sim2real_estimator.estimation.batch.fit import Objective, Window  # noqa: E402
from sim2real_estimator.estimation.estimators.gaussian_sum import FilterState, GaussianSum
from sim2real_estimator.estimation.gaussian import measure  # noqa: E402
from sim2real_estimator.estimation.merging import merge  # noqa: E402
from sim2real_estimator.estimation.mixture import Mixture  # noqa: E402
from sim2real_estimator.estimation.noise import (  # noqa: E402
    fit_noise_scales,
    NoiseScales,
    NormalNoise,
    ScaledNoise,
    StudentNoise,
    update_noise_scales,
    whitened,
)
from sim2real_estimator.estimation.protocol import Gaussian, Linearization  # noqa: E402
from sim2real_estimator.observability.findings import find, summarize  # noqa: E402
from sim2real_estimator.observability.null_space import tangents_of  # noqa: E402
from sim2real_estimator.parameters.parametrization import DirectParametrization, Prior  # noqa: E402
from sim2real_estimator.prediction.robot_problem import RobotProblem  # noqa: E402
from sim2real_estimator.records import Frame  # noqa: E402
from sim2real_estimator.sensors import JointPositions, LinkPose, Marker  # noqa: E402

PRIOR = Prior(1.0, 0.5, True)


def frame_of(residual, slope):
    """Return a frame's linearisation of which only rows matter."""
    return Linearization(None, None, residual, slope)


def test_priors_have_the_deviations_they_are_given():
    noises = NoiseScales.of_priors(np.log([1.0, 3.0]), [0.5, 0.02])
    means, deviations = noises.logs()
    np.testing.assert_allclose(means[:, 0], np.log([1.0, 3.0]), atol=1e-9)
    np.testing.assert_allclose(deviations[:, 0], [0.5, 0.02], rtol=1e-6)


def test_residuals_of_a_known_state_count_in_full():
    generator = np.random.default_rng(0)
    noises = NoiseScales.of_priors([0.0], [0.5])
    shape, rate = noises.shapes[0, 0], noises.rates[0, 0]
    rows = 3.0 * generator.standard_normal((200, 1, 2))
    root, sensors = 1e-9 * np.eye(2)[None], np.zeros(2, dtype=int)
    for residual in rows:
        found, _ = whitened(noises, sensors, frame_of(residual, np.eye(2)[None]))
        update = measure(root, found.residual, found.slope)
        noises = update_noise_scales(noises, sensors, found, update, NormalNoise())
    assert noises.shapes[0, 0] == pytest.approx(shape + 200)
    assert noises.rates[0, 0] == pytest.approx(rate + 0.5 * (rows**2).sum(), rel=1e-6)


def test_what_the_state_explains_tells_nothing_of_the_noise():
    noises = NoiseScales.of_priors([0.0], [0.5])
    found, _ = whitened(noises, np.zeros(1, int), frame_of(np.array([[50.0]]), np.ones((1, 1, 1))))
    update = measure(np.full((1, 1, 1), 1e4), found.residual, found.slope)
    after = update_noise_scales(noises, np.zeros(1, int), found, update, NormalNoise())
    np.testing.assert_allclose(after.logs(), noises.logs(), atol=1e-3)


def test_rows_that_a_frame_has_not_say_nothing():
    noises = NoiseScales.of_priors([0.0, 0.0], [0.5, 0.5])
    sensors, slope = np.array([0, 1, -1]), np.zeros((1, 3, 2))
    slope[0, 2, 0] = 1.0
    found, cost = whitened(noises, sensors, frame_of(np.array([[0.0, 0.0, 2.0]]), slope))
    update = measure(np.eye(2)[None], found.residual, found.slope)
    assert cost == 0 and found.residual[0, 2] == 2.0
    after = update_noise_scales(noises, sensors, found, update, NormalNoise())
    np.testing.assert_array_equal(after.shapes, noises.shapes)
    np.testing.assert_array_equal(after.rates, noises.rates)


def test_the_cost_of_a_batch_is_that_of_all_scales_together():
    generator = np.random.default_rng(1)
    prior = NoiseScales(np.array([[1.4], [3.0]]), np.array([[0.8], [5.0]]))
    sensors = np.array([0, 1, -1, 0, 0, 1])
    noise = ScaledNoise(NormalNoise(), sensors, prior)
    residual = generator.standard_normal((4, 6))
    expected = 0.5 * residual[:, 2] ** 2
    for j in range(2):
        rows = np.flatnonzero(sensors == j)
        shape = prior.shapes[j] + 0.5 * len(rows)
        expected = expected + shape * np.log(
            prior.rates[j] + 0.5 * (residual[:, rows] ** 2).sum(1)
        )
    away = noise.cost(residual).sum(1) - expected
    np.testing.assert_allclose(away, away[0])


@pytest.mark.parametrize('base', [NormalNoise(), StudentNoise()], ids=['normal', 'student'])
def test_weights_of_a_batch_are_the_slopes_of_its_cost(base):
    residual = 2 * np.random.default_rng(2).standard_normal((1, 30))
    prior = NoiseScales.of_priors([0.0], [0.5])
    noise = ScaledNoise(base, np.arange(30) % 2 - 1, prior)
    slope = (noise.weight(residual) * residual)[0]
    for k in range(0, 30, 7):
        step = np.zeros((1, 30))
        step[0, k] = 1e-5
        change = noise.cost(residual + step).sum() - noise.cost(residual - step).sum()
        assert change / 2e-5 == pytest.approx(slope[k], rel=1e-3, abs=1e-4)


def test_what_a_fit_has_taken_up_is_put_back():
    generator, count, unknown, factor = np.random.default_rng(3), 60, 20, 3.0
    prior = NoiseScales.of_priors([0.0], [3.0])
    found, naive = [], []
    for _ in range(100):
        slope = generator.standard_normal((count, unknown))
        noise = factor * generator.standard_normal(count)
        left = noise - slope @ np.linalg.lstsq(slope, noise, rcond=None)[0]
        scaled = ScaledNoise(NormalNoise(), np.zeros(count, dtype=int), prior)
        _, noises = fit_noise_scales(scaled, left[None], slope[None], 1e-9 * np.eye(unknown))
        found.append([each[0, 0] for each in noises.logs()])
        naive.append(np.log(np.sqrt((left**2).mean())))
    means, deviations = np.array(found).T
    assert abs((means - np.log(factor)).mean()) < 0.03
    assert np.mean(naive) - np.log(factor) < -0.15
    # As many degrees of freedom as are left.
    assert deviations.mean() == pytest.approx(1 / np.sqrt(2 * (count - unknown)), rel=0.05)


def test_every_row_is_known_by_its_sensor():
    parameters = ball_arm()
    model, names = parameters.model, {'hand.mass': Prior(0.4, 0.3, True)}

    def problem_with(factor):
        sensors = (
            JointPositions('encoder', model, ['wrist'], 1e-3),
            LinkPose('rod pose', model, 'rod', position_sd=1e-3, orientation_sd=2e-3),
            Marker('marker', model, 'hand', (0.0, 0.1, -0.2), factor * 1e-3),
        )
        noises = {'rod pose': PRIOR, 'marker': PRIOR}
        return RobotProblem(parameters, sensors, DirectParametrization(names), noises=noises)

    frames = ball_arm_frames(np.random.default_rng(0))
    one, other = problem_with(1.0), problem_with(4.0)
    points = np.repeat(one.neutral[:, None], 2, 1)
    means = np.full((1, 2), np.log(0.4))
    residuals = [p.linearize(points, means, frames).residual[0] for p in (one, other)]
    of = one.row_noises(frames)
    assert len(of) == len(residuals[0]) and set(of) == {-1, 0, 1}
    np.testing.assert_allclose(residuals[0], np.where(of == 1, 4.0, 1.0) * residuals[1])


def test_posteriors_of_two_recordings_multiply():
    prior, noise_prior = Gaussian(np.zeros(1), np.eye(1)), NoiseScales.of_priors([0.0], [0.5])

    def recording(noises):
        return Mixture(
            np.zeros(1), np.zeros((0, 1)), np.zeros((1, 1)), np.eye(1)[None], None, noises
        )

    parts = [
        NoiseScales(noise_prior.shapes + n / 2, noise_prior.rates + n / 2 * square)
        for n, square in ((40, 4.1), (60, 3.8))
    ]
    merged = merge([recording(part) for part in parts], prior, noise_prior).noises
    np.testing.assert_allclose(merged.shapes, noise_prior.shapes + 50)
    np.testing.assert_allclose(merged.rates, noise_prior.rates + 20 * 4.1 + 30 * 3.8)
    assert merged.log_normalizer() == pytest.approx(
        gammaln(merged.shapes[0, 0]) - merged.shapes[0, 0] * np.log(merged.rates[0, 0])
    )
    one = merged.matched(np.ones(1))
    np.testing.assert_allclose(one.logs(), merged.logs(), rtol=1e-6)


def problem_of(factor, noises=None):
    return p2.make_problem(noise=p2.NOISE / factor, noises=noises)


def run(problem, frames, estimator):
    state = estimator.init(problem)
    for frame in frames:
        state, _ = estimator.update(problem, state, frame)
    return state


def log_away(problem, mixture, factor):
    """Return the error of the factor on the noise in standard deviations, and these."""
    mean, sd = mixture.noises.moments(mixture.weights)
    return (mean[0] - np.log(factor)) / sd[0], sd[0]


@pytest.mark.parametrize(('factor', 'noise'), [(0.5, NormalNoise()), (2.0, StudentNoise())])
def test_the_noise_of_encoders_is_found(factor, noise):
    problem = problem_of(factor, {'encoders': PRIOR})
    truth, frames = p2.draw(3, seconds=2.5)
    if noise.expects_outliers:
        frames = with_student_noise(truth, frames)
    estimator = GaussianSum(noise=noise)
    state = run(problem, frames, estimator)
    assert isinstance(state, FilterState)
    away, sd = log_away(problem, state.mixture, factor)
    share = noise.scale_share
    assert abs(away) < 3
    assert sd == pytest.approx(1 / np.sqrt(2 * share * 2 * len(frames)), rel=0.15)
    found = find(problem, state.mixture, 0, exact=False).parameters[-1]
    assert (found.name, found.verdict) == ('encoders.noise', 'identified')
    estimate = summarize(
        problem, state.mixture, 0, None, (), tangents_of(problem.parametrization, state.mixture)
    )
    assert estimate.names[-1] == 'encoders.noise'
    assert estimate.mean[-1] == pytest.approx(factor, rel=4 * sd)
    assert estimate.sd[-1] == pytest.approx(sd * estimate.mean[-1], rel=0.01)


def with_student_noise(truth, frames):
    """Return the frames of P2 with Student-t noise in place of normal noise."""
    noise = p2.NOISE * np.random.default_rng(4).standard_t(4, (len(frames), 2))
    return tuple(
        replace(frame, samples=(replace(frame.samples[0], values=state[:2] + row),))
        for frame, state, row in zip(frames, truth.states, noise)
    )


def test_after_a_gap_the_noise_is_still_known():
    problem, estimator = problem_of(2.0, {'encoders': PRIOR}), GaussianSum(starts=4)
    _, frames = p2.draw(3, seconds=3.0)
    before = run(problem, frames[:251], estimator)
    first = frames[260]
    again = Frame(first.end_ns, first.end_ns, first.samples, first.inputs, after_gap=True)
    state = before
    for frame in (again, *frames[261:280]):
        state, _ = estimator.update(problem, state, frame)
    assert isinstance(before, FilterState) and isinstance(state, FilterState)
    assert (state.mixture.noises.shapes > before.mixture.noises.shapes.max()).all()
    assert abs(log_away(problem, state.mixture, 2.0)[0]) < 3


def test_before_any_data_the_prior_is_told():
    problem = problem_of(1.0, {'encoders': PRIOR})
    estimator = GaussianSum()
    mixture = estimator.mixture(problem, estimator.init(problem))
    estimate = summarize(
        problem, mixture, 0, None, (), tangents_of(problem.parametrization, mixture)
    )
    assert (estimate.mean[-1], estimate.sd[-1]) == (pytest.approx(1.0), pytest.approx(0.5))
    found = find(problem, mixture, 0, exact=False).parameters[-1]
    assert found.verdict == 'prior-only' and found.prior_sd == pytest.approx(0.5)


def test_where_it_is_not_asked_for_nothing_is_there():
    problem = problem_of(1.0)
    _, frames = p2.draw(3, seconds=0.2)
    state = run(problem, frames, GaussianSum())
    assert problem.noise_prior is None and state.mixture.noises is None
    objective = Objective(problem, Window(frames, *problem.first_state(frames)), NormalNoise())
    assert isinstance(objective.noise, NormalNoise)
