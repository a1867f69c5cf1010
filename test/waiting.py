"""Waiting for other processes."""

from pathlib import Path
import time

# So long may anything take where others compete for the cores, as the worker yields to them.
PATIENCE = 180.0


def is_running(pid):
    """Tell whether a process exists, and is more than a record of its end."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition, about):
    """Wait for a condition without spinning, and fail where it does not come."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f'waited in vain: {about}'
        time.sleep(0.02)
