"""A window of motion: what its cost is said to be about some parameters, and what it is."""

from dataclasses import replace

import numpy as np
from posteriors import pipeline_of
import pytest
from simulated import config as shipped_config
from simulated import record

from sim2real_estimator.estimation.noise import StudentNoise
from sim2real_estimator.estimation.windows.shooting import fit_window
from sim2real_estimator.records import Sample

WINDOW = 15


@pytest.fixture(scope='module')
def problem():
    return pipeline().problem


def pipeline():
    settings = shipped_config()
    settings = replace(settings, estimator=replace(settings.estimator, name='multiple_shooting'))
    return pipeline_of({'frames.max_rate': 50.0}, settings)


@pytest.fixture(scope='module')
def frames():
    """Return frames of a second of motion, efforts commanded."""
    recording, flow = record(1.0), pipeline()
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        flow.push(Sample('encoders', int(stamp), angles))
        flow.push(Sample('commanded_efforts', int(stamp), torques))
    flow.cut()
    return [frame for frame in flow.waiting if frame.end_ns > frame.start_ns][:WINDOW]


def fitted_at(problem, frames, parameters, guess=None, levels=None, **how):
    levels = np.ones(problem.channel_count) if levels is None else levels
    guess = guess or (
        problem.first_state(frames)[0],
        np.zeros(len(problem.constant_efforts.places)),
    )
    return fit_window(
        problem, tuple(frames), guess, parameters, levels, problem.constant_efforts, **how
    )


def test_first_state_and_efforts_are_at_their_optimum(problem, frames):
    window = fitted_at(problem, frames, problem.prior.mean, steps=12)
    t = problem.tangent_size
    for direction in np.eye(t + len(window.efforts)):
        costs = []
        for step in (-1e-4, 1e-4):
            move = step * direction
            point = problem.retract(window.trajectory[0][:, None], move[:t, None])[:, 0]
            guess = point, window.efforts + move[t:]
            # Not to be improved: a trajectory of its own.
            found = fitted_at(problem, frames, window.at, guess, steps=0, is_near=True)
            costs.append(_cost_along(problem, frames, guess, window.at))
            assert found is not None
        assert min(costs) >= window.cost * (1 - 1e-6)


def _cost_along(problem, frames, guess, parameters):
    """Return the sum of squares of a trajectory, nothing eliminated, by the problem itself."""
    point, efforts = guess
    moved = parameters.copy()
    moved[problem.constant_efforts.places] += efforts
    state, cost = point[:, None], ((efforts / problem.constant_efforts.sd) ** 2).sum()
    for frame in frames:
        found = problem.linearize(state, moved[:, None], (frame,))
        rows = problem.channel_means(frame) @ found.residual[0]
        cost, state = cost + np.nansum(rows**2), found.ends
    return cost


def test_the_quadratic_is_what_other_parameters_cost(problem, frames):
    window = fitted_at(problem, frames, problem.prior.mean, steps=12)
    generator = np.random.default_rng(0)
    for _ in range(3):
        step = problem.prior.root @ generator.standard_normal(len(window.at))
        moved = window.at + 1e-3 * step
        there = fitted_at(problem, frames, moved, window.guess_at(problem, moved), steps=12)
        assert window.cost_at(moved) == pytest.approx(there.cost, rel=2e-4)
        assert there.gradient == pytest.approx(
            window.gradient_at(moved), rel=0.02, abs=2e-3 * np.abs(window.gradient).max()
        )


def test_a_guess_that_goes_along_needs_no_steps(problem, frames):
    window = fitted_at(problem, frames, problem.prior.mean, steps=12)
    moved = window.at + 0.02 * problem.prior.root @ np.ones(len(window.at))
    guess = window.guess_at(problem, moved)
    at_once = fitted_at(problem, frames, moved, guess, steps=0, is_near=True)
    converged = fitted_at(problem, frames, moved, guess, steps=12)
    assert at_once.cost == pytest.approx(converged.cost, rel=1e-2)
    assert np.linalg.eigvalsh(at_once.gram).min() > -1e-9 * np.abs(at_once.gram).max()


def test_a_sample_far_off_moves_a_fit_by_students_t_hardly(problem, frames):
    usual = fitted_at(problem, frames, problem.prior.mean, steps=12)
    levels = np.sqrt((usual.left**2).mean(0))

    def first_state(some, **how):
        window = fitted_at(problem, some, problem.prior.mean, levels=levels, steps=12, **how)
        return window.trajectory[0], window

    wild, frame = list(frames), frames[WINDOW // 2]
    moved = [
        replace(sample, values=sample.values + 0.5) if sample.sensor == 'encoders' else sample
        for sample in frame.samples
    ]
    wild[WINDOW // 2] = replace(frame, samples=tuple(moved))
    right, _ = first_state(frames)
    normal, _ = first_state(wild)
    robust, window = first_state(wild, noise=StudentNoise())
    assert np.abs(robust - right).max() < 0.3 * np.abs(normal - right).max()
    # Rows that are far off have weights, and hardly any curvature.
    assert 0.4 <= window.curvature < 1.0
    assert first_state(frames)[1].curvature == 1.0


def test_a_fit_that_diverges_is_none(problem, frames):
    invalid = problem.prior.mean.copy()
    invalid[:] = np.nan
    assert fitted_at(problem, frames, invalid) is None


def test_means_are_by_channel_whatever_the_number_of_samples(problem, frames):
    frame = frames[3]
    means = problem.channel_means(frame)
    count = sum(sample.sensor == 'encoders' for sample in frame.samples)
    assert means.shape == (2, 2 * count)
    assert means @ np.tile([3.0, 5.0], count) == pytest.approx([3.0, 5.0])
    none = problem.channel_means(replace(frame, samples=()))
    assert none.shape == (2, 0)


def test_frames_without_samples_say_nothing(problem, frames):
    some = [replace(f, samples=()) if k % 3 else f for k, f in enumerate(frames)]
    window = fitted_at(problem, some, problem.prior.mean)
    assert np.isfinite(window.left).all(1).tolist() == [k % 3 == 0 for k in range(len(frames))]
    whole = fitted_at(problem, frames, problem.prior.mean)
    assert window.cost < whole.cost
