"""Recordings of every kind are read, and what is wrong with broken ones is said."""

import shutil
import sqlite3

from bag_files import JOINT_STATE, joints, LATENCY, short_recording, START, write
import pytest
from rosbags.typesys import get_types_from_msg

from sim2real_estimator.bags.reader import BagReader, digest_of
from sim2real_estimator.bags.writer import BagWriter
from sim2real_estimator.errors import DataError
from sim2real_estimator.messages import serialized

TOPIC = '/joint_states'


@pytest.fixture(scope='module')
def entries():
    return short_recording()


def contents(path):
    """Return (times, positions) of all messages of a recording, and its warnings."""
    with BagReader(path) as bag:
        found = [(time, bag.decoded(topic, raw)) for topic, time, raw in bag.messages([TOPIC])]
        assert bag.topics[TOPIC].count == len(found)
        assert (bag.begin_ns, bag.end_ns) == (found[0][0], found[-1][0])
        assert bag.last(TOPIC)[0] == found[-1][0]
        return [(time, message.position.tolist()) for time, message in found], bag.warnings


def expected(entries):
    return [(time, message.position.tolist()) for _, _, time, message in entries]


# A database is not compressed inside.
@pytest.mark.parametrize(
    ('storage', 'compression'),
    [
        *(('mcap', how) for how in ('none', 'file', 'message', 'storage')),
        *(('sqlite3', how) for how in ('none', 'file', 'message')),
    ],
)
@pytest.mark.parametrize('has_metadata', [True, False])
def test_every_storage_and_compression_is_read(
    entries, tmp_path, storage, compression, has_metadata
):
    path = write(tmp_path / 'bag', entries, storage, compression)
    if not has_metadata:
        (path / 'metadata.yaml').unlink()
    found, warnings = contents(path)
    assert found == expected(entries)
    assert bool(warnings) is not has_metadata
    assert all('rebuilt from its files' in warning for warning in warnings)


