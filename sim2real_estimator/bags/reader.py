"""One recording: what it holds, and its messages in order."""

from dataclasses import dataclass
import hashlib
from pathlib import Path

from rosbags.interfaces import MessageDefinitionFormat, QosDurability, QosReliability
from rosbags.typesys import get_types_from_idl, get_types_from_msg

from ..errors import DataError
from ..messages import deserialized, typestore
from .order import set_back
from .storage import as_data_errors, Storage, storage_files

_NANO = 1e9
_BLOCK = 1 << 20
# The last message of a topic is sought in a stretch at the end that grows from this [ns].
_STRETCH = 10**9


@dataclass(frozen=True)
class TopicInBag:
    """
    A topic of a recording.

    name; message_type; count: of its messages; is_kept: whether it was published for those who
    subscribe later (transient local); is_reliable: whether what is lost was sent again, None
    where the recording does not say.
    """

    name: str
    message_type: str
    count: int
    is_kept: bool = False
    is_reliable: bool | None = None


class BagReader:
    """
    A rosbag2 recording of mcap or sqlite3, split and compressed in any way.

    topics: name -> `TopicInBag`; begin_ns, end_ns: times of its first and last message, by the
    clock of the recorder; warnings: sentences about what is odd. To be closed, or used by `with`.
    """

    def __init__(self, path):
        """Open a folder or a single file; a DataError says what is wrong with it."""
        self.path, self._storage = path, Storage(path)
        self.topics, self._checked = {}, set()
        try:
            with as_data_errors(path):
                self._survey(self._storage.readers)
        except BaseException:
            self.close()
            raise

    def _survey(self, readers):
        """Take what the readers say of times and topics, which a damaged file may have wrong."""
        self.begin_ns = min(int(reader.start_time) for reader in readers)
        self.end_ns = max(int(reader.end_time) - 1 for reader in readers)
        for connection in (each for reader in readers for each in reader.connections):
            before = self.topics.get(connection.topic)
            count = connection.msgcount + (before.count if before else 0)
            kind = _kinds(connection.msgtype, before)
            is_kept = _is_kept(connection) or bool(before and before.is_kept)
            self.topics[connection.topic] = TopicInBag(
                connection.topic, kind, count, is_kept, _is_reliable(connection)
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def warnings(self):
        """Sentences about what is odd."""
        return tuple(self._storage.warnings)

    @property
    def name(self):
        """Name of its folder or file."""
        return Path(self.path).resolve().name

    def close(self):
        """Close all files."""
        self._storage.close()

    def messages(self, topics, start_ns=None, stop_ns=None):
        """
        Yield (topic, time in the bag [ns], bytes) of topics by name, in order of the times.

        start_ns, stop_ns: the first time, and the first one no longer wanted. Whoever reads all
        learns at the end, by a DataError, where there were fewer than the recording says.
        """
        topics, number = frozenset(topics), 0
        found = self._storage.messages(lambda each: each.topic in topics, start_ns, stop_ns)
        for connection, time_ns, content in found:
            number += 1
            yield connection.topic, time_ns, content
        count = sum(self.topics[topic].count for topic in topics)
        # Of some damages the library says nothing.
        if start_ns is None and stop_ns is None and number < count:
            raise DataError(
                f'{self.path}: is damaged: {number} of {count} messages can be read; copy it '
                'again, or let its tool repair it'
            )

    def decoded(self, topic, content):
        """Return the message that bytes of a topic are."""
        kind = self.topics[topic].message_type
        if kind not in self._checked:
            self._require_standard(kind)
            self._checked.add(kind)
        try:
            return deserialized(content, kind)
        except DataError as error:
            raise DataError(
                f"{self.path}: topic '{topic}': {error}; leave its topic out, or record it again"
            ) from error

    def last(self, topic):
        """Return (time in the bag [ns], bytes) of the last message of a topic."""
        stretch = _STRETCH
        while True:
            latest = None
            for _, time_ns, content in self.messages([topic], self.end_ns - stretch):
                latest = time_ns, content
            if latest or self.end_ns - stretch <= self.begin_ns:
                return latest
            stretch *= 4

    def set_back(self, topic):
        """
        Return (by how much [ns], after how many messages) the recorder's clock went back most.

        As messages of a topic were written, which is not the order in which they are read.
        """
        with as_data_errors(self.path):
            return set_back(self._storage.readers, topic)

    def _require_standard(self, kind):
        """Refuse a bag that means by a standard type something else than ROS 2 does."""
        if kind not in typestore().fielddefs:
            raise DataError(f"{self.path}: there is no message type '{kind}' that could be read")
        for reader in self._storage.readers:
            for connection in reader.connections:
                if connection.msgtype == kind:
                    self._compare(kind, connection.msgdef)

    def _compare(self, kind, definition):
        """Compare a definition with those known, which no distribution has changed so far."""
        if definition.format is MessageDefinitionFormat.NONE:
            return
        with as_data_errors(self.path):
            if definition.format is MessageDefinitionFormat.MSG:
                defined = get_types_from_msg(definition.data, kind)
            else:
                defined = _types_from_idl(definition.data)
        for name, (_, fields) in defined.items():
            known = typestore().fielddefs.get(name)
            if known and _plain(known[1]) != _plain(fields):
                raise DataError(
                    f"{self.path}: defines '{name}' otherwise than ROS 2 does; convert it with "
                    'the tools of the distribution that it was recorded with'
                )


def digest_of(path):
    """Return the BLAKE2b of all files of a recording that hold messages, 32 digits."""
    found = hashlib.blake2b(digest_size=16)
    for file in storage_files(path):
        with as_data_errors(file), file.open('rb') as content:
            while block := content.read(_BLOCK):
                found.update(block)
    return found.hexdigest()


def _is_kept(connection):
    profiles = connection.ext.offered_qos_profiles
    return any(each.durability is QosDurability.TRANSIENT_LOCAL for each in profiles)


def _is_reliable(connection):
    """Tell whether all publishers were reliable, None where none is known."""
    profiles = connection.ext.offered_qos_profiles
    if not profiles:
        return None
    return all(each.reliability is not QosReliability.BEST_EFFORT for each in profiles)


def _kinds(kind, before):
    """Return the type of a topic; several types are joined in one text that no decoder knows."""
    if before is None or before.message_type == kind:
        return kind
    return ' and '.join(sorted({*before.message_type.split(' and '), kind}))


def _types_from_idl(text):
    """Return the types in IDL, of which several are kept apart by lines."""
    line, found = '=' * 80 + '\n', {}
    parts = text.split(line)[1:] if text.startswith(f'{line}IDL: ') else [f'\n{text}']
    for part in parts:
        found.update(get_types_from_idl(part.split('\n', 1)[1]))
    return found


def _plain(fields):
    return [(name.lower(), kind) for name, kind in fields]
