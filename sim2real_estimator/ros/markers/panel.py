"""A table of parameters beside the robot."""

from ...observability.verdicts import Verdict
from ..looks import LOOKS
from .shapes import text

_SPACE = 'panel'
_ROWS = 30
# In parts of the robot's size: letters, and where the middle of the table is.
_HEIGHT, _PLACE = 0.06, (0.0, -1.1, 0.2)


def panel_markers(view):
    """
    Return one text per verdict, each with the rows of that verdict.

    All have the same lines, those of others being blank, and are equally wide: together they are
    one table in several colours, from wherever one looks.
    """
    shown, more = view.findings[:_ROWS], len(view.findings) - _ROWS
    lines = [f'{row.name}  {view.words(row)}  {row.verdict}' for row in shown]
    footer = f'and {more} more' if more > 0 else ' '
    # In rviz the space is as wide as the widest letters, and a text as wide as its longest line.
    ruler = ' ' * max(map(len, [footer, *lines]))
    place = [view.size * x for x in _PLACE]
    markers = []
    for number, verdict in enumerate(Verdict):
        own = [row.verdict == verdict.value for row in shown]
        if any(own):
            words = [line if is_own else ' ' for line, is_own in zip(lines, own)]
            # The last line is of no verdict; it goes with the first row.
            words += [footer if own[0] else ' ', ruler]
            markers.append(
                text(
                    _SPACE,
                    number,
                    view.parameters.model.base,
                    place,
                    _HEIGHT * view.size,
                    '\n'.join(words),
                    LOOKS[verdict].color(),
                )
            )
    return markers
