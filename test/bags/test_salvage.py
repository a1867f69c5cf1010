"""What a killed recorder leaves is read as far as it is whole."""

from contextlib import contextmanager
import resource

from bag_files import JOINT_STATE, short_recording, write
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.bags.writer import GrowingBag
from sim2real_estimator.errors import DataError
from sim2real_estimator.messages import serialized, typestore

TOPIC, CHUNK, COUNT = '/joint_states', 40, 200


def entries():
    return [(time_ns, serialized(message)) for *_, time_ns, message in short_recording(COUNT)]


def growing(path):
    """Write a recording in chunks; yield its file's size after each of them."""
    bag = GrowingBag(path)
    for number, (time_ns, content) in enumerate(entries(), 1):
        bag.write(TOPIC, JOINT_STATE, time_ns, content)
        if number % CHUNK == 0:
            bag.flush()
            yield next(path.glob('*.mcap')).stat().st_size
    bag.close()


def of_others(path):
    """Write the same as others do, each chunk compressed; return sizes after chunks."""
    writer, sizes = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP), []
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection(TOPIC, JOINT_STATE, typestore=typestore())
        for number, (time_ns, content) in enumerate(entries(), 1):
            writer.write(connection, time_ns, content)
            if number % CHUNK == 0:
                writer.storage.close_chunk()
                sizes.append(writer.storage.bio.tell())
    return sizes


def cut(path, size):
    """Leave so many bytes of the only file of a recording, and no list."""
    (file,) = path.glob('*.mcap')
    file.write_bytes(file.read_bytes()[:size])
    (path / 'metadata.yaml').unlink()
    return file


def read(path):
    with BagReader(path) as bag:
        found = [(time_ns, content) for _, time_ns, content in bag.messages([TOPIC])]
        assert bag.topics[TOPIC].count == len(found)
        assert (bag.begin_ns, bag.end_ns) == (found[0][0], found[-1][0])
        late = bag.messages([TOPIC], found[-1][0])
        assert [time_ns for _, time_ns, _ in late] == [found[-1][0]]
        return found, bag.warnings


@pytest.mark.parametrize('make', [lambda path: list(growing(path)), of_others])
@pytest.mark.parametrize('beyond', [0, 5, 300])
def test_all_whole_chunks_are_read_and_nothing_else(tmp_path, make, beyond):
    sizes = make(tmp_path / 'bag')
    assert len(sizes) == COUNT // CHUNK
    file = cut(tmp_path / 'bag', sizes[2] + beyond)
    found, (warning,) = read(tmp_path / 'bag')
    assert found == entries()[: 3 * CHUNK]
    assert str(file) in warning and f'{3 * CHUNK} messages' in warning


def test_pages_that_were_never_written_are_no_messages(tmp_path):
    sizes = list(growing(tmp_path / 'bag'))
    file = cut(tmp_path / 'bag', sizes[3])
    content = file.read_bytes()
    # As after a loss of power: the file has its size, and zeros where the last chunk should be.
    file.write_bytes(content[: sizes[2] + 200] + bytes(len(content) - sizes[2] - 200))
    assert read(tmp_path / 'bag')[0] == entries()[: 3 * CHUNK]


def test_a_recording_that_still_grows_can_be_read(tmp_path):
    writing = growing(tmp_path / 'bag')
    for number in range(1, 4):
        next(writing)
        assert read(tmp_path / 'bag')[0] == entries()[: number * CHUNK]
    assert list(writing)
    found, warnings = read(tmp_path / 'bag')
    assert (found, warnings) == (entries(), ())


def test_a_list_that_knows_more_than_is_left_is_not_believed(tmp_path):
    sizes = list(growing(tmp_path / 'bag'))
    metadata = (tmp_path / 'bag' / 'metadata.yaml').read_bytes()
    cut(tmp_path / 'bag', sizes[1])
    (tmp_path / 'bag' / 'metadata.yaml').write_bytes(metadata)
    assert read(tmp_path / 'bag')[0] == entries()[: 2 * CHUNK]


def test_a_last_part_that_was_only_begun_is_left_out(tmp_path):
    path = write(tmp_path / 'parts', short_recording(20))
    other = write(tmp_path / 'other', short_recording(20))
    (path / 'metadata.yaml').unlink()
    (path / 'parts.mcap').rename(path / 'parts_0.mcap')
    (path / 'parts_1.mcap').write_bytes((other / 'other.mcap').read_bytes()[:200])
    found, (warning,) = read(path)
    assert len(found) == 20 and 'left out' in warning and 'parts_1.mcap' in warning


def test_nothing_whole_is_refused(tmp_path):
    sizes = list(growing(tmp_path / 'bag'))
    cut(tmp_path / 'bag', sizes[0] // 2)
    with pytest.raises(DataError, match='cut off before its first whole chunk'):
        BagReader(tmp_path / 'bag')


@contextmanager
def full_disk():
    """Let no file of this process become larger than a little: not for longer than is needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_where_the_disk_is_full_what_was_written_stays(tmp_path):
    with full_disk(), pytest.raises(DataError, match='cannot be written any more'):
        for _ in growing(tmp_path / 'bag'):
            pass
    found, (warning,) = read(tmp_path / 'bag')
    assert 'has no end' in warning
    assert len(found) >= CHUNK and found == entries()[: len(found)]


def test_a_recording_that_could_not_go_on_ends_in_peace(tmp_path):
    bag, contents = GrowingBag(tmp_path / 'bag'), entries()
    with full_disk():
        with pytest.raises(DataError):
            for time_ns, content in contents:
                bag.write(TOPIC, JOINT_STATE, time_ns, content)
                bag.flush()
        bag.close()
    assert not (tmp_path / 'bag' / 'metadata.yaml').exists()
    assert read(tmp_path / 'bag')[0]
