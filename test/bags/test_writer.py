"""What we write is what rosbag2 of Jazzy writes, field by field."""

from bag_files import JOINT_STATE, short_recording
import pytest
import yaml

from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.bags.writer import BagWriter
from sim2real_estimator.errors import DataError
from sim2real_estimator.messages import serialized, typestore

_SPAN = {'sec': int, 'nsec': int}
_QOS = {
    'history': str,
    'depth': int,
    'reliability': str,
    'durability': str,
    'deadline': _SPAN,
    'lifespan': _SPAN,
    'liveliness': str,
    'liveliness_lease_duration': _SPAN,
    'avoid_ros_namespace_conventions': bool,
}
_TIMES = {
    'duration': {'nanoseconds': int},
    'starting_time': {'nanoseconds_since_epoch': int},
    'message_count': int,
}
# rosbag2_storage, yaml.hpp and topic_metadata.hpp of Jazzy, version 9.
BAGFILE_INFORMATION = {
    'version': int,
    'storage_identifier': str,
    **_TIMES,
    'topics_with_message_count': [
        {
            'topic_metadata': {
                'name': str,
                'type': str,
                'serialization_format': str,
                'offered_qos_profiles': [_QOS],
                'type_description_hash': str,
            },
            'message_count': int,
        }
    ],
    'compression_format': str,
    'compression_mode': str,
    'relative_file_paths': [str],
    'files': [{'path': str, **_TIMES}],
    # A map that has no entries.
    'custom_data': type(None),
    'ros_distro': str,
}


def assert_is(value, wanted, where='rosbag2_bagfile_information'):
    """Compare a part of the metadata with its types."""
    if isinstance(wanted, dict):
        assert set(value) == set(wanted), where
        for key, kind in wanted.items():
            assert_is(value[key], kind, f'{where}.{key}')
    elif isinstance(wanted, list):
        assert value, where
        for entry in value:
            assert_is(entry, wanted[0], where)
    else:
        assert type(value) is wanted, where


@pytest.fixture(params=['mcap', 'sqlite3'])
def written(request, tmp_path):
    """Return (folder, storage, entries) of a recording of two topics, one of them empty."""
    entries = short_recording(20)
    with BagWriter(tmp_path / 'bag', request.param) as bag:
        bag.add('/kept', 'sensor_msgs/msg/PointCloud2', is_kept=True)
        for topic, kind, time_ns, message in entries:
            bag.write(topic, kind, time_ns, serialized(message))
    return tmp_path / 'bag', request.param, entries


def test_the_metadata_are_those_of_rosbag2(written):
    path, storage, entries = written
    text = (path / 'metadata.yaml').read_text()
    information = yaml.safe_load(text)['rosbag2_bagfile_information']
    assert_is(information, BAGFILE_INFORMATION)
    assert information['version'] == 9 and information['storage_identifier'] == storage
    (file,) = information['relative_file_paths']
    assert (path / file).exists() and information['files'][0]['path'] == file
    assert information['message_count'] == len(entries)
    begin, end = entries[0][2], entries[-1][2]
    assert information['starting_time']['nanoseconds_since_epoch'] == begin
    assert information['duration']['nanoseconds'] == end - begin


def test_types_are_known_by_their_hash_and_topics_by_their_qos(written):
    path, _, entries = written
    topics = yaml.safe_load((path / 'metadata.yaml').read_text())
    topics = topics['rosbag2_bagfile_information']['topics_with_message_count']
    found = {each['topic_metadata']['name']: each['topic_metadata'] for each in topics}
    assert found['/joint_states']['type_description_hash'] == typestore().hash_rihs01(JOINT_STATE)
    durability = {n: each['offered_qos_profiles'][0]['durability'] for n, each in found.items()}
    assert durability == {'/kept': 'transient_local', '/joint_states': 'volatile'}


def test_what_is_written_is_read(written):
    path, _, entries = written
    with BagReader(path) as bag:
        assert bag.warnings == () and bag.topics['/kept'].count == 0
        found = [(time_ns, content) for _, time_ns, content in bag.messages(bag.topics)]
    assert found == [(time_ns, serialized(message)) for _, _, time_ns, message in entries]


def test_a_recording_that_is_there_is_not_written_over(written):
    with pytest.raises(DataError, match='cannot be written'):
        BagWriter(written[0])


def test_without_its_end_a_recording_has_no_list(tmp_path):
    with pytest.raises(KeyError), BagWriter(tmp_path / 'bag') as bag:
        bag.add('/joint_states', JOINT_STATE)
        raise KeyError
    assert not (tmp_path / 'bag' / 'metadata.yaml').exists()
