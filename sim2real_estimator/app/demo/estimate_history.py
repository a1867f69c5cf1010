"""The history of estimates in a demo."""

from dataclasses import dataclass

_NANO = 1e9


@dataclass(frozen=True)
class Moment:
    """What was known at a stamp: seconds since the robot's start; name -> `Row`."""

    seconds: float
    rows: dict


class History:
    """The moments of a demo, in the order of their stamps."""

    def __init__(self, board):
        """Begin with none of a `Board`."""
        self._board, self._stamp_ns, self.moments = board, None, []

    def look(self):
        """Note what the board says, if that is new."""
        stamp_ns, rows = self._board.stamp_ns, self._board.rows()
        if rows and self._board.truths and stamp_ns != self._stamp_ns:
            self._stamp_ns = stamp_ns
            named = {row.name: row for row in rows}
            self.moments.append(Moment(self._board.seconds(stamp_ns), named))

    def before(self, seconds):
        """Return the last `Moment` before an instant [s]; None where there is none."""
        return next((m for m in reversed(self.moments) if m.seconds < seconds), None)

    @property
    def payload(self):
        """What the estimator says is held: (link, mass [kg], its sd), None where nothing is."""
        return self._board.payload

    @property
    def changes(self):
        """When the true values changed [s since the robot's start]."""
        return tuple(self._board.seconds(stamp_ns) for stamp_ns, _ in self._board.truths[1:])

    @property
    def reports(self):
        """When the estimator says that the robot changed [s since the robot's start]."""
        return tuple(
            self._board.seconds(each.stamp_ns)
            for each in self._board.happenings
            if each.name == 'changed'
        )