def split(entries, tmp_path, parts):
    """Return a recording of several files without a list of them."""
    path, size = tmp_path / 'split', -(-len(entries) // parts)
    path.mkdir()
    for number in range(parts):
        part = write(tmp_path / f'{number}', entries[number * size : (number + 1) * size])
        shutil.move(part / f'{number}.mcap', path / f'split_{number}.mcap')
    return path


def test_parts_are_read_in_order_of_their_times(entries, tmp_path):
    found, _ = contents(split(entries, tmp_path, 11))
    assert found == expected(entries)


def test_a_list_that_is_no_longer_true_is_rebuilt(entries, tmp_path):
    path = write(tmp_path / 'bag', entries)
    (path / 'bag.mcap').rename(path / 'other.mcap')
    found, (warning,) = contents(path)
    assert found == expected(entries)
    assert 'missing' in warning


def test_a_single_file_is_a_recording_too(entries, tmp_path):
    path = write(tmp_path / 'bag', entries, 'sqlite3')
    assert contents(path / 'bag.db3')[0] == expected(entries)


def of_humble(path, entries):
    """Write a recording as ROS 2 Humble does: without the definitions of its types."""
    path.mkdir()
    connection = sqlite3.connect(path / 'bag_0.db3')
    connection.executescript(
        'CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);'
        "INSERT INTO schema VALUES (3, 'humble');"
        'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,'
        'serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);'
        'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,'
        'timestamp INTEGER NOT NULL, data BLOB NOT NULL);'
    )
    qos = '- history: 3\n  depth: 0\n  reliability: 1\n  durability: 2\n  deadline:\n'
    qos += '    sec: 9223372036\n    nsec: 854775807\n  lifespan:\n    sec: 9223372036\n'
    qos += '    nsec: 854775807\n  liveliness: 1\n  liveliness_lease_duration:\n'
    qos += '    sec: 9223372036\n    nsec: 854775807\n  avoid_ros_namespace_conventions: false'
    connection.execute(
        'INSERT INTO topics VALUES (1, ?, ?, ?, ?)', (TOPIC, JOINT_STATE, 'cdr', qos)
    )
    connection.executemany(
        'INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)',
        [(time, serialized(message)) for _, _, time, message in entries],
    )
    connection.commit()
    connection.close()
    return path


def test_what_humble_recorded_is_read(entries, tmp_path):
    assert contents(of_humble(tmp_path / 'humble', entries))[0] == expected(entries)


def test_what_rclpy_sends_has_bytes_to_spare(entries, tmp_path):
    topic, kind, time, message = entries[0]
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write(topic, kind, time, serialized(message) + bytes(8))
    assert contents(tmp_path / 'bag')[0] == expected(entries[:1])


def test_the_digest_is_that_of_the_messages(entries, tmp_path):
    path = write(tmp_path / 'bag', entries)
    before = digest_of(path)
    (path / 'metadata.yaml').unlink()
    path.rename(tmp_path / 'moved')
    assert digest_of(tmp_path / 'moved') == before
    assert digest_of(write(tmp_path / 'other', entries[:-1])) != before


def refusal(path):
    """Return what is said of a recording that cannot be read to its end."""
    with pytest.raises(DataError) as caught:
        contents(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize('has_metadata', [True, False])
@pytest.mark.parametrize('left', [3, 0.02, 0.5])
def test_an_mcap_that_is_cut_off_in_its_only_chunk_is_named(tmp_path, left, has_metadata):
    path = write(tmp_path / 'bag', short_recording(400))
    content = (path / 'bag.mcap').read_bytes()
    kept = left if left > 1 else round(left * len(content))
    (path / 'bag.mcap').write_bytes(content[:kept])
    if not has_metadata:
        (path / 'metadata.yaml').unlink()
    assert 'cut off or damaged' in refusal(path)


@pytest.mark.parametrize('compression', ['none', 'storage'])
def test_a_chunk_that_is_damaged_is_named(tmp_path, compression):
    path = write(tmp_path / 'bag', short_recording(400), 'mcap', compression)
    content = bytearray((path / 'bag.mcap').read_bytes())
    content[300:2300] = bytes(2000)
    (path / 'bag.mcap').write_bytes(content)
    assert 'damaged' in refusal(path)


def test_a_page_of_a_database_that_is_damaged_is_named(tmp_path):
    path = write(tmp_path / 'bag', short_recording(400), 'sqlite3')
    content = bytearray((path / 'bag.db3').read_bytes())
    for page in range(5, 20):
        content[4096 * page : 4096 * page + 1000] = b'\xff' * 1000
    (path / 'bag.db3').write_bytes(content)
    assert 'damaged' in refusal(path)


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / 'notes.txt').write_text('nothing')
    with pytest.raises(DataError, match='is no .mcap and no .db3'):
        BagReader(tmp_path / 'notes.txt')
    with pytest.raises(DataError, match='holds no .mcap and no .db3'):
        BagReader(tmp_path)
    with pytest.raises(DataError, match='does not exist'):
        BagReader(tmp_path / 'nowhere')


def test_a_message_that_is_cut_off_is_named(entries, tmp_path):
    topic, kind, time, message = entries[0]
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write(topic, kind, time, serialized(message)[:-5])
    assert "topic '/joint_states'" in refusal(tmp_path / 'bag')


def test_a_standard_type_that_is_another_is_refused(entries, tmp_path):
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import get_typestore, Stores

    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg('float64[] position\n', JOINT_STATE))
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(TOPIC, JOINT_STATE, typestore=store)
        writer.write(connection, START, serialized(entries[0][3]))
    assert f"defines '{JOINT_STATE}' otherwise" in refusal(tmp_path / 'bag')


def test_only_what_is_asked_for_is_read(entries, tmp_path):
    others = [joints(START, [1.0], [0.0], ['wheel'], '/other')]
    path = write(tmp_path / 'bag', [*others, *entries])
    with BagReader(path) as bag:
        assert {topic for topic, _, _ in bag.messages([TOPIC])} == {TOPIC}
        late = START + LATENCY + 10**8
        times = [time for _, time, _ in bag.messages([TOPIC], late, late + 10**8)]
        assert times == [late + k * 10**7 for k in range(10)]
