"""Whether the clock of a recorder went back is seen in the order of writing."""

import shutil

from bag_files import short_recording, write
import pytest

from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.bags.writer import GrowingBag
from sim2real_estimator.messages import serialized

TOPIC, OTHER = '/joint_states', '/other'
HALF = 500_000_000


def later(entries, by_ns):
    return [(topic, kind, time + by_ns, message) for topic, kind, time, message in entries]


def set_back(path, topic=TOPIC):
    with BagReader(path) as bag:
        return bag.set_back(topic)


ONCE = [*short_recording(100), *later(short_recording(60), HALF)]
BACK_NS = 990_000_000 - HALF


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_clock_that_was_set_back_is_seen(tmp_path, storage):
    others = later(short_recording(90, topic=OTHER), 2 * HALF)
    path = write(tmp_path / 'bag', [*others, *ONCE], storage)
    assert set_back(path) == (BACK_NS, 100)
    # Topics may be written one after the other.
    assert set_back(path, OTHER)[0] < 0


def test_it_is_seen_from_chunk_to_chunk_and_from_file_to_file(tmp_path):
    chunks = GrowingBag(tmp_path / 'chunks')
    for number, (topic, kind, time, message) in enumerate(ONCE):
        chunks.write(topic, kind, time, serialized(message))
        if number % 20 == 0:
            chunks.flush()
    chunks.close()
    assert set_back(tmp_path / 'chunks') == (BACK_NS, 100)
    (tmp_path / 'files').mkdir()
    for number, part in enumerate((ONCE[:100], ONCE[100:])):
        name = f'files_{number}'
        shutil.move(write(tmp_path / name, part) / f'{name}.mcap', tmp_path / 'files')
    assert set_back(tmp_path / 'files') == (BACK_NS, 100)


def test_nothing_is_known_of_a_single_message(tmp_path):
    path = write(tmp_path / 'bag', short_recording(1))
    assert set_back(path) == (0, 1)
