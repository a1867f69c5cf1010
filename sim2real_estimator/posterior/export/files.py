"""Files that are there as a whole or not at all."""

import os
from pathlib import Path

from ...errors import OutputError


def replace_file(path, content):
    """Write bytes, or text as UTF-8, to a file beside the path, and put it in its place."""
    path = Path(path)
    beside = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        try:
            beside.write_bytes(content.encode() if isinstance(content, str) else content)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f'{path}: cannot be written ({error}); choose another place') from error
