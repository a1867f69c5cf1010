"""The files of a rosbag2 recording: found, decompressed, opened; its list rebuilt if need be."""

from contextlib import contextmanager, ExitStack
import logging
import math
from pathlib import Path
import re
import shutil
from tempfile import TemporaryDirectory

from backports import zstd
from rosbags.rosbag2 import Reader

from ..errors import DataError
from ..files import damage_as_error, require_file
from .salvage import is_cut_off, SalvageReader

METADATA = 'metadata.yaml'
_KINDS = ('.mcap', '.db3')
_PACKED = ('.zstd', '.zst')
# How a message that was compressed by itself begins; one that was not begins with zero.
_MAGIC = b'\x28\xb5\x2f\xfd'
# Of one message, more than the largest images have [bytes]; of what is unpacked at once.
_LARGEST, _BLOCK = 256 << 20, 1 << 20
_NANO = 1e9
_REPAIR = (
    'copy it again, or let its tool repair it: `mcap recover` for .mcap, `sqlite3 FILE .recover` '
    'for .db3'
)
_logger = logging.getLogger(__name__)


@contextmanager
def as_data_errors(path):
    """
    Turn any error of the library about a damaged file into a `DataError` that names the path.

    The library checks much; the rest are errors of any kind from deep inside it.
    """
    with damage_as_error(path, _REPAIR):
        try:
            yield
        except OSError as error:
            raise DataError(
                f'{path}: cannot be read ({error}); see that you may read all files of the '
                'recording, and that their disk is there'
            ) from error


def storage_files(path):
    """Return the files of a recording that hold messages, in order of their numbers."""
    path = Path(path)
    with as_data_errors(path):
        if not path.exists():
            raise DataError(f'{path}: does not exist; give the folder or the file of a recording')
        require_file(path, math.inf)
        if path.is_file():
            if not _kind(path):
                raise DataError(f'{path}: is no .mcap and no .db3; give a rosbag2 recording')
            return [path]
        found = sorted(filter(_kind, path.iterdir()), key=_natural)
        if not found:
            raise DataError(f'{path}: holds no .mcap and no .db3; {_remedy_for_none(path)}')
        return found


class Storage:
    """
    The opened files of a recording.

    readers: of `rosbags`, one after the other in time; warnings: sentences about what is odd.
    """

    def __init__(self, path):
        """Open a folder or a single file; a DataError says what is wrong with it."""
        self.path, self.warnings, self._stack = Path(path), [], ExitStack()
        files = storage_files(path)
        try:
            self.readers, reason = self._listed(files)
            if not self.readers:
                self.readers = self._opened_alone(files)
            if reason:
                self._warn(f'{self.path}: rebuilt from its files, since {reason}')
        except BaseException:
            self.close()
            raise

    def close(self):
        """Close all files."""
        self._stack.close()

    def messages(self, is_wanted, start_ns=None, stop_ns=None):
        """
        Yield (connection, time in the bag [ns], bytes), in order of the times.

        is_wanted: function of a connection; start_ns, stop_ns: the first time, and the first one
        no longer wanted.
        """
        for reader in self.readers:
            wanted = [each for each in reader.connections if is_wanted(each)]
            if not wanted:
                continue
            with as_data_errors(reader.path):
                for connection, time_ns, content in reader.messages(wanted, start_ns, stop_ns):
                    if content[:4] == _MAGIC:
                        content = _unpacked(content)
                    yield connection, time_ns, content

    def _listed(self, files):
        """Return (the one reader of all that metadata.yaml lists, or none; why it is no help)."""
        with as_data_errors(self.path):
            # What a list says of a file that has lost its end is no longer true.
            if self.path.is_file() or any(map(is_cut_off, files)):
                return [], ''
            if not (self.path / METADATA).exists():
                return [], f'there is no {METADATA}'
        try:
            with as_data_errors(self.path):
                return [self._stack.enter_context(Reader(self.path))], ''
        except DataError as error:
            return [], f'{METADATA} is no help ({error.__cause__})'

    def _opened_alone(self, files):
        """Return the readers of files, in order of their times, of each as far as it is whole."""
        readers = []
        for file in files:
            try:
                readers.append(self._salvaged(file) if is_cut_off(file) else self._opened(file))
            except DataError as error:
                # The last of several parts may just have been begun.
                if file is not files[-1] or not readers or not is_cut_off(file):
                    raise
                self._warn(f'left out: {error}')
        return sorted(readers, key=lambda reader: reader.start_time)

    def _salvaged(self, file):
        """Return the reader of what is whole of a file that has no end."""
        with as_data_errors(file):
            reader = self._stack.enter_context(SalvageReader(file))
        self._warn(
            f'{file}: has no end, as where the recorder was killed; what is whole is used: '
            f'{reader.message_count} messages of {reader.duration / _NANO:.1f} s'
        )
        return reader

    def _opened(self, file):
        """Return the reader of a single file, of an unpacked copy where it is packed."""
        with as_data_errors(file):
            if file.suffix in _PACKED:
                folder = self._stack.enter_context(TemporaryDirectory())
                copy = Path(folder) / file.stem
                room = shutil.disk_usage(folder).free // 2
                with zstd.open(file, 'rb') as packed, copy.open('wb') as unpacked:
                    while block := packed.read(_BLOCK):
                        unpacked.write(block)
                        if unpacked.tell() > room:
                            raise DataError(
                                f'{file}: unpacks to more than {room >> 20} MB, half of the room '
                                f'in {folder}; unpack it where there is more, or see whether it '
                                'is the right file'
                            )
                file = copy
            return self._stack.enter_context(Reader(file))

    def _warn(self, text):
        self.warnings.append(text)
        _logger.warning('%s', text)


def _unpacked(content):
    """Return what a message was before it was compressed."""
    decompressor = zstd.ZstdDecompressor()
    unpacked = decompressor.decompress(content, max_length=_LARGEST)
    if not decompressor.eof:
        raise ValueError(f'a message is cut off, or unpacks to more than {_LARGEST >> 20} MB')
    return unpacked


def _remedy_for_none(path):
    """Return what to do about a folder without any file that holds messages."""
    inside = sorted(each.name for each in path.iterdir() if each.is_dir() and _holds_some(each))
    if inside:
        return f'its folders do: give {", ".join(inside)}, one by one'
    if (path / METADATA).exists():
        return f'only {METADATA} is there: copy the files that it lists as well'
    return 'give the folder of a rosbag2 recording'


def _holds_some(folder):
    return any(map(_kind, folder.iterdir()))


def _kind(path):
    """Return '.mcap' or '.db3', or None for a file of another kind."""
    suffix = Path(path.stem).suffix if path.suffix in _PACKED else path.suffix
    return suffix if suffix in _KINDS else None


def _natural(path):
    """Return a key that puts part 10 after part 9."""
    return [int(part) if part.isdigit() else part for part in re.split(r'(\d+)', path.name)]
