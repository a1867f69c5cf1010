"""Processes that end with whoever started them."""

from contextlib import contextmanager
import os
import signal
import subprocess
import sys
import time

from ...errors import ProcessError

# How long a process may take to end by itself [s].
_PATIENCE = 5.0
_TAIL = 8
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Processes:
    """Python modules run as processes while this is entered; all end when it is left."""

    def __init__(self):
        """Begin with none."""
        self._running = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, _ in self._running.values():
            process.send_signal(signal.SIGINT)
        end = time.monotonic() + _PATIENCE
        for process, _ in self._running.values():
            _end(process, end)

    def start(self, module, arguments, log):
        """Start a module of Python, its output into the file `log`; return the process."""
        with open(log, 'w', encoding='utf-8') as file:
            process = subprocess.Popen(
                [sys.executable, '-m', module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal reaches this process alone, which ends the others.
                start_new_session=True,
            )
        self._running[module] = process, log
        return process

    def check(self):
        """Raise a ProcessError where one has ended, with the last lines that it wrote."""
        for module, (process, log) in self._running.items():
            if process.poll() is not None:
                lines = log.read_text(encoding='utf-8', errors='replace').splitlines()[-_TAIL:]
                raise ProcessError(
                    '\n'.join([f'{module} ended with status {process.returncode}; {log}:', *lines])
                )


def _end(process, end):
    """Wait for a process until an instant of the monotonic clock; then kill what is left."""
    try:
        process.wait(max(end - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def interruptible():
    """Let the first SIGINT or SIGTERM raise KeyboardInterrupt; more shall not disturb the end."""
    before = {number: signal.signal(number, _interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_):
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
