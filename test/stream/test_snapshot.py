"""A stream stopped anywhere and continued by another one: the same frames, bit for bit."""

import copy

import numpy as np
import pytest
from streams import content, efforts, encoders, hand, make_stream, MS, run

from sim2real_estimator.errors import DataError
from sim2real_estimator.records import Sample
from sim2real_estimator.stream.channels import Channel
from sim2real_estimator.stream.plans import RecordedPlan
from sim2real_estimator.stream.stream import Stream


def eventful_samples():
    """Return samples with a stretch at rest, a gap, a frozen marker and a late one."""
    samples = []
    for k in range(120):
        at = 10 * k if k < 80 else 10 * k + 900
        at_rest = 20 <= k < 60
        samples.append(encoders(at, 0.5, 0.25) if at_rest else encoders(at))
        if k % 3:
            samples.append(efforts(at + 4, 0.0, 0.1 * k))
        samples.append(hand(at + 5, 1.0, 2.0, 3.0) if 30 <= k < 40 else hand(at + 5))
    samples[10], samples[12] = samples[12], samples[10]
    samples.append(Sample('hand', 3 * MS, np.ones(3)))
    return samples


@pytest.mark.parametrize('hold', [0.015, 0.5])
@pytest.mark.parametrize('stop', [0, 1, 7, 11, 60, 120, 200, 230, 290])
def test_a_stream_goes_on_as_if_nothing_had_been(stop, hold):
    settings = {'lateness': 0.03, 'patience': 0.2, 'hold': hold, 'least_interval_ns': 12 * MS}
    samples = eventful_samples()
    whole = make_stream(**settings)
    expected = run(whole, samples)
    first, second = make_stream(**settings), make_stream(**settings)
    frames = []
    for sample in samples[:stop]:
        first.push(sample)
        frames += first.frames()
    second.restore(copy.deepcopy(first.snapshot()))
    assert content([*frames, *run(second, samples[stop:])]) == content(expected)
    assert second.counts.table() == whole.counts.table()
    assert second.recorded_plan == whole.recorded_plan


def test_a_stream_goes_on_with_the_plan_it_had():
    first, second = make_stream(max_rate=100.0), make_stream(max_rate=100.0)
    first.set_rate(20.0)
    second.restore(first.snapshot())
    frames = run(second, [encoders(10 * k) for k in range(20)])
    assert len(frames) == 5
    assert isinstance(second.recorded_plan, RecordedPlan)


def test_a_stream_of_other_sensors_does_not_go_on():
    other = Stream({'encoders': Channel(1, np.ones(1), ())}, {}, 0, 'encoders', None)
    with pytest.raises(DataError, match=r'hand \(3 values\).*takes encoders \(1 values\)'):
        other.restore(make_stream().snapshot())
