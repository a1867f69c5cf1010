"""Gaps, unknown efforts and rest: what is known is kept, what is not is not made up."""

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'prediction'))
from robots import MILLI, pendulum, PENDULUM_PRIORS, priors  # noqa: E402, needs the line above

from sim2real_estimator.backend.simulator import Simulator  # noqa: E402
from sim2real_estimator.estimation.changes.pending import PendingChange  # noqa: E402
from sim2real_estimator.estimation.estimators.gaussian_sum import (
    BatchState,
    FilterState,
    GaussianSum,
)
from sim2real_estimator.parameters.parametrization_choice import choose_parametrization  # noqa: E402
from sim2real_estimator.prediction.robot_problem import RobotProblem  # noqa: E402
from sim2real_estimator.records import Frame, Sample  # noqa: E402
from sim2real_estimator.reported_events import Happened, SensorRight, SensorWrong
from sim2real_estimator.sensors import JointPositions  # noqa: E402

NOISE = 1e-3
NAMES = ('lower.mass', 'elbow.damping', 'shoulder.damping')
TRUTH = {'lower.mass': 1.0, 'elbow.damping': 0.06, 'shoulder.damping': 0.06}
# What is known must come through a gap as it was.
ESTIMATOR = GaussianSum(starts=4, drift=0.0, drift_of_dissipation=0.0, drift_of_efforts=0.0)


@pytest.fixture(scope='module')
def problem():
    parameters = pendulum()
    sensors = (JointPositions('encoder', parameters.model, ['shoulder', 'elbow'], NOISE),)
    chosen = priors(parameters, {n: PENDULUM_PRIORS[n] for n in NAMES})
    return RobotProblem(parameters, sensors, choose_parametrization(parameters, sensors, chosen))


@pytest.fixture(scope='module')
def frames():
    """Return 3 s of frames at 100 Hz under torques."""
    generator = np.random.default_rng(5)
    model, count = pendulum().model, 300
    times = 0.01 * np.arange(count)
    torques = np.stack([1.2 * np.sin(7 * times + 1), 0.4 * np.sin(11 * times)], 1)
    simulator = Simulator(model, max_step=0.0025, values=TRUTH)
    start = simulator.neutral_state()
    start[0] = 0.8
    path = simulator.rollout(start, [0.01] * count, controls=torques).states[:, :2, 0].numpy()
    seen = path + NOISE * generator.standard_normal(path.shape)

    def frame(k):
        at = 10 * MILLI * k
        inputs = ((at - 10 * MILLI * (k > 0), torques[max(k - 1, 0)]),)
        begin = at - 10 * MILLI if k else at
        return Frame(begin, at, (Sample('encoder', at, seen[k]),), inputs)

    return [frame(k) for k in range(count)]


def run(problem, frames, state=None):
    state = ESTIMATOR.init(problem) if state is None else state
    events = []
    for frame in frames:
        state, report = ESTIMATOR.update(problem, state, frame)
        events += report.events
    return state, events


def misses(problem, state):
    """Return the errors of the parameters in standard deviations, and these."""
    mean, covariance = ESTIMATOR.mixture(problem, state).moments()
    truth = np.log([TRUTH[name] for name in problem.parametrization.names])
    sd = np.sqrt(np.diag(covariance))
    return (mean - truth) / sd, sd


def test_without_interruption_the_parameters_are_found(problem, frames):
    state, events = run(problem, frames)
    assert isinstance(state, FilterState) and Happened.HANDED_OVER in events
    away, sd = misses(problem, state)
    assert np.abs(away).max() < 4 and sd.max() < 0.05


def test_after_a_gap_the_filter_goes_on_with_what_it_knew(problem, frames):
    before, _ = run(problem, frames[:150])
    assert isinstance(before, FilterState)
    known = misses(problem, before)[1]
    first = frames[190]
    again = Frame(first.end_ns, first.end_ns, first.samples, first.inputs, after_gap=True)
    during, _ = run(problem, [again, *frames[191:196]], before)
    assert isinstance(during, BatchState)
    np.testing.assert_array_equal(misses(problem, during)[1], known)
    after, events = run(problem, [again, *frames[191:]], before)
    assert isinstance(after, FilterState) and events.count(Happened.RESUMED) == 1
    assert Happened.CHANGED not in events
    away, sd = misses(problem, after)
    assert np.abs(away).max() < 4 and (sd < known).all()


def absurd(frame):
    """Return a frame that no motion fits."""
    samples = tuple(Sample(s.sensor, s.stamp_ns, 1e160 * s.values) for s in frame.samples)
    return Frame(frame.start_ns, frame.end_ns, samples, frame.inputs)


def test_after_a_frame_that_makes_no_sense_the_filter_is_where_the_robot_is(problem, frames):
    before, _ = run(problem, frames[:150])
    state, events = run(problem, [*frames[150:160], absurd(frames[160]), *frames[161:220]], before)
    assert events == [Happened.UPDATE_REFUSED] and isinstance(state, FilterState)
    away, sd = misses(problem, state)
    assert np.abs(away).max() < 4 and (sd < misses(problem, before)[1]).all()


def off(frame, by):
    """Return a frame whose samples are off by so much [rad]."""
    samples = tuple(Sample(s.sensor, s.stamp_ns, s.values + by) for s in frame.samples)
    return replace(frame, samples=samples)


