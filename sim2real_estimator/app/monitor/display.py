"""A `Board` on a terminal, live; as plain lines where it is none."""

import time

from rich.live import Live

from .board_table import happened, heading, picture, plain_lines

# How often a terminal is drawn anew, and lines are printed where there is none [s].
_REFRESH, _LINES = 0.25, 5.0


class Display:
    """Shows a board while it is entered."""

    def __init__(self, console, clock=time.monotonic):
        """Begin with nothing shown; console: of rich; clock: function that returns seconds."""
        self._console, self._clock = console, clock
        self._due, self._told = clock(), 0
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self):
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_):
        if self._live:
            self._live.stop()

    def show(self, board):
        """Show a `Board`, no more often than can be read."""
        if not self._live:
            self._tell(board)
        now = self._clock()
        if now < self._due:
            return
        if self._live:
            self._live.update(self._drawn(board), refresh=True)
            self._due = now + _REFRESH
        elif board.rows():
            self._print('\n'.join([f'-- {heading(board).strip()}', *plain_lines(board)]))
            self._due = now + _LINES

    def _drawn(self, board):
        is_fine = self._console.encoding.startswith('utf')
        return picture(board, self._console.width, is_fine)

    def _tell(self, board):
        """Print what has happened since the call before."""
        for happening in board.happenings[self._told :]:
            self._print(happened(board, happening))
        self._told = len(board.happenings)

    def _print(self, text):
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)
