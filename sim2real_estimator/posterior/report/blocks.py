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
    parts = ()


@dataclass(frozen=True)
class Bar:
    """
    An entry of a table that is drawn, as wide as its column; text: the same in words.

    spans: (begin, end, class of the style sheet), in % of the column's width.
    """

    text: str
    spans: tuple
    mark = ''

    @property
    def parts(self):
        """The (begin, width, class) of each."""
        return [(begin, end - begin, mark) for begin, end, mark in self.spans]


@dataclass(frozen=True)
class Group:
    """A row of a table that is the title of those below it; text: what to add in plain letters."""

    title: str
    text: str = ''


@dataclass(frozen=True)
class Table:
    """
    Rows of texts, `Cell`s or `Bar`s below titles, or `Group`s.

    caption: what to see; head: a title a column, or several along a scale; texts: columns of
    words; is_stacked: whether on a narrow screen each row becomes a few lines, the first column
    being their title.
    """

    caption: str
    head: tuple
    rows: tuple
    texts: tuple = (0,)
    is_stacked: bool = False
    kind = 'table'

    @property
    def cells(self):
        """The rows with nothing but `Cell`s and `Bar`s, without titles of groups."""
        return [self._row(row) for row in self.rows if not isinstance(row, Group)]

    @property
    def lines(self):
        """The (`Group` or None, entries) of all rows."""
        return [
            (row, ()) if isinstance(row, Group) else (None, self._row(row)) for row in self.rows
        ]

    @staticmethod
    def _row(row):
        return [e if isinstance(e, (Bar, Cell)) else Cell(str(e)) for e in row]


@dataclass(frozen=True)
class Picture:
    """
    A figure as data for <img>.

    caption: what to see, in one sentence; alt: what is drawn; legend: (class of the style sheet,
    words) of its colours; fits: whether it can be read on a narrow screen as well, where others
    are scrolled.
    """

    caption: str
    alt: str
    source: str
    legend: tuple = ()
    fits: bool = False
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