@pytest.mark.parametrize('by', [0.02, 0.2, 3.0])
def test_a_single_sample_that_is_far_off_is_left_out(problem, frames, by):
    before, _ = run(problem, frames[:150])
    spoilt = off(frames[160], np.array([0.0, by]))
    state, events = run(problem, [*frames[150:160], spoilt, *frames[161:220]], before)
    assert events == [Happened.OUTLIER] and isinstance(state, FilterState)
    left_out = replace(frames[160], samples=())
    missing, _ = run(problem, [*frames[150:160], left_out, *frames[161:220]], before)
    np.testing.assert_array_equal(state.mixture.means, missing.mixture.means)


def test_samples_that_stay_off_are_a_change(problem, frames):
    before, _ = run(problem, frames[:150])
    spoilt = [off(frame, np.array([0.0, 0.05])) for frame in frames[160:170]]
    state, events = run(problem, [*frames[150:160], *spoilt], before)
    assert events == [Happened.OUTLIER, Happened.CHANGED] and isinstance(state, PendingChange)
    # What was left out at first is evidence of what has changed.
    assert state.recent[-2].frame is spoilt[0] and state.recent[-1].frame is spoilt[1]


def test_what_no_push_does_is_a_change_once_nobody_has_seen_the_robot_for_long(problem, frames):
    before, _ = run(problem, frames[:150])
    spoilt = [off(frame, np.array([0.0, 0.5])) for frame in frames[160:200]]
    state, events = run(problem, [*frames[150:160], *spoilt[:20]], before)
    assert events == [Happened.OUTLIER, SensorWrong('encoder')] and isinstance(state, FilterState)
    # Back in time, nothing was lost but what was not seen.
    there, events = run(problem, frames[180:], state)
    assert events == [SensorRight('encoder')] and isinstance(there, FilterState)
    assert np.abs(misses(problem, there)[0]).max() < 4
    state, events = run(problem, spoilt[20:26], state)
    assert events == [Happened.CHANGED] and isinstance(state, PendingChange)
    assert [each.frame for each in state.recent[-20:-5]] == spoilt[5:20]


def test_where_nothing_that_was_known_fits_after_a_gap_it_is_forgotten(problem, frames):
    state, _ = run(problem, frames[:150])
    first = frames[190]
    again = Frame(first.end_ns, first.end_ns, first.samples, first.inputs, after_gap=True)
    events = []
    for frame in [again, *map(absurd, frames[191:240])]:
        state, report = ESTIMATOR.update(problem, state, frame)
        events += report.events
        if Happened.FORGOTTEN in events:
            break
    # Who reads events is told that nothing is known any more, and that no data are part of it.
    assert events == [*[Happened.UPDATE_REFUSED] * 3, Happened.CHANGED, Happened.FORGOTTEN]
    assert state == ESTIMATOR.init(problem)


def test_frames_after_a_gap_that_do_not_fit_wait_for_better_ones(problem, frames):
    before, _ = run(problem, frames[:150])
    first = frames[190]
    again = Frame(first.end_ns, first.end_ns, first.samples, first.inputs, after_gap=True)
    spoilt = [
        off(frame, np.array([3.0, 0.5]) * (k % 2)) for k, frame in enumerate(frames[191:215])
    ]
    after, events = run(problem, [again, *spoilt, *frames[215:]], before)
    assert set(events) == {Happened.UPDATE_REFUSED, Happened.RESUMED} and isinstance(
        after, FilterState
    )
    assert np.abs(misses(problem, after)[0]).max() < 4


def test_an_unknown_effort_widens_the_state_and_is_not_taken_for_zero(problem, frames):
    before, _ = run(problem, frames[:150])

    def blind(frame):
        return Frame(
            frame.start_ns,
            frame.end_ns,
            frame.samples,
            tuple((at, np.array([np.nan, v[1]])) for at, v in frame.inputs),
        )

    state, events = run(problem, [*map(blind, frames[150:180]), *frames[180:]], before)
    assert Happened.CHANGED not in events
    assert np.abs(misses(problem, state)[0]).max() < 4


def test_a_batch_does_not_fit_frames_with_unknown_efforts(problem, frames):
    def blind(frame):
        return Frame(
            frame.start_ns,
            frame.end_ns,
            frame.samples,
            tuple((at, np.full(2, np.nan)) for at, _ in frame.inputs),
        )

    state, events = run(problem, [*frames[:8], *map(blind, frames[8:20])])
    assert events == [Happened.EFFORTS_UNKNOWN] * 12 and state.frames == ()
    state, _ = run(problem, frames[20:30], state)
    assert len(state.frames) == 10


def test_a_robot_at_rest_stays_prior_only_and_bounded(problem):
    def still(k):
        at = 10 * MILLI * k
        begin = at - 10 * MILLI if k else at
        values = NOISE * np.random.default_rng(k).standard_normal(2)
        return Frame(begin, at, (Sample('encoder', at, values),), ((begin, np.zeros(2)),))

    estimator = GaussianSum(starts=2, longest=60)
    state, events = estimator.init(problem), set()
    for k in range(150):
        state, report = estimator.update(problem, state, still(k))
        events.update(report.events)
    assert events == {Happened.AT_REST}
    assert isinstance(state, BatchState) and len(state.frames) <= 75
    mean, covariance = estimator.mixture(problem, state).moments()
    np.testing.assert_array_equal(mean, problem.prior.mean)
    np.testing.assert_array_equal(covariance, problem.prior.covariance)


def test_a_batch_that_no_motion_fits_is_refused_and_not_the_end(problem, frames):
    state, events = run(problem, map(absurd, frames[:30]))
    assert set(events) == {Happened.UPDATE_REFUSED}
    assert isinstance(state, BatchState) and state.mixture is None
