"""When an effort is overdue: not by jitter, but by a hole in what comes at a pace of its own."""

import numpy as np
import pytest
from streams import content, efforts, encoders, make_stream, MS, run

from sim2real_estimator.records import Sample, Status


def unknown_stretches(stamps_ms, end_ms, value=None, **times):
    """Return ((from_ms, until_ms), ...) in which the first effort is unknown, after its first."""
    value = value or (lambda at: np.sin(0.01 * at))
    samples = [encoders(2 * k) for k in range(end_ms // 2 + 1)]
    samples += [efforts(at, value(at), 0.0) for at in stamps_ms]
    samples.sort(key=lambda sample: (sample.stamp_ns, sample.sensor))
    frames = run(make_stream(max_rate=1000.0, **times), samples, stepwise=False)
    known = {at: np.isfinite(v[0]) for frame in frames for at, v in frame.inputs}
    stretches, begin = [], None
    for at in sorted(at for at in known if at >= stamps_ms[0] * MS):
        if not known[at] and begin is None:
            begin = at / MS
        if known[at] and begin is not None:
            stretches.append((begin, at / MS))
            begin = None
    return stretches if begin is None else [*stretches, (begin, end_ms)]


def without(stamps, low, high):
    """Return stamps with a hole between two of them."""
    return [at for at in stamps if not low < at < high]


@pytest.mark.parametrize('period', [1, 10, 100])
def test_a_hole_is_unknown_from_one_period_on(period):
    stamps = without(range(0, 30 * period, period), 20 * period, 26 * period)
    assert unknown_stretches(stamps, 29 * period, hold=10.0) == [(21 * period, 26 * period)]


def test_the_hold_time_stays_the_longest():
    stamps = without(range(0, 3000, 100), 2000, 2600)
    assert unknown_stretches(stamps, 2900, hold=0.05)[:2] == [(50, 100), (150, 200)]


def test_a_pace_has_to_be_known_first():
    stamps = without(range(0, 300, 10), 50, 150)
    assert unknown_stretches(stamps, 290) == []


def test_jitter_and_single_losses_at_a_kilohertz_are_none():
    generator = np.random.default_rng(0)
    stamps = np.arange(0, 4000) + generator.normal(0, 0.15, 4000)
    lost = generator.random(4000) < 0.001
    assert lost.sum() > 2
    assert unknown_stretches(sorted(stamps[~lost]), 4000) == []


def test_what_comes_at_no_pace_is_held():
    generator = np.random.default_rng(1)
    stamps = np.cumsum(generator.choice([10.0, 300.0], 60))
    assert unknown_stretches(stamps, int(stamps[-1])) == []


def test_what_comes_only_when_it_changes_is_held_if_somebody_says_so():
    stamps = [*range(0, 300, 10), *range(700, 1000, 10)]
    assert unknown_stretches(stamps, 990) == [(300, 700)]
    assert unknown_stretches(stamps, 990, is_steady=False) == []


def test_a_constant_effort_is_held_for_as_long_as_it_has_been_constant():
    stamps = without(range(0, 1000, 10), 400, 450)
    assert unknown_stretches(stamps, 990, lambda at: float(at < 100)) == []
    stamps = without(range(0, 1000, 10), 400, 900)
    stretches = unknown_stretches(stamps, 990, lambda at: float(at < 200))
    assert stretches == [(600, 900)]


def test_efforts_of_another_source_stay_known():
    samples = [encoders(10 * k) for k in range(60)]
    samples += [efforts(10 * k, np.sin(k), 1.0) for k in range(60) if not 40 < k < 50]
    samples.sort(key=lambda sample: (sample.stamp_ns, sample.sensor))
    stream = make_stream()
    frames = run(stream, samples)
    lost = next(frame for frame in frames if frame.start_ns == 430 * MS)
    np.testing.assert_array_equal(np.isnan(lost.inputs[0][1]), [True, False])
    assert stream.counts.of('efforts', Status.MISSING_EFFORT) == 1


def test_holes_do_not_depend_on_the_order_of_arrival():
    generator = np.random.default_rng(2)
    samples = [encoders(10 * k) for k in range(100)]
    samples += [efforts(10 * k + 3) for k in range(100) if not 30 < k < 45]
    arrivals = [sample.stamp_ns + generator.uniform(0, 30 * MS) for sample in samples]
    early = sorted(samples, key=lambda sample: sample.stamp_ns)
    mixed = [samples[k] for k in np.argsort(arrivals)]
    assert [s.stamp_ns for s in mixed] != [s.stamp_ns for s in early]
    expected = content(run(make_stream(), early, stepwise=False))
    assert content(run(make_stream(), mixed)) == expected


def test_what_could_only_come_after_the_end_of_the_data_is_not_overdue():
    stamps = range(0, 1000, 10)
    assert unknown_stretches(stamps, 990, lead=0.05) == []
    assert unknown_stretches(without(stamps, 900, 960), 990, lead=0.05) == [(910, 960)]


def test_an_effort_that_is_no_number_is_not_missing_twice():
    samples = [encoders(10 * k) for k in range(60)]
    for k in (k for k in range(60) if not 40 < k < 50):
        values = np.array([np.sin(k), np.nan if k == 40 else np.cos(k)])
        samples.append(Sample('efforts', 10 * k * MS, values))
    samples.sort(key=lambda sample: (sample.stamp_ns, sample.sensor))
    stream = make_stream()
    run(stream, samples)
    assert stream.counts.of('efforts', Status.MISSING_EFFORT) == 2
