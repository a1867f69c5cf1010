"""Checkpoints of an identification, from which another process can continue after a kill."""

from contextlib import contextmanager
from dataclasses import replace
import fcntl
import hashlib
import json
from pathlib import Path
import re
import shutil
import time

from ...errors import ConfigError, DataError, OutputError
from ...posterior.file import load, save

# Least time between two checkpoints [s], and least ratio of it to the time that one takes.
_PERIOD, _RATIO = 5.0, 30.0
_FILE, _LOCK, JOURNAL = 'checkpoint.npz', 'lock', 'journal'
# The finished result and the one that it replaces, before they are moved.
RESULT, OLD = 'result', 'old'
# All that is ever in the folder; posteriors of several recordings have a number for a name, and
# a file that was being written has a dot before its own name and the process after it.
_OWN = re.compile('|'.join((_FILE, _LOCK, JOURNAL, RESULT, OLD, r'\d+\.npz', r'\..+\.npz\.\d+')))


class Checkpoint:
    """A folder beside the result that exists while the identification is not finished."""

    def __init__(self, output, key):
        """Set the folder of the result, and a key that only the same identification has."""
        self._output = Path(output)
        self.folder = self._output.with_name(f'{self._output.name}.partial')
        self._key, self._saved, self._period = key, time.monotonic(), _PERIOD

    @contextmanager
    def held(self):
        """Lock the folder, and remove it where the identification fails by itself."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            strange = sorted(path.name for path in self.folder.iterdir() if not _is_own(path))
            if strange:
                raise ConfigError(
                    f'{self.folder}: this folder would be used and then removed, but it holds '
                    f"'{strange[0]}', which is not of `identify`; give another --output, or move "
                    'the folder'
                )
            lock = (self.folder / _LOCK).open('w')
        except OSError as error:
            raise ConfigError(
                f'{self.folder}: cannot be written ({error}); give another --output'
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ConfigError(
                    f'{self.folder}: another process is at it; wait for it, or give another '
                    '--output'
                ) from error
            try:
                yield self
            except KeyboardInterrupt:
                raise
            except (OSError, OutputError) as error:
                raise self._without_room(error) from error
            except BaseException:
                shutil.rmtree(self.folder)
                raise

    def _without_room(self, error):
        """Return the error to raise where something could not be written."""
        if isinstance(error, OSError):
            error = f'{self._output}: cannot be written ({error}); give another --output'
        if (self.folder / _FILE).exists():
            return OutputError(f'{error}, or make room: the same command goes on from here')
        shutil.rmtree(self.folder)
        return OutputError(f'{error}, or make room')

    @property
    def journal(self):
        """The path of the `Journal` of messages."""
        return self.folder / JOURNAL

    @property
    def is_due(self):
        """Whether it is time for another checkpoint."""
        return time.monotonic() - self._saved > self._period

    def write(self, pipeline, progress):
        """Write the state of a pipeline, and of all else, as plain values and records."""
        began = time.monotonic()
        run = {'key': self._key, 'pipeline': pipeline.run(), 'progress': progress}
        save(self.folder / _FILE, replace(pipeline.posterior(), run=run))
        self._saved = time.monotonic()
        self._period = max(_PERIOD, _RATIO * (self._saved - began))

    def keep(self, posteriors):
        """Write the latest of the `Posterior`s of recordings that are to be joined."""
        save(self.folder / f'{len(posteriors) - 1}.npz', posteriors[-1])

    def posteriors(self, count):
        """Return the `Posterior`s that were written of the first recordings, [] without any."""
        paths = [self.folder / f'{number}.npz' for number in range(count)]
        return [load(path) for path in paths if path.exists()]

    def read(self):
        """Return (run of the pipeline, the rest) of the same identification, None without."""
        path = self.folder / _FILE
        if not path.exists():
            return None
        try:
            run = load(path).run
        except DataError:
            return None
        return (run['pipeline'], run['progress']) if run['key'] == self._key else None


def _is_own(path):
    """Return whether an entry of the folder is one that an identification makes."""
    return _OWN.fullmatch(path.name) is not None


def key_of(*parts):
    """Return a key that is the same for the same identification only."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
