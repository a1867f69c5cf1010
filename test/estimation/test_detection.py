"""Change detection: neither noise nor single outliers raise an alarm."""

import numpy as np
import pytest

from sim2real_estimator.estimation.changes.detection import (
    BiasScore,
    ChangeDetector,
    DetectorState,
    FrameFit,
    since,
    with_frame,
)
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.records import Frame

DETECTOR = ChangeDetector()
# Length of a frame [s].
FRAME = 0.01


def alarms(misfits, surprises, expects_outliers, rows=2):
    """Return the frames at which the detector sees a change."""
    state, found = DetectorState(), []
    for k, (misfit, count) in enumerate(zip(misfits, surprises)):
        state = DETECTOR.remember(state, FrameFit(FRAME, misfit, rows, count))
        if DETECTOR.has_changed(state, expects_outliers):
            found.append(k)
    return found


def test_noise_is_no_change():
    misfits = np.random.default_rng(0).chisquare(2, 20_000)
    assert not alarms(misfits, np.zeros(20_000), False)


def test_a_lasting_misfit_is_seen_within_five_frames():
    generator = np.random.default_rng(1)
    misfits = generator.chisquare(2, 200)
    misfits[100:] *= 10
    found = alarms(misfits, np.zeros(200), False)
    assert 100 <= found[0] <= 105


def test_a_tenth_of_outliers_is_no_change_where_outliers_are_expected():
    generator = np.random.default_rng(2)
    surprises = generator.binomial(2, 0.1, 20_000)
    assert not alarms(30.0 * surprises, surprises, True)


def test_surprises_in_every_row_are_a_change_even_among_outliers():
    generator = np.random.default_rng(3)
    surprises = generator.binomial(2, 0.05, 400)
    surprises[300:] = 2
    found = alarms(30.0 * surprises, surprises, True)
    assert 301 <= found[0] <= 306


def test_frames_without_rows_say_nothing():
    assert not alarms(np.zeros(50), np.zeros(50), False, rows=0)
    assert not alarms(np.zeros(50), np.zeros(50), True, rows=0)


def test_a_frame_with_one_bad_sample_is_an_outlier_and_the_next_one_is_a_change():
    state, bad = DetectorState(), (60.0, 2, 1)
    assert not DETECTOR.is_outlier(state, FrameFit(FRAME, *bad), 1)
    for _ in range(10):
        state = DETECTOR.remember(state, FrameFit(FRAME, 2.0, 2, 0))
    assert DETECTOR.is_outlier(state, FrameFit(FRAME, *bad), 1)
    assert not DETECTOR.is_outlier(state, FrameFit(FRAME, 20.0, 2, 0), 1)
    passed = DETECTOR.pass_over(state, FRAME)
    assert not DETECTOR.has_changed(passed, False)
    assert not DETECTOR.is_outlier(passed, FrameFit(FRAME, *bad), 1)
    assert DETECTOR.has_changed(DETECTOR.remember(passed, FrameFit(FRAME, *bad)), False)
    assert not DETECTOR.has_changed(DETECTOR.remember(passed, FrameFit(FRAME, 2.0, 2, 0)), False)
    again = DETECTOR.remember(passed, FrameFit(FRAME, 2.0, 2, 0))
    assert DETECTOR.is_outlier(again, FrameFit(FRAME, *bad), 1)


def test_what_comes_on_slowly_is_a_change_at_once():
    state = DetectorState()
    for misfit in (2.0, 2.0, 2.0, 6.0, 9.0, 14.0):
        state = DETECTOR.remember(state, FrameFit(FRAME, misfit, 2, 0))
    assert not DETECTOR.has_changed(state, False)
    assert not DETECTOR.is_outlier(state, FrameFit(FRAME, 60.0, 2, 0), 1)
    assert DETECTOR.has_changed(DETECTOR.remember(state, FrameFit(FRAME, 60.0, 2, 1)), False)


def test_several_bad_samples_in_a_frame_are_no_outlier():
    state = DetectorState()
    for _ in range(10):
        state = DETECTOR.remember(state, FrameFit(FRAME, 6.0, 6, 0))
    assert DETECTOR.is_outlier(state, FrameFit(FRAME, 200.0, 6, 0), 1)
    assert not DETECTOR.is_outlier(state, FrameFit(FRAME, 200.0, 6, 0), 2)


def shift_alarms(forces, misfit=20.0, rows=21):
    """Return the frames at which forces [F, v] on positions of a unit of information are seen."""
    state, found = DetectorState(), []
    for k, force in enumerate(forces):
        state = DETECTOR.remember(
            state, FrameFit(FRAME, misfit, rows, 0, BiasScore(force, np.eye(len(force))))
        )
        if DETECTOR.has_changed(state, False):
            found.append(k)
    return found


def test_noise_in_many_positions_is_no_shift():
    assert not shift_alarms(np.random.default_rng(4).standard_normal((5000, 7)))


def test_a_small_shift_that_lasts_is_seen_though_misfits_hide_it():
    forces = np.random.default_rng(5).standard_normal((60, 7))
    forces[50:, 0] += 4.5
    found = shift_alarms(forces)
    assert 51 <= found[0] <= 54
    # As much in other rows of these frames is nothing that noise could not do.
    assert not alarms(np.full(60, 20.0) + 20.0 * (np.arange(60) >= 50), np.zeros(60), False, 21)


