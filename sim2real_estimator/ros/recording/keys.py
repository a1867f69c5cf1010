"""Keys that somebody presses in a terminal, without Enter."""

import os
import select
import sys
import termios
import tty


class Keys:
    """The keys of a terminal, which is as before at the end of a `with`; of other files none."""

    def __init__(self, stream=None):
        """Take an open file; None: the standard input."""
        self._stream, self._before = stream or sys.stdin, None

    def __enter__(self):
        if self.is_there:
            self._before = termios.tcgetattr(self._stream)
            # Ctrl-C stays what it is.
            tty.setcbreak(self._stream)
        return self

    def __exit__(self, *_):
        if self._before:
            termios.tcsetattr(self._stream, termios.TCSADRAIN, self._before)

    @property
    def is_there(self):
        """Whether somebody can press keys; in the background the terminal is of others."""
        if not self._stream or not self._stream.isatty():
            return False
        try:
            return os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except OSError:
            # A terminal, but not the one that this process was started from.
            return True

    def pressed(self):
        """Return the keys that were pressed since the last time, as one text."""
        found = ''
        while self._before and self.is_there and select.select([self._stream], [], [], 0)[0]:
            key = os.read(self._stream.fileno(), 1)
            if not key:
                break
            found += key.decode(errors='ignore')
        return found
