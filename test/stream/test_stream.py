import copy

import numpy as np
import pytest
from streams import content, efforts, encoders, hand, JOINTS, make_stream, MS, run

from sim2real_estimator.errors import ConfigError, DataError
from sim2real_estimator.records import Sample, Status
from sim2real_estimator.stream.channels import Channel, InputChannel
from sim2real_estimator.stream.plans import ReferencePlan
from sim2real_estimator.stream.stream import Stream


def mixed(count=60):
    """Return encoders and efforts at 100 Hz and a marker at 60 Hz, in the order of arrival."""
    samples = [encoders(10 * k) for k in range(count)]
    samples += [efforts(10 * k + 1) for k in range(count)]
    samples += [hand(1000 / 60 * k + 3) for k in range(count // 2)]
    return sorted(samples, key=lambda s: (s.stamp_ns, s.sensor))


def shuffled_within(samples, window_ms, seed):
    """Return samples delayed by random times within a window, each sensor's own in order."""
    generator = np.random.default_rng(seed)
    arrivals, latest = [], {}
    for sample in samples:
        at = sample.stamp_ns + generator.uniform(0, window_ms * MS)
        latest[sample.sensor] = max(at, latest.get(sample.sensor, at))
        arrivals.append((latest[sample.sensor], sample))
    return [sample for _, sample in sorted(arrivals, key=lambda pair: pair[0])]


def outcomes_are_complete(stream, samples):
    return all(
        stream.counts.outcomes(name) == sum(s.sensor == name for s in samples)
        for name in {s.sensor for s in samples}
    )


def test_every_sample_is_in_the_frame_of_its_stamp():
    samples = mixed()
    frames = run(make_stream(), samples)
    assert frames[0].start_ns == frames[0].end_ns == 0
    assert [f.start_ns for f in frames[1:]] == [f.end_ns for f in frames[:-1]]
    for frame in frames[1:]:
        assert all(frame.start_ns < s.stamp_ns <= frame.end_ns for s in frame.samples)
        assert list(frame.samples) == sorted(frame.samples, key=lambda s: (s.stamp_ns, s.sensor))
    inside = [s for f in frames for s in f.samples]
    end = frames[-1].end_ns
    assert inside == [s for s in samples if s.sensor != 'efforts' and s.stamp_ns <= end]


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('stepwise', [True, False])
def test_frames_do_not_depend_on_the_order_of_arrival(seed, stepwise):
    samples = mixed()
    stream = make_stream()
    again = run(stream, shuffled_within(samples, 45, seed), stepwise)
    assert content(again) == content(run(make_stream(), samples))
    assert stream.counts.of('hand', Status.LATE) == 0


def test_frames_come_up_to_a_rate_and_keep_all_samples():
    samples = [encoders(k) for k in range(101)]
    frames = run(make_stream(max_rate=100), samples)
    lengths = {f.end_ns - f.start_ns for f in frames[1:-1]}
    assert lengths == {9 * MS}  # a tenth short of the period is let pass
    assert sum(len(f.samples) for f in frames) == 101


def test_jitter_does_not_halve_the_rate():
    generator = np.random.default_rng(0)
    samples = [encoders(10 * k + generator.uniform(-0.4, 0.4)) for k in range(100)]
    assert len(run(make_stream(max_rate=100), samples)) == 100


def test_efforts_act_from_their_stamps_on():
    samples = [encoders(0), efforts(0, 1.0, 2.0), efforts(4, 3.0, 4.0)]
    samples += [encoders(10), efforts(10, 5.0, 6.0), encoders(20)]
    opening, first, second = run(make_stream(), samples)
    assert [(at, list(v)) for at, v in opening.inputs] == [(0, [1.0, 2.0])]
    assert [(at, list(v)) for at, v in first.inputs] == [(0, [1.0, 2.0]), (4 * MS, [3.0, 4.0])]
    assert [(at, list(v)) for at, v in second.inputs] == [(10 * MS, [5.0, 6.0])]


def test_efforts_are_unknown_before_the_first_and_after_the_hold_time():
    samples = [encoders(0), efforts(5), *(encoders(10 * k) for k in range(1, 20))]
    stream = make_stream(hold=0.1)
    frames = run(stream, samples)
    assert np.isnan(frames[1].inputs[0][1]).all()
    assert np.isfinite(frames[2].inputs[0][1]).all()
    lost = next(f for f in frames if len(f.inputs) == 2 and f.start_ns > 10 * MS)
    assert lost.inputs[1][0] == 105 * MS
    assert np.isnan(lost.inputs[1][1]).all()
    assert stream.counts.of('efforts', Status.MISSING_EFFORT) == 2


def test_efforts_of_the_past_stay_at_hand_where_they_may_act_late():
    samples = sorted(
        [*(encoders(10 * k) for k in range(9)), *(efforts(4 * k, k, 0.0) for k in range(20))],
        key=lambda s: (s.stamp_ns, s.sensor),
    )
    frames = run(make_stream(history=0.01), samples)
    assert [at // MS for at, _ in frames[5].inputs] == [28, 32, 36, 40, 44, 48]
    assert [values[0] for _, values in frames[5].inputs] == [7, 8, 9, 10, 11, 12]
    without = run(make_stream(), samples)
    assert [at // MS for at, _ in without[5].inputs] == [40, 44, 48]


def test_more_of_the_past_is_at_hand_only_as_far_as_it_is_known():
    samples = [encoders(10 * k) for k in range(9)]
    samples += [efforts(at, at, 0.0) for at in (0, 4, 8, 30, 34, 38, 42, 46, 50, 54, 58)]
    samples.sort(key=lambda s: (s.stamp_ns, s.sensor))
    frames = run(make_stream(past=0.025, hold=0.015), samples)
    # Nothing was known from 23 to 30 ms.
    assert [at // MS for at, _ in frames[5].inputs] == [30, 34, 38, 42, 46]
    assert [at // MS for at, _ in frames[0].inputs] == [0]
    assert not frames[0].unknown and not frames[5].unknown


def test_efforts_of_one_message_may_act_at_different_times():
    inputs = {'efforts': InputChannel((0, 1), JOINTS, (10.0, np.nan), (3 * MS, 14 * MS))}
    channels = {'encoders': Channel(2, np.full(2, 1e-3), JOINTS, True)}
    stream = Stream(channels, inputs, 2, 'encoders', ReferencePlan(100.0, 0.5))
    samples = [s for k in range(5) for s in (encoders(10 * k), efforts(10 * k, k + 1.0, -k - 1.0))]
    frames = run(stream, samples)
    acting = [(at / MS, *v) for at, v in frames[3].inputs]
    assert acting == [(14.0, 2.0, -1.0), (23.0, 3.0, -1.0), (24.0, 3.0, -2.0)]
    # The first ones are not there yet.
    assert [at / MS for at, v in frames[1].inputs if np.isfinite(v[0])] == [3.0]
    assert np.isnan([v[1] for _, v in frames[1].inputs]).all()


def test_a_missing_effort_is_unknown_and_counted():
    samples = [efforts(0, 1.0, np.nan), encoders(0), efforts(1, np.inf, 2.0), encoders(10)]
    stream = make_stream()
    opening, frame = run(stream, samples)
    np.testing.assert_array_equal(opening.inputs[0][1], [1.0, np.nan])
    np.testing.assert_array_equal(frame.inputs[1][1], [np.nan, 2.0])
    assert stream.counts.of('efforts', Status.MISSING_EFFORT) == 2


def test_a_gap_ends_the_stretch():
    before = [encoders(10 * k) for k in range(10)]
    inside = [hand(10 * k) for k in range(10, 300, 2)]
    after = [encoders(3000 + 10 * k) for k in range(10)]
    stream = make_stream()
    frames = run(stream, [*before, *inside, *after])
    opening = [f for f in frames if f.start_ns == f.end_ns]
    assert [f.end_ns for f in opening] == [0, 3000 * MS]
    assert [f.after_gap for f in opening] == [False, True]
    assert stream.counts.of('encoders', Status.GAP) == 1
    assert stream.counts.of('hand', Status.OUTSIDE) == len(inside)
    assert outcomes_are_complete(stream, inside)


def test_no_sample_of_the_reference_is_lost_before_a_gap():
    samples = [encoders(k) for k in range(16)] + [encoders(2000 + k) for k in range(3)]
    frames = run(make_stream(max_rate=100), samples)
    assert [f.end_ns // MS for f in frames] == [0, 9, 15, 2000, 2002]
    assert sum(len(f.samples) for f in frames) == len(samples)


def test_samples_before_the_first_of_the_reference_are_outside():
    stream = make_stream()
    run(stream, [hand(1), hand(2), encoders(10), encoders(20)])
    assert stream.counts.of('hand', Status.OUTSIDE) == 2


def test_late_samples_are_left_out():
    stream = make_stream(lateness=0.05)
    samples = [encoders(0), encoders(100), hand(49), hand(50), encoders(110)]
    assert [stream.push(s) for s in samples] == [
        Status.USED, Status.USED, Status.LATE, Status.USED, Status.USED,
    ]  # fmt: skip
    assert stream.counts.of('hand', Status.LATE) == 1


def test_repeated_stamps_are_left_out():
    stream = make_stream()
    assert stream.push(encoders(10, 1.0, 2.0)) is Status.USED
    assert stream.push(encoders(10, 1.0, 3.0)) is Status.REPEATED
    assert stream.push(encoders(500)) is Status.USED
    assert stream.push(encoders(10)) is Status.LATE
    assert stream.counts.of('encoders', Status.REPEATED) == 1


def test_a_stamp_that_nobody_has_set_does_not_set_the_clock_back():
    stream = make_stream()
    # Simulated time begins at zero.
    assert stream.push(encoders(0)) is Status.USED
    assert stream.push(encoders(0)) is Status.UNSTAMPED
    assert stream.push(encoders(5000)) is Status.USED
    assert stream.push(encoders(0)) is Status.UNSTAMPED
    assert stream.push(encoders(5010)) is Status.USED
    assert stream.counts.of('encoders', Status.UNSTAMPED) == 2


def test_a_clock_set_back_clears_the_buffers_and_begins_again():
    stream = make_stream()
    first = [encoders(5000 + 10 * k) for k in range(20)]
    frames = [f for s in first for f in (stream.push(s), *stream.frames())[1:]]
    assert stream.push(encoders(5)) is Status.JUMPED_BACK
    again = [encoders(10 * k) for k in range(1, 20)]
    frames += run(stream, again)
    opening = [f for f in frames if f.start_ns == f.end_ns]
    assert [(f.end_ns, f.after_gap) for f in opening] == [(5000 * MS, False), (10 * MS, True)]
    lost = stream.counts.of('encoders', Status.JUMPED_BACK)
    assert lost == 1 + 20 - sum(len(f.samples) for f in frames if f.start_ns >= 5000 * MS)


@pytest.mark.parametrize('until', [0, 5, 17])
def test_what_was_complete_when_the_clock_was_set_back_stays_so_whoever_asks(until):
    samples = [encoders(5000 + 10 * k) for k in range(20)] + [encoders(10 * k) for k in range(9)]
    prompt, tardy, other = make_stream(), make_stream(), make_stream()
    expected, frames = content(run(prompt, samples)), []
    for k, sample in enumerate(samples):
        tardy.push(sample)
        if k < until:
            frames += tardy.next_frames()
    other.restore(copy.deepcopy(tardy.snapshot()))
    assert content([*frames, *other.flush()]) == expected
    assert other.counts.table() == prompt.counts.table()


def test_the_lag_is_of_what_could_be_done_and_of_no_gap():
    stream = make_stream()
    for at in (*range(0, 300, 10), *range(9000, 9300, 10)):
        stream.push(encoders(at))
        stream.push(hand(at + 1))
    assert stream.lag == pytest.approx(0.29 + 0.24)
    assert stream.waiting == 120
    while stream.next_frames():
        pass
    assert stream.lag == 0


@pytest.mark.parametrize('values', [(np.nan, np.nan), (np.inf, 0.0), (0.0, -np.inf)])
def test_samples_that_are_not_finite_are_left_out(values):
    stream = make_stream()
    assert stream.push(encoders(0, *values)) is Status.NON_FINITE
    assert stream.counts.of('encoders', Status.NON_FINITE) == 1


def test_a_sample_with_a_missing_part_is_used():
    assert make_stream().push(encoders(0, np.nan, 1.0)) is Status.USED


def test_poses_that_repeat_themselves_are_frozen():
    stream = make_stream()
    samples = [encoders(0), encoders(10), encoders(20), encoders(30)]
    samples += [hand(1, 1.0, 2.0, 3.0), hand(11, 1.0, 2.0, 3.0), hand(21, 1.0, 2.0, 3.5)]
    frames = run(stream, samples)
    assert sum(s.sensor == 'hand' for f in frames for s in f.samples) == 2
    assert stream.counts.of('hand', Status.FROZEN) == 1


def test_encoders_that_stand_while_the_hand_moves_are_frozen_and_a_gap_follows():
    stream = make_stream()
    samples = [encoders(10 * k, *((0.01 * k, 0.0) if k < 50 or k > 200 else (0.5, 0.0)))
               for k in range(260)]  # fmt: skip
    samples += [hand(10 * k + 1) for k in range(260)]
    frames = run(stream, sorted(samples, key=lambda s: s.stamp_ns))
    assert stream.counts.of('encoders', Status.FROZEN) == 100
    assert sum(f.after_gap for f in frames) == 1
    stamps = [s.stamp_ns for f in frames for s in f.samples if s.sensor == 'encoders']
    assert not [s for s in stamps if 1010 * MS < s <= 2000 * MS]


def test_encoders_that_stand_while_the_torque_changes_are_left_out():
    stream = make_stream()
    samples = [encoders(10 * k, 0.5, 0.0) for k in range(100)]
    samples += [efforts(10 * k, 3 * np.sin(0.3 * k), 0.0) for k in range(100)]
    run(stream, sorted(samples, key=lambda s: s.stamp_ns))
    assert stream.counts.of('encoders', Status.TORQUE_WITHOUT_MOTION) == 49


def test_a_robot_held_still_by_a_constant_torque_is_seen():
    stream = make_stream()
    generator = np.random.default_rng(0)
    samples = [encoders(10 * k, 0.5, 0.0) for k in range(200)]
    samples += [efforts(10 * k, 3 + 0.05 * generator.normal(), 0.0) for k in range(200)]
    frames = run(stream, sorted(samples, key=lambda s: s.stamp_ns))
    assert len(frames) == 200


def test_efforts_that_stay_zero_while_the_robot_moves_are_remarked():
    stream = make_stream()
    samples = [encoders(10 * k) for k in range(100)]
    samples += [efforts(10 * k, np.sin(k), 0.0) for k in range(100)]
    frames = run(stream, sorted(samples, key=lambda s: s.stamp_ns))
    assert stream.counts.of('efforts', Status.ZERO_EFFORT) == 49
    assert stream.counts.of('efforts', Status.USED) == 100
    assert frames[-1].inputs[0][1][1] == 0


def test_thinned_samples_are_counted():
    stream = make_stream(least_interval_ns=9 * MS)
    samples = [encoders(10 * k) for k in range(11)] + [hand(k) for k in range(1, 100)]
    frames = run(stream, sorted(samples, key=lambda s: s.stamp_ns))
    used = sum(s.sensor == 'hand' for f in frames for s in f.samples)
    assert used == 11
    assert stream.counts.of('hand', Status.THINNED) == 99 - used


def test_a_recorded_plan_gives_the_same_frames_again():
    samples = [*mixed(40), *(encoders(3000 + 7 * k) for k in range(30))]
    stream = make_stream(max_rate=50)
    frames = []
    for k, sample in enumerate(samples):
        if k == 40:
            stream.set_rate(20)  # as under load
        stream.push(sample)
        frames += stream.frames()
    frames += stream.flush()
    assert len({f.end_ns - f.start_ns for f in frames}) > 3
    again = run(make_stream(plan=stream.recorded_plan), samples)
    assert content(again) == content(frames)


def test_what_cannot_be_a_sample_is_an_error():
    stream = make_stream()
    with pytest.raises(DataError, match="'hands'.*encoders, hand"):
        stream.push(Sample('hands', 0, np.zeros(3)))
    with pytest.raises(DataError, match=r'shape \(3,\), but should have \(2,\)'):
        stream.push(Sample('encoders', 0, np.zeros(3)))
    with pytest.raises(ConfigError, match="no sensor 'clock'"):
        Stream({}, {}, 0, 'clock', ReferencePlan(100, 1))


def test_counts_are_a_table_in_words():
    stream = make_stream()
    stream.push(encoders(10))
    stream.push(encoders(10))
    assert stream.counts.table() == {'encoders': {'repeated': 1}}
