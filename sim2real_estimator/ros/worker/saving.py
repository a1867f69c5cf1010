"""The folder of posterior files: names of new ones, and which of them are kept."""

from datetime import datetime, timezone
from pathlib import Path

from ...errors import DataError

_PATTERN = 'posterior_*.npz'


def written(folder):
    """Return the paths of the posterior files in a folder, the newest first."""
    return sorted(Path(folder).glob(_PATTERN), reverse=True)


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
        # Names sort in the order of time.
        now = datetime.now(timezone.utc).strftime('%Y%m%dT%H%M%S.%fZ')
        return self.folder / f'posterior_{now}.npz'

    def prune(self):
        """Delete all but the latest files."""
        for path in sorted(self.folder.glob(_PATTERN))[: -self.keep]:
            path.unlink(missing_ok=True)
