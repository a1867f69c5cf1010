"""How verdicts look: one table for the terminal, rviz, and the report."""

from dataclasses import dataclass

from .verdicts import Verdict

# Of a colour, so that text in it can be read on white paper.
_DARKER = 0.55


@dataclass(frozen=True)
class Look:
    """
    How a verdict looks.

    colour: its name in the legend; rgb: from 0 to 1, of the palette of Okabe and Ito as far as it
    goes, which colour-blind people can tell apart; sign: in tables, as it is never told by colour
    alone; marker: in figures, as matplotlib names it.
    """

    colour: str
    rgb: tuple
    sign: str
    marker: str

    @property
    def web(self):
        """The colour as HTML and matplotlib write it."""
        return _web(self.rgb)

    @property
    def web_of_text(self):
        """The same, dark enough for text on white."""
        return _web(tuple(_DARKER * part for part in self.rgb))

    @property
    def style(self):
        """The colour as rich writes it."""
        return f'rgb({",".join(map(str, _bytes(self.rgb)))})'


# docs/ros.md has the legend.
LOOKS = {
    Verdict.IDENTIFIED: Look('green', (0.0, 0.62, 0.45), '●', 'o'),
    Verdict.PRIOR_ASSISTED: Look('light blue', (0.34, 0.71, 0.91), '◐', 's'),
    Verdict.ALIASED: Look('orange', (0.9, 0.62, 0.0), '≈', 'D'),
    Verdict.PRIOR_ONLY: Look('grey', (0.6, 0.6, 0.6), '○', 'o'),
    Verdict.AMBIGUOUS: Look('purple', (0.8, 0.47, 0.65), '?', '^'),
    Verdict.OUT_OF_PRIOR: Look('red', (0.84, 0.37, 0.0), '!', 'X'),
    Verdict.CHANGED: Look('yellow', (0.94, 0.89, 0.26), 'Δ', 'P'),
    Verdict.MISFIT: Look('brown', (0.55, 0.27, 0.07), '✗', 'v'),
}


def look_of(verdict):
    """Return the `Look` of a verdict's word."""
    return LOOKS[Verdict(verdict)]


def _bytes(rgb):
    return tuple(round(255 * part) for part in rgb)


def _web(rgb):
    return '#{:02x}{:02x}{:02x}'.format(*_bytes(rgb))
