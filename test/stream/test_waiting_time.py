"""The time that waits, against a count over all stamps."""

import random

from sim2real_estimator.stream.waiting_time import WaitingTime

GAP = 30


def is_gap(before, stamp):
    return stamp - before > GAP


def counted(stamps, limit):
    ready = sorted(stamp for stamp in stamps if stamp < limit)
    return sum(b - a for a, b in zip(ready, ready[1:]) if not is_gap(a, b))


def test_it_is_that_of_a_count_over_all_stamps_whatever_comes_and_goes():
    chance = random.Random(0)
    stamps, waiting = set(), WaitingTime(is_gap)
    newest = 0
    for _ in range(2000):
        newest += chance.choice([5, 10, 10, 25, 80])
        stamp = newest - chance.choice([0, 0, 0, 7, 33])
        if stamp not in stamps:
            stamps.add(stamp)
            waiting.add(stamp)
        if stamps and chance.random() < 0.45:
            stamps.remove(min(stamps))
            waiting.drop_first()
        limit = newest - chance.choice([0, 20, 200, 10_000])
        assert waiting.before(limit) == counted(stamps, limit)
    assert len(stamps) > 50
    assert WaitingTime(is_gap, stamps).before(newest) == waiting.before(newest)


def test_nothing_waits_for_no_time():
    waiting = WaitingTime(is_gap)
    assert waiting.before(10) == 0
    waiting.add(3)
    assert waiting.before(10) == 0
    waiting.drop_first()
    assert waiting.before(10) == 0