def test_a_model_that_is_wrong_again_and_again_has_not_changed():
    forces = np.zeros((400, 7))
    for size, begin in zip((3.0, 3.5, 4.1), (100, 150, 200)):
        forces[begin : begin + 4, 0] = size
    assert not shift_alarms(forces)
    assert 202 <= shift_alarms(np.where(np.arange(400)[:, None] < 200, 0.0, forces))[0] <= 203
    forces[300:, 0] = 8.0
    assert 301 <= shift_alarms(forces)[0] <= 303


def test_what_once_shifted_the_motion_is_remembered_for_minutes():
    forces = np.zeros((20_000, 7))
    for size, begin in zip((3.0, 3.5, 4.1), (100, 150, 200)):
        forces[begin : begin + 4, 0] = size
    # Alone it would be a change, see above.
    forces[19_000:19_004, 0] = 4.1
    assert not shift_alarms(forces)


def test_what_turned_out_to_be_no_change_is_no_change_the_next_time():
    state, shifted = DetectorState(), BiasScore(np.r_[8.0, np.zeros(6)], np.eye(7))
    still = BiasScore(np.zeros(7), np.eye(7))

    def follow(state, scores):
        found = False
        for score in scores:
            state = DETECTOR.remember(state, FrameFit(FRAME, 20.0, 21, 0, score))
            found = found or DETECTOR.has_changed(state, False)
        return state, found

    state, found = follow(state, [still] * 10 + [shifted] * 2)
    assert found
    again = [still] * 10 + [shifted] * 2
    assert not follow(state.begun_anew(was_nothing=True), again)[1]
    assert follow(state.begun_anew(was_nothing=False), again)[1]


RATES = (25, 100, 250, 500)


@pytest.mark.parametrize('rate', RATES)
def test_false_alarms_are_as_many_an_hour_at_any_rate(rate):
    # So many that some are seen in ten minutes.
    allowed, seconds, rng = 1000.0, 600, np.random.default_rng(6)
    detector, state, found, rested = ChangeDetector(allowed), DetectorState(), 0, 0
    for misfit in rng.chisquare(2, seconds * rate):
        state, rested = detector.remember(state, FrameFit(1 / rate, misfit, 2, 0)), rested - 1
        if rested <= 0 and detector.has_changed(state, False):
            # The same frames are counted once.
            found, rested = found + 1, rate // 10
    assert 0.15 * allowed < 3600 * found / seconds < 1.1 * allowed


@pytest.mark.parametrize('rate', RATES)
def test_a_shift_is_noticed_as_soon_at_any_rate(rate):
    # Rows of a second have as much information at any rate.
    push, information = 40.0 / rate**0.5, np.eye(2)
    rng, delays = np.random.default_rng(7), []
    for _ in range(20):
        state = DetectorState()
        for k in range(-rate, rate):
            force = rng.standard_normal(2) + [push * (k >= 0), 0.0]
            state = DETECTOR.remember(
                state, FrameFit(1 / rate, 2.0, 2, 0, BiasScore(force, information))
            )
            if DETECTOR.has_changed(state, False):
                delays.append((k + 1) / rate)
                break
    assert len(delays) == 20
    assert 0.01 <= np.median(delays) <= 0.08


def frames_of(rate, seconds):
    """Return frames at a rate without samples."""
    stamps = [round(1e9 * k / rate) for k in range(round(seconds * rate) + 1)]
    return [Frame(*bounds, ()) for bounds in zip(stamps, stamps[1:])]


@pytest.mark.parametrize('rate', RATES)
def test_isolation_may_begin_at_instants_that_reach_back_as_far_at_any_rate(rate):
    mixture = Mixture(np.zeros(1), np.zeros((1, 1)), np.zeros((1, 1)), np.eye(2)[None])
    recent, frames = (), frames_of(rate, 4.0)
    for frame in frames:
        recent = with_frame(recent, frame, mixture, 0.0)
        assert recent[0].mixture is not None and recent[-1].mixture is not None
    now = frames[-1].end_ns
    begins = [1e-9 * (now - e.frame.start_ns) for e in recent if e.mixture is not None]
    # At a low rate as many frames as at 100 Hz.
    longer = max(1.0, 100 / rate)
    assert 0.54 * longer < begins[0] < 0.70 * longer
    steps = -np.diff(begins)
    # The newest frame has one in any case.
    assert steps[:-1].min() >= 0.009 and steps.max() <= 0.1 * longer
    assert 10 <= len(begins) <= 18
    for seconds in (0.05, 0.08, 0.33):
        begin = recent[since(recent, seconds)].frame.start_ns
        assert -1e-3 <= 1e-9 * (now - begin) - seconds * longer <= 0.1 * longer


def test_two_frames_at_least_are_tested_together():
    for rate in (5, 12, 25):
        state = DetectorState()
        for _ in range(10):
            state = DETECTOR.remember(state, FrameFit(1 / rate, 2.0, 2, 0))
        assert len(state.fits) == 5
        # Once noise may put a frame so far off, twice it does not.
        glitch = FrameFit(1 / rate, 26.0, 2, 0)
        state = DETECTOR.remember(state, glitch)
        assert not DETECTOR.has_changed(state, False)
        assert DETECTOR.has_changed(DETECTOR.remember(state, glitch), False)
