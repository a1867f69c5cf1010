"""What a report is made of: sections of texts, tables and figures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """A paragraph; items: a list below it."""

    text: str
    items: tuple = ()
    kind = 'text'


@dataclass(frozen=True)
class Cell:
    """An entry of a table; mark: a class of the style sheet, empty for none."""

    text: str
    mark: str = ''


@dataclass(frozen=True)
class Table:
    """Rows of texts or `Cell`s below titles; caption: what to see; texts: columns of words."""

    caption: str
    head: tuple
    rows: tuple
    texts: tuple = (0,)
    kind = 'table'

    @property
    def cells(self):
        """The rows with nothing but `Cell`s."""
        return [[e if isinstance(e, Cell) else Cell(str(e)) for e in row] for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """A figure as data for <img>; caption: what to see, in one sentence; alt: what is drawn."""

    caption: str
    alt: str
    source: str
    kind = 'picture'


@dataclass(frozen=True)
class Folded:
    """A long text that opens on request; on paper it is left out."""

    title: str
    text: str
    kind = 'folded'


@dataclass(frozen=True)
class Section:
    """A part of the report; missing: in a sentence why it is empty, if it is."""

    title: str
    blocks: tuple = ()
    missing: str = ''

    @property
    def anchor(self):
        """The name by which links find it."""
        return self.title.lower().replace(' ', '-')
