"""The folder of posterior files: names of new ones, and which of them are kept."""

from datetime import datetime, timezone
import os
from pathlib import Path
import re

from ...errors import DataError

_PATTERN = 'posterior_*.npz'
# Names begin with a number that counts up: a robot's clock may be set back between two files.
_NUMBERED = re.compile(r'posterior_(\d+)_')


def written(folder):
    """Return the paths of the posterior files in a folder, the one written last first."""
    return sorted(Path(folder).glob(_PATTERN), key=_order, reverse=True)


def _order(path):
    """Return the number of a file, 0 for one without, and its name."""
    found = _NUMBERED.match(path.name)
    return int(found[1]) if found else 0, path.name


def folder_of(config):
    """
    Return the folder that a node of a `Config` saves into.

    Where the settings name none it is in the state folder of the user, by the rules of XDG, and
    never beside installed files: one for each file of settings.
    """
    if config.saving.folder:
        return Path(config.source).parent / config.saving.folder
    state = os.environ.get('XDG_STATE_HOME', '')
    # The rules say that a relative one is to be ignored.
    home = Path(state) if os.path.isabs(state) else Path('~/.local/state').expanduser()
    return home / 'sim2real_estimator' / (Path(config.source).stem or 'robot')


class Saving:
    """A folder of posterior files, of which the latest are kept."""

    def __init__(self, folder, keep):
        """Set the folder, which is made when it is needed, and the number of files to keep."""
        self.folder, self.keep, self.error = Path(folder), keep, ''

    def next_path(self):
        """Return the path of the next file; raise a DataError where the folder cannot be made."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f'saving.folder: {self.folder} cannot be made ({error}); choose another'
            ) from error
        number = max((_order(path)[0] for path in written(self.folder)), default=0) + 1
        now = datetime.now(timezone.utc).strftime('%Y%m%dT%H%M%S.%fZ')
        return self.folder / f'posterior_{number:06d}_{now}.npz'

    def prune(self):
        """Delete all but the latest files."""
        for path in written(self.folder)[self.keep :]:
            path.unlink(missing_ok=True)
