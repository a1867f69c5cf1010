"""Which files the posterior is written to, and which of them stay."""

from datetime import datetime, timezone
from pathlib import Path

from ...errors import DataError

_PATTERN = 'posterior_*.npz'


def written(folder):
    """Return the paths of the files that nodes have written into a folder, the newest first."""
    return sorted(Path(folder).glob(_PATTERN), reverse=True)


class Saving:
    """A folder for posterior files, the last ones of which are kept."""

    def __init__(self, folder, keep):
        """Take the folder, which is made if it is missing, and how many files stay in it."""
        self.folder, self.keep, self.error = Path(folder), keep, ''

    def next_path(self):
        """Return where the next file goes; a DataError where there can be none."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f'saving.folder: {self.folder} cannot be made ({error}); choose another'
            ) from error
        # Names are in the order of time.
        now = datetime.now(timezone.utc).strftime('%Y%m%dT%H%M%S.%fZ')
        return self.folder / f'posterior_{now}.npz'

    def prune(self):
        """Delete the oldest files beyond those that stay."""
        for path in sorted(self.folder.glob(_PATTERN))[: -self.keep]:
            path.unlink(missing_ok=True)
