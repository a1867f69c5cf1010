"""The whole flow with messages that get lost for a while."""

import numpy as np
from posteriors import posterior_bytes
import pytest
from simulated import config, misses, record

from sim2real_estimator.estimation.filter.phases import FilterState
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample, Status
from sim2real_estimator.reported_events import Happened

pytestmark = pytest.mark.usefixtures('one_thread')

# In the first batch, and later under the filter, in seconds from the first sample.
HOLES = ((0.5, 0.6), (2.2, 2.3))
LONG_HOLE = ((1.9, 2.3),)


def lossy(recording, holes, sources=('encoders', 'commanded_efforts')):
    """Yield the samples of a recording less those of some sources that fall into holes."""
    for stamp, *values in zip(recording.stamps, recording.angles, recording.torques):
        at = 1e-9 * (stamp - recording.stamps[0])
        is_lost = any(low + 1e-9 < at < high - 1e-9 for low, high in holes)
        for name, row in zip(('encoders', 'commanded_efforts'), values):
            if not (is_lost and name in sources):
                yield Sample(name, int(stamp), row)


def followed(samples, pipeline=None):
    """Return (pipeline, events) after samples."""
    pipeline, events = pipeline or Pipeline.from_config(config()), []
    for sample in samples:
        pipeline.push(sample)
        for estimate in pipeline.step():
            events += estimate.report.events
    for estimate in pipeline.finish():
        events += estimate.report.events
    return pipeline, events


@pytest.mark.parametrize('seed', [1, 3])
def test_holes_make_no_change_and_no_false_certainty(seed):
    recording = record(3.2, seed)
    pipeline, events = followed(lossy(recording, HOLES))
    assert Happened.CHANGED not in events
    assert events.count(Happened.EFFORTS_UNKNOWN) == 1
    assert isinstance(pipeline.state, FilterState)
    assert np.abs(misses(pipeline, recording.values)).max() < 4
    # Both efforts, in each hole.
    assert pipeline.counts.of('commanded_efforts', Status.MISSING_EFFORT) == 4


def test_efforts_that_are_lost_alone_are_no_change_either():
    recording = record(3.2, 1)
    pipeline, events = followed(lossy(recording, HOLES, ('commanded_efforts',)))
    assert Happened.CHANGED not in events
    # What the message before the hole said acts for one frame; nine more know no efforts.
    assert events.count(Happened.EFFORTS_UNKNOWN) == 9
    assert isinstance(pipeline.state, FilterState)
    assert np.abs(misses(pipeline, recording.values)).max() < 4


def test_messages_lost_here_and_there_do_not_keep_the_filter_from_taking_over():
    recording, generator = record(3.0, 2), np.random.default_rng(2)
    samples = [s for s in lossy(recording, ()) if generator.random() > 0.08]
    pipeline, events = followed(samples)
    assert events.count(Happened.EFFORTS_UNKNOWN) > 3 and Happened.CHANGED not in events
    assert isinstance(pipeline.state, FilterState)
    assert np.abs(misses(pipeline, recording.values)).max() < 4


def test_after_a_long_hole_the_motion_is_found_afresh():
    recording = record(2.8, 3)
    pipeline, events = followed(lossy(recording, LONG_HOLE))
    assert Happened.CHANGED not in events and events.count(Happened.RESUMED) == 1
    assert np.abs(misses(pipeline, recording.values)).max() < 4


def test_a_stop_within_a_hole_changes_no_bit(tmp_path):
    samples = list(lossy(record(1.0, 1), HOLES))
    whole, _ = followed(samples)
    before = sum(s.stamp_ns <= samples[0].stamp_ns + 500_000_000 for s in samples)
    first = Pipeline.from_config(config())
    for sample in samples[:before]:
        first.push(sample)
        first.step()
    first.save(tmp_path / 'posterior.zip')
    second = Pipeline.from_config(config())
    second.load(tmp_path / 'posterior.zip')
    followed(samples[before:], second)
    assert posterior_bytes(second) == posterior_bytes(whole)
    assert second.counts.table() == whole.counts.table()
