"""Filters, smoothers, fits and evidence against the exact answer to a linear problem."""

from dataclasses import replace

from linear_gaussian import (
    Exact,
    JUMP_SD,
    known_before,
    LABELS,
    LinearProblem,
    measured,
    PERIOD,
    PRIOR,
    SD,
    simulate,
)
import numpy as np
import pytest

from sim2real_estimator.estimation.batch.fit import fit, Objective, Window
from sim2real_estimator.estimation.batch.multi_start import mixture_at_end
from sim2real_estimator.estimation.changes.isolation import change_evidence
from sim2real_estimator.estimation.drift import STILL
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.estimation.filter.smoother import Smoother, Trajectories
from sim2real_estimator.estimation.filter.update import (
    fixed_lag_update,
    FixedLagWindow,
    measurement_update,
)
from sim2real_estimator.estimation.gaussian import log_normalized
from sim2real_estimator.estimation.merging import merge
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.estimation.noise import NormalNoise
from sim2real_estimator.estimation.windows.shooting import fit_window
from sim2real_estimator.reported_events import Explained, Happened

PROBLEM, NOISE = LinearProblem(), NormalNoise()
SCALES = (0.0, 0.3, 1.0)
CLOSE = {'rtol': 1e-7, 'atol': 1e-9}


def assert_is_exact(mixture, exact, component=0, bound=None):
    """Compare a component of a mixture with the exact mean and covariance at the end."""
    mean, covariance = exact.at_end if bound is None else exact.at_bound(bound)
    found = np.concatenate([mixture.points[:, component], mixture.means[:, component]])
    root = mixture.roots[component]
    np.testing.assert_allclose(found, mean, **CLOSE)
    np.testing.assert_allclose(root @ root.T, covariance, **CLOSE)


def filtered(frames, scales=SCALES, depth=None):
    """Return the mixture after all frames; depth: of a filter that looks back."""
    mixture = known_before(scales)
    lag = None if depth is None else FixedLagWindow.begun(mixture)
    for frame in frames:
        if lag is None:
            mixture = measurement_update(PROBLEM, mixture, frame, NOISE).mixture
        else:
            step = fixed_lag_update(PROBLEM, lag, frame, NOISE, depth)
            mixture, lag = step.mixture, step.lag
    return mixture


@pytest.mark.parametrize('depth', [None, 1, 4, 100])
@pytest.mark.parametrize('seed', range(3))
def test_a_filter_is_exact_and_weighs_disturbances_by_their_evidence(depth, seed):
    frames = simulate(40, seed, scale=0.3).frames
    found = filtered(frames, depth=depth)
    exact = [Exact(frames, scale) for scale in SCALES]
    for component, each in enumerate(exact):
        assert_is_exact(found, each, component)
    expected = log_normalized(np.array([each.log_evidence for each in exact]))
    np.testing.assert_allclose(found.log_weights, expected, **CLOSE)


def test_log_evidence_of_frames_adds_up_to_that_of_all():
    frames, mixture, total = simulate(30, 5).frames, known_before(), 0.0
    for frame in frames:
        step = measurement_update(PROBLEM, mixture, frame, NOISE)
        mixture, total = step.mixture, total + step.log_evidence
    # Residuals are in standard deviations of the noise: of densities by that unit.
    unit = len(frames) * np.log(0.02)
    assert total - unit == pytest.approx(Exact(frames).log_evidence, rel=1e-9)


