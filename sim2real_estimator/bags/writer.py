"""Recordings written as rosbag2 of Jazzy writes them."""

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

    def add(self, topic, message_type, is_kept=False):
        """
        Declare a topic; those that get a message need not be.

        is_kept: whether it was published for those who subscribe later (transient local).
        """
        self._connections[topic] = self._writer.add_connection(
            topic, message_type, typestore=typestore(), offered_qos_profiles=[_qos(is_kept)]
        )

    def write(self, topic, message_type, time_ns, content):
        """Write the bytes of a message, at a time by the clock of the recorder [ns]."""
        if topic not in self._connections:
            self.add(topic, message_type)
        self._writer.write(self._connections[topic], time_ns, content)


def _qos(is_kept):
    durability = QosDurability.TRANSIENT_LOCAL if is_kept else QosDurability.VOLATILE
    return Qos(
        QosHistory.KEEP_LAST,
        1 if is_kept else 10,
        QosReliability.RELIABLE,
        durability,
        _FOR_EVER,
        _FOR_EVER,
        QosLiveliness.AUTOMATIC,
        _FOR_EVER,
        False,
    )
