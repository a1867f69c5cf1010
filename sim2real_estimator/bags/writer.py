"""Recordings written as rosbag2 of Jazzy writes them."""

from contextlib import contextmanager, suppress
from pathlib import Path

from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError

from ..errors import DataError
from ..messages import typestore

STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
# The version of the metadata, which Jazzy and later write.
_VERSION = 9
_FOR_EVER = QosTime(9223372036, 854775807)


class BagWriter:
    """Writes a recording; it has metadata.yaml, and so is whole, once it is closed."""

    def __init__(self, path, storage='mcap'):
        """Begin a folder that must not exist; storage: mcap or sqlite3."""
        self._connections = {}
        try:
            self._writer = Writer(Path(path), version=_VERSION, storage_plugin=STORAGES[storage])
            self._writer.open()
        except (OSError, WriterError) as error:
            raise DataError(f'{path}: cannot be written ({error}); give another place') from error

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self._writer.close()
        else:
            self._writer.abort()

    def add(self, topic, message_type, is_kept=False, is_reliable=True):
        """
        Declare a topic; those that get a message need not be.

        is_kept: whether it was published for those who subscribe later (transient local);
        is_reliable: whether what is lost on the way was sent again.
        """
        self._connections[topic] = self._writer.add_connection(
            topic,
            message_type,
            typestore=typestore(),
            offered_qos_profiles=[_qos(is_kept, is_reliable)],
        )

    def write(self, topic, message_type, time_ns, content):
        """Write the bytes of a message, at a time by the clock of the recorder [ns]."""
        if topic not in self._connections:
            self.add(topic, message_type)
        self._writer.write(self._connections[topic], time_ns, content)


class GrowingBag(BagWriter):
    """Writes an mcap that can be read up to its last `flush`, however its writer ends."""

    def __init__(self, path):
        """Begin a folder that must not exist."""
        super().__init__(path, 'mcap')
        self._path, self._has_news, self._is_broken = path, False, False

    def write(self, topic, message_type, time_ns, content):
        """Write the bytes of a message; a DataError where there is no room for them."""
        with self._as_data_errors():
            super().write(topic, message_type, time_ns, content)
        self._has_news = True

    def flush(self):
        """Close the chunk of what came since the last time, and hand it to the system."""
        if self._has_news:
            self._has_news = False
            with self._as_data_errors():
                self._writer.storage.close_chunk()
                self._writer.storage.bio.flush()

    def close(self):
        """Write the end and the list of what is in it, unless writing has failed before."""
        if self._is_broken:
            # What is left in memory would fail once more.
            with suppress(OSError):
                self._writer.abort()
            return
        with self._as_data_errors():
            self._writer.close()

    @contextmanager
    def _as_data_errors(self):
        try:
            yield
        except OSError as error:
            self._is_broken = True
            raise DataError(
                f'{self._path}: cannot be written any more ({error}); what was written until '
                'now can be read'
            ) from error


def _qos(is_kept, is_reliable):
    durability = QosDurability.TRANSIENT_LOCAL if is_kept else QosDurability.VOLATILE
    return Qos(
        QosHistory.KEEP_LAST,
        1 if is_kept else 10,
        QosReliability.RELIABLE if is_reliable else QosReliability.BEST_EFFORT,
        durability,
        _FOR_EVER,
        _FOR_EVER,
        QosLiveliness.AUTOMATIC,
        _FOR_EVER,
        False,
    )