@pytest.mark.parametrize('seed', range(3))
def test_a_smoother_finds_every_state_as_exactly_as_the_last(seed):
    frames, known = simulate(40, seed, scale=0.3).frames, known_before(SCALES)
    smoother = Smoother(PROBLEM, frames, NOISE, known)
    rng = np.random.default_rng(seed)
    begin = Trajectories(
        rng.standard_normal((41, 2, len(SCALES))), rng.standard_normal((2, len(SCALES)))
    )
    found = smoother.run(begin)
    assert found.is_converged.all()
    for column, scale in enumerate(SCALES):
        exact = Exact(frames, scale)
        assert_is_exact(found.mixture, exact, column)
        states = np.array([exact.at_bound(k)[0][:2] for k in range(41)])
        np.testing.assert_allclose(found.trajectories.points[..., column], states, **CLOSE)
    gained = found.log_evidence - found.log_evidence[0]
    exact = np.array([Exact(frames, scale).log_evidence for scale in SCALES])
    np.testing.assert_allclose(gained, exact - exact[0], rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize('seed', range(3))
def test_a_fit_of_the_first_seconds_is_exact_from_any_start(seed):
    frames, rng = simulate(25, seed).frames, np.random.default_rng(seed)
    objective = Objective(PROBLEM, Window(frames, *PROBLEM.first_state(frames)), NOISE)
    starts = PRIOR.mean[:, None] + PRIOR.root @ rng.standard_normal((2, 3))
    fits = fit(objective, np.zeros((2, 3)), starts, tolerance=1e-12)
    best = fits.pick([int(np.argmin(fits.costs))])
    found = mixture_at_end(PROBLEM, objective.window, best, np.zeros(1), STILL)
    assert_is_exact(found, Exact(frames))


@pytest.mark.parametrize('seed', range(4))
def test_evidence_of_jumps_is_exact(seed):
    at, (first, second) = 15, PROBLEM.model_changes(None)
    frames = simulate(40, seed, jump=np.array([0.0, 0.8]), at=at).frames
    known = filtered(frames[:at], (0.0,))
    smoother = Smoother(PROBLEM, frames[at:], NOISE, known)
    states = PROBLEM.trajectory(known.points, known.means, frames[at:])
    steps = smoother.forward(Trajectories(states, known.means), None)
    told, plain = change_evidence(steps, 2), Exact(frames).log_evidence
    for jump in (first, second):
        exact, (gain, _, _) = Exact(frames, jump=jump, at=at), told.of(jump.root)
        assert gain == pytest.approx(exact.log_evidence - plain, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize('seed', range(3))
def test_a_window_tells_of_parameters_what_is_left_without_its_first_state(seed):
    run = simulate(30, seed)
    at = run.parameters[0] + np.array([0.3, -0.2])
    guess, unknown = (run.states[0] + [0.1, -0.1], np.zeros(0)), PROBLEM.constant_efforts
    window = fit_window(PROBLEM, run.frames, guess, at, np.ones(1), unknown)
    rows, _, _, _ = Exact(run.frames)._joint
    values = np.array([measured(frame) for frame in run.frames])
    first, by, left = rows[:, :2] / SD, rows[:, 2:4] / SD, (rows[:, 2:4] @ at - values) / SD
    free = np.eye(len(left)) - first @ np.linalg.pinv(first)
    near = {'rtol': 1e-5, 'atol': 1e-5 * np.abs(by.T @ free @ by).max()}
    np.testing.assert_allclose(window.gram, by.T @ free @ by, **near)
    np.testing.assert_allclose(window.gradient_at(at), by.T @ free @ left, **near)
    assert window.cost == pytest.approx(left @ free @ left, rel=1e-6)


def test_posteriors_of_two_recordings_join_exactly():
    # Of one and the same point: recordings that contradict each other count for less.
    runs = [simulate(20, seed, truth=np.array([0.7, -0.1])).frames for seed in (0, 1)]
    parts, precision, pull = [], -np.linalg.inv(PRIOR.covariance), 0.0
    for frames in runs:
        mean, covariance = (part[-2:] for part in Exact(frames).at_end)
        information = np.linalg.inv(covariance[:, -2:])
        precision, pull = precision + information, pull + information @ mean
        root = np.linalg.cholesky(covariance[:, -2:])[None]
        parts.append(Mixture(np.zeros(1), np.zeros((0, 1)), mean[:, None], root))
    pull = pull - np.linalg.solve(PRIOR.covariance, PRIOR.mean)
    joined = merge(parts, PRIOR)
    np.testing.assert_allclose(joined.means[:, 0], np.linalg.solve(precision, pull), **CLOSE)
    np.testing.assert_allclose(
        joined.parameter_covariances()[0], np.linalg.inv(precision), **CLOSE
    )


def followed(frames, **settings):
    """Return (estimator's last state, events) of the estimator of the filter."""
    estimator = ESTIMATORS['gaussian_sum'](
        disturbances=(0.0,), friction_errors=(), drift=0.0, **settings
    )
    estimator = replace(
        estimator, drift_of_dissipation=0.0, drift_of_efforts=0.0, drift_of_clocks=0.0
    )
    state, events = estimator.init(PROBLEM), []
    for frame in frames:
        state, report = estimator.update(PROBLEM, state, frame)
        events += [(frame.end_ns, event) for event in report.events]
    return estimator.mixture(PROBLEM, state), events


@pytest.mark.parametrize('seed', range(3))
def test_the_estimator_is_exact_from_its_first_fit_to_the_end(seed):
    frames = simulate(150, seed).frames
    found, events = followed(frames, handover=0.5)
    kinds = Happened.HANDED_OVER, Happened.CHANGED
    assert [event for _, event in events if event in kinds] == [Happened.HANDED_OVER]
    mean, covariance = Exact(frames).at_end
    deviations = np.sqrt(np.diag(covariance))
    away = np.concatenate([found.points[:, 0], found.means[:, 0]]) - mean
    # The first fit ends where a step gains less than a thousandth of a unit of cost.
    assert np.abs(away / deviations).max() < 0.05
    np.testing.assert_allclose(found.roots[0] @ found.roots[0].T, covariance, rtol=1e-3, atol=1e-9)


def test_a_frame_that_cannot_be_computed_loses_the_state_and_not_the_parameters():
    frames = list(simulate(140, 4).frames)
    broken = frames[100]
    inputs = ((broken.start_ns, np.array([np.nan])),)
    frames[100] = replace(broken, inputs=inputs)
    found, events = followed(frames, handover=0.5)
    assert (broken.end_ns, Happened.UPDATE_REFUSED) in events
    assert Happened.CHANGED not in [event for _, event in events]
    before, _ = followed(frames[:100], handover=0.5)
    # Forty frames more narrow what a hundred have told.
    assert (found.parameter_covariances()[0] <= before.parameter_covariances()[0] + 1e-9).all()
    off = found.means[:, 0] - simulate(140, 4).parameters[-1]
    assert off @ np.linalg.solve(found.parameter_covariances()[0], off) < 10.0


@pytest.mark.parametrize('which', [0, 1])
def test_the_estimator_isolates_what_has_changed_and_goes_on_exactly(which):
    at, jump = 100, 1.5 * np.eye(2)[which]
    run = simulate(250, 7, jump=jump, at=at)
    found, events = followed(run.frames, handover=0.5)
    happened = [event for _, event in events]
    assert Happened.CHANGED in happened and Happened.FORGOTTEN not in happened
    (explained,) = [event for event in happened if isinstance(event, Explained)]
    assert LABELS[which] in explained.cause
    noticed = next(stamp for stamp, event in events if event == Happened.CHANGED)
    assert noticed - at * PERIOD * 1e9 < 1e9
    off = found.means[:, 0] - run.parameters[-1]
    spread = found.parameter_covariances()[0]
    assert off @ np.linalg.solve(spread, off) < 10.0
    assert np.sqrt(spread[which, which]) < 0.1 * JUMP_SD
