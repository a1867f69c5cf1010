"""A .mcap file without its end, as a killed recorder leaves it: all of it that is whole."""

from io import BytesIO
import struct

from rosbags.rosbag2 import Reader, ReaderError
from rosbags.rosbag2.storage_mcap import ChunkInfo, decompress, McapReader

_MAGIC = b'\x89MCAP0\r\n'
_CHUNK = 0x06
# What a file has before the end of its data, its head included.
_DATA = frozenset((0x01, 0x03, 0x04, 0x05, _CHUNK, 0x07, 0x09, 0x0C))
# Of a record: kind, size. Of a chunk: first and last time [ns], size unpacked, checksum, and how
# long the name of its compression is, which stands before its size and its content.
_RECORD, _CHUNK_HEAD, _SIZE = struct.Struct('<BQ'), struct.Struct('<QQQII'), struct.Struct('<Q')


def is_cut_off(path):
    """Tell whether a file begins like a .mcap and does not end like one."""
    size = path.stat().st_size
    with path.open('rb') as file:
        if path.suffix != '.mcap' or file.read(len(_MAGIC)) != _MAGIC:
            return False
        file.seek(max(0, size - len(_MAGIC)))
        return file.read() != _MAGIC or size == len(_MAGIC)


class _WholePart(McapReader):
    """Reads what comes before the first record that is not whole."""

    def _open(self):
        """Find what is whole, and make the lists that the end of the file would have had."""
        self.data_start = self.data_end = len(_MAGIC)
        for kind, begin, size in _records(self.bio, len(_MAGIC)):
            if kind == _CHUNK:
                chunk = self._chunk(begin, size)
                if chunk is None:
                    break
                self.chunks.append(chunk)
            self.data_end = begin + size
        self.meta_scan()
        found = self.statistics
        if not found.message_count:
            raise ReaderError('cut off before its first whole chunk')
        for chunk in self.chunks:
            # Which of the channels it has is in an index that may be missing: any of them.
            chunk.channel_count.update(dict.fromkeys(self.channels, 1))
        counts = found.channel_message_counts
        self.connections = [
            each._replace(msgcount=counts.get(each.id, 0)) for each in self.connections
        ]
        self.metadata = self.metadata._replace(
            duration=found.end_time - found.start_time + 1,
            start_time=found.start_time,
            end_time=found.end_time + 1,
            message_count=found.message_count,
        )

    def _chunk(self, begin, size):
        """Return the index of the chunk at a place, or None where it cannot be unpacked."""
        self.bio.seek(begin)
        content = self.bio.read(size)
        try:
            first, last, unpacked, checksum, length = _CHUNK_HEAD.unpack_from(content)
            place = _CHUNK_HEAD.size + length
            compression = content[_CHUNK_HEAD.size : place].decode()
            (packed,) = _SIZE.unpack_from(content, place)
            inside = decompress(content[place + _SIZE.size :], compression, unpacked, checksum)
        except Exception:
            # Each compression has errors of its own; pages that were never written are zeros.
            return None
        # Few writers give a checksum.
        if sum(_RECORD.size + inner for *_, inner in _records(BytesIO(inside), 0)) < unpacked:
            return None
        start = begin - _RECORD.size
        length = _RECORD.size + size
        return ChunkInfo(first, last, start, length, {}, 0, compression, packed, unpacked, {})


class SalvageReader(Reader):
    """A `Reader` of one .mcap file whose end is missing."""

    STORAGE_PLUGINS = {'.mcap': _WholePart}


def _records(file, place):
    """Yield (kind, place of the content, its size) of whole records, up to the data's end."""
    end = file.seek(0, 2)
    while place + _RECORD.size <= end:
        file.seek(place)
        kind, size = _RECORD.unpack(file.read(_RECORD.size))
        begin, place = place + _RECORD.size, place + _RECORD.size + size
        if place > end or kind not in _DATA:
            return
        yield kind, begin, size
