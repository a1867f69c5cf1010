"""In which order messages were written: only that tells whether the recorder's clock went back."""

import struct

import numpy as np
from rosbags.rosbag2.storage_mcap import McapReader

# Of a message index: kind, size of the record, channel, size of its entries.
_INDEX = struct.Struct('<BQHI')
_ENTRY = np.dtype([('time', '<u8'), ('place', '<u8')])
_IN_ORDER_OF_WRITING = (
    'SELECT messages.timestamp FROM messages JOIN topics ON messages.topic_id = topics.id '
    'WHERE topics.name = ? ORDER BY messages.id'
)


def set_back(readers, topic):
    """
    Return (by how much [ns], after how many messages) times of a topic went back most.

    readers: of `rosbags`, opened, one after the other in time.
    """
    parts = [part for reader in readers for part in _parts(reader.storage, topic)]
    times = np.concatenate([np.zeros(0, np.int64), *parts])
    if len(times) < 2:
        return 0, len(times)
    back = np.maximum.accumulate(times)[:-1] - times[1:]
    most = int(np.argmax(back))
    return int(back[most]), most + 1


def _parts(storage, topic):
    """Yield the times [n] of messages of a topic in the order in which they were written."""
    # A folder's reader has one for every file.
    for each in getattr(storage, 'storages', [storage]):
        if isinstance(each, McapReader):
            yield from _times_in_mcap(each, topic)
        else:
            found = each.dbconn.execute(_IN_ORDER_OF_WRITING, (topic,))
            yield np.fromiter((time for (time,) in found), np.int64)


def _times_in_mcap(storage, topic):
    """Yield what the message indexes say; where there are none, as after a kill, nothing."""
    channels = [each.id for each in storage.connections if each.topic == topic]
    for chunk in sorted(storage.chunks, key=lambda chunk: chunk.chunk_start_offset):
        for channel in channels:
            if place := chunk.message_index_offsets.get(channel):
                storage.bio.seek(place)
                *_, size = _INDEX.unpack(storage.bio.read(_INDEX.size))
                entries = np.frombuffer(storage.bio.read(size), _ENTRY)
                yield entries['time'][np.argsort(entries['place'])].astype(np.int64)
