"""Frames are cut once, and what is kept of it belongs to the thread that asked."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sim2real_estimator.prediction.timeline import TimelineCache
from sim2real_estimator.records import Frame

PERIOD = 10**7


def frames_of(count):
    inputs = ((0, np.zeros(1)),)
    return [Frame(k * PERIOD, (k + 1) * PERIOD, (), inputs) for k in range(count)]


def test_what_was_cut_is_kept():
    cache, frames = TimelineCache((), 1, 0.01), frames_of(3)
    assert cache.chain(frames) is cache.chain(frames)


def test_another_thread_neither_sees_nor_displaces_it():
    cache, frames = TimelineCache((), 1, 0.01), frames_of(60)
    kept = cache.chain(frames[:1])
    with ThreadPoolExecutor(1) as pool:
        others = list(pool.map(lambda frame: cache.chain([frame]), frames))
    assert cache.chain(frames[:1]) is kept
    assert others[0] is not kept
    np.testing.assert_array_equal(others[0].durations, kept.durations)
