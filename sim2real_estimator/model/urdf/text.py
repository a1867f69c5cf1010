"""The text of a URDF in which single attributes are changed and every other byte stays."""

from dataclasses import dataclass, field
import re
from xml.parsers import expat

from ...errors import ModelError

_ATTRIBUTE = re.compile(rb'([^\s=<>/]+)\s*=\s*("[^"]*"|\'[^\']*\')')
_BLANK_BEFORE = re.compile(rb'\n[ \t]*$')


@dataclass
class Tag:
    """
    An element by where it stands, in bytes.

    start, end: of its start tag; close: where its end tag begins, `end` where it has none;
    attributes: name -> (start, end) of the value between the quotes.
    """

    name: str
    start: int
    end: int
    is_empty: bool
    attributes: dict
    values: dict
    children: list = field(default_factory=list)
    close: int = 0

    def child(self, name):
        """Return the first child of that name, or None."""
        return next((child for child in self.children if child.name == name), None)


class UrdfText:
    """Where everything stands in a URDF, and the changes to be made."""

    def __init__(self, data, name):
        """Take the bytes, in an encoding that has ASCII as it is; name: for messages."""
        self._data, self._name, self._edits = data, name, []
        if data[:2] in (b'\xff\xfe', b'\xfe\xff'):
            raise ModelError(f'{name}: it is in UTF-16; save it in UTF-8 to have it changed')
        self.robot = self._parsed()

    def named(self, kind, name):
        """Return the `Tag` of the link or joint of that name."""
        return next(
            tag
            for tag in self.robot.children
            if tag.name == kind and tag.values.get('name') == name
        )

    def set(self, tag, attribute, value):
        """Give an attribute of a `Tag` another value, or a first one."""
        if attribute in tag.attributes:
            self._edits.append((*tag.attributes[attribute], value.encode()))
            return
        ends = [end + 1 for _, end in tag.attributes.values()]
        place = max(ends, default=tag.start + 1 + len(tag.name.encode()))
        self._edits.append((place, place, f' {attribute}="{value}"'.encode()))

    def add(self, parent, content):
        """Put the text of a new element into a `Tag`, before its other children."""
        if parent.is_empty:
            slash = self._data.rindex(b'/', parent.start, parent.end)
            text = f'>{content}</{parent.name}>'.encode()
            self._edits.append((slash, parent.end, text))
            return
        first = min((child.start for child in parent.children), default=parent.end)
        blank = _BLANK_BEFORE.search(self._data[parent.end : first])
        text = (blank.group() if blank else b'') + content.encode()
        self._edits.append((parent.end, parent.end, text))

    def insert_comment(self, text):
        """Put a comment before the robot; text: without two hyphens in a row."""
        self._edits.append((self.robot.start, self.robot.start, f'<!--\n{text}\n-->\n'.encode()))

    def changed(self):
        """Return the bytes with all changes made."""
        data = self._data
        for start, end, value in sorted(self._edits, key=lambda edit: edit[0], reverse=True):
            data = data[:start] + value + data[end:]
        return data

    def _parsed(self):
        """Return the `Tag` of the robot with all that is in it."""
        parser, path, roots = expat.ParserCreate(), [], []

        def begin(name, values):
            tag = self._tag(parser.CurrentByteIndex, name, values)
            (path[-1].children if path else roots).append(tag)
            path.append(tag)

        def finish(_):
            tag = path.pop()
            tag.close = tag.end if tag.is_empty else parser.CurrentByteIndex

        parser.StartElementHandler, parser.EndElementHandler = begin, finish
        parser.Parse(self._data, True)
        return roots[0]

    def _tag(self, start, name, values):
        attributes, at = {}, start + 1 + len(name.encode())
        while match := _ATTRIBUTE.search(self._data, at, self._end_of_tag(at)):
            attributes[match.group(1).decode()] = match.start(2) + 1, match.end(2) - 1
            at = match.end()
        end = self._end_of_tag(at) + 1
        return Tag(name, start, end, self._data[end - 2] == ord('/'), attributes, values)

    def _end_of_tag(self, at):
        """Return where the '>' of a start tag stands, of which `at` is outside of all quotes."""
        quote = None
        for place in range(at, len(self._data)):
            letter = self._data[place : place + 1]
            if quote:
                quote = None if letter == quote else quote
            elif letter in (b'"', b"'"):
                quote = letter
            elif letter == b'>':
                return place
        raise ModelError(f'{self._name}: an element has no end; correct the XML')
