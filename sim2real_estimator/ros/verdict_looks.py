"""How verdicts look: their colours in rviz, and their levels in diagnostics."""

from dataclasses import dataclass

from ..messages import maker
from ..observability.verdicts import Verdict

ColorRGBA = maker('std_msgs/msg/ColorRGBA')
DiagnosticStatus = maker('diagnostic_msgs/msg/DiagnosticStatus')


@dataclass(frozen=True)
class Look:
    """
    How a verdict looks.

    colour: its name in the legend; rgb: from 0 to 1, of a palette that colour-blind people can
    tell apart; level: of DiagnosticStatus; rank: the more, the more a reader should know.
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
# docs/ros.md has the legend.
LOOKS = {
    Verdict.IDENTIFIED: Look('green', (0.0, 0.62, 0.45), _OK, 0),
    Verdict.PRIOR_ASSISTED: Look('light blue', (0.34, 0.71, 0.91), _OK, 1),
    Verdict.ALIASED: Look('orange', (0.9, 0.62, 0.0), _OK, 2),
    Verdict.PRIOR_ONLY: Look('grey', (0.6, 0.6, 0.6), _OK, 3),
    Verdict.AMBIGUOUS: Look('purple', (0.8, 0.47, 0.65), _WARN, 4),
    Verdict.OUT_OF_PRIOR: Look('red', (0.84, 0.37, 0.0), _WARN, 5),
    Verdict.CHANGED: Look('yellow', (0.94, 0.89, 0.26), _WARN, 6),
    Verdict.MISFIT: Look('brown', (0.55, 0.27, 0.07), _WARN, 7),
}

NOT_ESTIMATED = Look('white', (0.9, 0.9, 0.9), _OK, -1)


def look_of(verdict):
    """Return the `Look` of a verdict's word."""
    return LOOKS[Verdict(verdict)]


def worst_look(verdicts):
    """Return the `Look` for several verdicts: of the one that a reader should know most."""
    looks = (look_of(verdict) for verdict in verdicts)
    return max(looks, key=lambda look: look.rank, default=NOT_ESTIMATED)
