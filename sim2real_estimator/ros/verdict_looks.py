"""How verdicts look in messages: their colours in rviz, and their levels in diagnostics."""

from dataclasses import dataclass

from ..messages import maker
from ..observability.looks import LOOKS as COLOURS
from ..observability.verdicts import Verdict

ColorRGBA = maker('std_msgs/msg/ColorRGBA')
DiagnosticStatus = maker('diagnostic_msgs/msg/DiagnosticStatus')


@dataclass(frozen=True)
class Look:
    """
    How a verdict looks.

    colour: its name in the legend; rgb: from 0 to 1; level: of DiagnosticStatus; rank: the more,
    the more a reader should know.
    """

    colour: str
    rgb: tuple
    level: bytes
    rank: int

    def color(self, alpha=1.0):
        """Return the ColorRGBA."""
        red, green, blue = self.rgb
        return ColorRGBA(r=red, g=green, b=blue, a=alpha)


_OK, _WARN = DiagnosticStatus.OK, DiagnosticStatus.WARN
# Level and rank of each verdict; its colour is that of the terminal and of the report.
_RANKS = {
    Verdict.IDENTIFIED: (_OK, 0),
    Verdict.PRIOR_ASSISTED: (_OK, 1),
    Verdict.ALIASED: (_OK, 2),
    Verdict.PRIOR_ONLY: (_OK, 3),
    Verdict.AMBIGUOUS: (_WARN, 4),
    Verdict.OUT_OF_PRIOR: (_WARN, 5),
    Verdict.CHANGED: (_WARN, 6),
    Verdict.MISFIT: (_WARN, 7),
}
LOOKS = {
    verdict: Look(COLOURS[verdict].colour, COLOURS[verdict].rgb, *rank)
    for verdict, rank in _RANKS.items()
}

NOT_ESTIMATED = Look('white', (0.9, 0.9, 0.9), _OK, -1)


def look_of(verdict):
    """Return the `Look` of a verdict's word."""
    return LOOKS[Verdict(verdict)]


def worst_look(verdicts):
    """Return the `Look` for several verdicts: of the one that a reader should know most."""
    looks = (look_of(verdict) for verdict in verdicts)
    return max(looks, key=lambda look: look.rank, default=NOT_ESTIMATED)
