"""Samples of late clocks in the frames where they belong, whatever became known when."""

import numpy as np
import pytest
from streams import MS

from sim2real_estimator.records import Frame, Sample
from sim2real_estimator.stream.restamping import Restamping

LATE = 32 * MS


def sample(sensor, at):
    return Sample(sensor, at, np.array([float(at)]))


def raw_frames(count, start=0, sensor='body'):
    """Return frames of 10 ms as the stream cuts them, a sample of a body in the middle of each."""
    frames = [Frame(start, start, (sample('encoders', start),))]
    for k in range(1, count):
        end = start + 10 * k * MS
        samples = sample(sensor, end - 6 * MS), sample('encoders', end)
        frames.append(Frame(end - 10 * MS, end, samples))
    return frames


def follow(restamping, frames):
    """Return (`Restamping`, frames let go, samples of no frame)."""
    ready, outside = [], []
    for frame in frames:
        restamping, found, lost = restamping.take(frame)
        ready += found
        outside += lost
    return restamping, ready, outside


def stamps(frames, sensor='body'):
    return [[s.stamp_ns for s in f.samples if s.sensor == sensor] for f in frames]


def test_without_late_clocks_frames_pass_as_they_are():
    frames = raw_frames(5)
    _, ready, outside = follow(Restamping(), frames)
    assert all(a is b for a, b in zip(ready, frames, strict=True)) and not outside


def test_frames_wait_for_the_samples_of_a_late_clock():
    restamping, ready, outside = follow(Restamping({'body': LATE}, {'body': 0}), raw_frames(12))
    assert [f.end_ns for f in ready] == [10 * k * MS for k in range(8)]
    # Stamps 4, 14, ... less 32 ms: the first three are from before the first frame.
    assert [s.stamp_ns for s in outside] == [-28 * MS, -18 * MS, -8 * MS]
    assert stamps(ready) == [[], *([(10 * k + 2) * MS] for k in range(7))]
    assert {s.moved_ns for f in ready for s in f.samples if s.sensor == 'body'} == {LATE}
    assert len(restamping.held) == 4


def test_at_the_end_nothing_waits_any_more():
    restamping, ready, outside = follow(Restamping({'body': LATE}, {'body': 0}), raw_frames(12))
    restamping, rest, more = restamping.take(restamping.end())
    assert [f.end_ns for f in (*ready, *rest)] == [10 * k * MS for k in range(12)]
    assert sum(map(len, stamps([*ready, *rest]))) + len(outside) + len(more) == 11
    assert restamping.end() is None


def test_what_may_be_of_before_the_stretch_is_in_no_frame():
    _, ready, outside = follow(Restamping({'body': 0}, {'body': 25 * MS}), raw_frames(8))
    assert [s.stamp_ns for s in outside] == [4 * MS, 14 * MS, 24 * MS]
    assert stamps(ready)[4:] == [[34 * MS], [44 * MS], [54 * MS], [64 * MS]]


@pytest.mark.parametrize('known_at', [1, 5, 30])
@pytest.mark.parametrize('by_ns', [LATE, -LATE, 3 * MS])
def test_when_a_clock_becomes_known_does_not_decide_where_samples_go(known_at, by_ns):
    frames = raw_frames(40)
    _, expected, outside = follow(Restamping({'body': by_ns}, {'body': 0}), frames)
    restamping, kept, lost = follow(Restamping({'body': 0}, {'body': 0}), frames[:known_at])
    restamping, kept, more = restamping.move('body', by_ns, kept)
    ready, gone = list(kept), [*lost, *more]
    for frame in frames[known_at:]:
        restamping, found, lost = restamping.take(frame)
        # Samples of a time whose frame is done; where frames are kept, they are cut anew.
        ready += found
        gone += lost
    seen, wanted = stamps(ready), stamps(expected)
    late = [k for k in range(min(len(seen), len(wanted))) if seen[k] != wanted[k]]
    assert len(late) <= max(0, -(-by_ns // (10 * MS)))
    assert all(not seen[k] for k in late)
    assert len(seen) == len(wanted)
    assert len(gone) == len(outside) + len(late)


def test_a_gap_keeps_what_is_of_the_stretch_before_it():
    first, second = raw_frames(6), raw_frames(8, start=2000 * MS)
    _, ready, outside = follow(Restamping({'body': LATE}, {'body': 0}), [*first, *second])
    assert [f.end_ns for f in ready[:7]] == [*(10 * k * MS for k in range(6)), 2000 * MS]
    assert stamps(ready[:6]) == [[], [2 * MS], [12 * MS], [], [], []]
    assert len(outside) == 6


def test_a_clock_set_back_ends_the_waiting():
    later, earlier = raw_frames(6, start=2000 * MS), raw_frames(6)
    restamping, ready, _ = follow(Restamping({'body': LATE}, {'body': 0}), [*later, earlier[0]])
    assert [f.end_ns for f in ready[-2:]] == [2040 * MS, 2050 * MS]
    assert [f.end_ns for f in restamping.held] == [0]


def test_a_delay_moves_stamps_once_it_is_known_to_a_part_of_a_frame():
    restamping = Restamping({'body': 0}, {'body': 0}, period_ns=10 * MS)
    assert restamping.left_to_move('body', 0.1504, 0.001) == 150 * MS
    assert restamping.left_to_move('body', 0.1504, 0.004) == 0
    assert restamping.left_to_move('body', 0.008, 0.001) == 0
    moved = Restamping({'body': LATE}, period_ns=10 * MS)
    assert moved.left_to_move('body', 0.0001, 0.001) == -LATE
