"""XML of a URDF as elements that say where they stand when something is wrong with them."""

import math
import os
from xml.etree import ElementTree

from ...errors import ModelError
from ...files import LARGEST_TEXT, require_file

_XACRO_NAMESPACES = (
    'http://www.ros.org/wiki/xacro',
    'http://wiki.ros.org/xacro',
    'http://ros.org/wiki/xacro',
)
_REQUIRED = object()


class UrdfElement:
    """
    An XML element with its place in words.

    source: the file; place: for example "joint 'elbow'", the beginning of its error messages.
    """

    def __init__(self, element, source, place):
        self._element, self._source, self._place = element, source, place

    def error(self, problem, remedy):
        """Return a ModelError about this element."""
        return ModelError(f'{self._source}: {self._place}: {problem}; {remedy}')

    @property
    def tag(self):
        """The tag of the element."""
        return self._element.tag

    @property
    def content(self):
        """The text between the tags."""
        return (self._element.text or '').strip()

    def named_children(self, path):
        """Return the children at `path`, each speaking of itself by its tag and name."""
        children = []
        prefix = '' if self.tag == 'robot' else f'{self._place}, '
        for child in self._element.findall(path):
            name = child.get('name')
            if not name or not name.strip():
                raise self.error(f'a <{child.tag}> has no name', 'add a name="..." to it')
            if not name.isprintable():
                raise self.error(
                    f'the name {name!r} of a <{child.tag}> has a character that cannot be printed',
                    'rename it',
                )
            children.append(UrdfElement(child, self._source, f"{prefix}{child.tag} '{name}'"))
        return children

    def children(self, tag):
        """Return the children with `tag`; they speak of themselves as this element."""
        return [UrdfElement(c, self._source, self._place) for c in self._element.findall(tag)]

    def child(self, tag):
        """Return the only child with `tag`, or None; it speaks of itself as this element."""
        found = self._element.findall(tag)
        if len(found) > 1:
            raise self.error(f'it has {len(found)} <{tag}> elements', 'keep one of them')
        return UrdfElement(found[0], self._source, self._place) if found else None

    def required_child(self, tag):
        """Return the only child with `tag`."""
        child = self.child(tag)
        if child is None:
            raise self.error(f'it has no <{tag}> in its <{self.tag}>', f'add a <{tag}>')
        return child

    def text(self, attribute, default=_REQUIRED):
        """Return an attribute as it is written."""
        value = self._element.get(attribute)
        if value is None:
            if default is _REQUIRED:
                raise self.error(
                    f'its <{self.tag}> has no {attribute}', f'add {attribute}="..." to it'
                )
            return default
        if '${' in value:
            raise self.error(f'{self._shown(attribute)} is a xacro expression', _RUN_XACRO)
        return value

    def number(self, attribute, default=_REQUIRED):
        """Return an attribute as a finite number."""
        text = self.text(attribute, default)
        return text if text is default else self._numbers(self._shown(attribute), text, 1)[0]

    def vector(self, attribute, default, size=3):
        """Return an attribute as a tuple of `size` finite numbers."""
        text = self.text(attribute, default)
        return text if text is default else self._numbers(self._shown(attribute), text, size)

    def content_number(self):
        """Return the text between the tags as a finite number."""
        return self._numbers(f'<{self.tag}>{self.content}</{self.tag}>', self.content, 1)[0]

    def _shown(self, attribute):
        return f'<{self.tag} {attribute}="{self._element.get(attribute)}">'

    def _numbers(self, shown, text, size):
        numbers = [_finite_or_none(word) for word in text.split()]
        if len(numbers) != size or None in numbers:
            words = 'one finite number' if size == 1 else f'{size} finite numbers'
            example = ' '.join(['0.0'] * (size - 1) + ['1.0'])
            raise self.error(f'{shown} is not {words}', f'write for example "{example}"')
        return tuple(numbers)


_RUN_XACRO = (
    'this is a xacro file, not yet a URDF: run "xacro file.urdf.xacro > file.urdf" '
    'and load the result'
)


def read_robot(source):
    """
    Return the <robot> of a URDF as (UrdfElement, name of the source for messages).

    source: a path, or the XML itself as a string that begins with '<'.
    """
    data, name = _read(source)
    root = _parse(data, name)
    _refuse_xacro(root, name)
    _drop_namespace(root)
    if root.tag != 'robot':
        remedy = {'sdf': 'convert the SDF to URDF', 'mujoco': 'convert the MJCF to URDF'}.get(
            root.tag, 'give a file with <robot name="..."> at the top'
        )
        raise ModelError(f'{name}: the top element is <{root.tag}> and not <robot>; {remedy}')
    return UrdfElement(root, name, 'robot'), name


def read_bytes(source):
    """Return (the bytes of a URDF, its name for messages); source: as for `read_robot`."""
    data, name = _read(source)
    return data.encode() if isinstance(data, str) else data, name


def _read(source):
    """Return (the XML as text or bytes, the name for messages)."""
    if isinstance(source, str) and source.strip('\ufeff \t\r\n').startswith('<'):
        return source.strip('\ufeff \t\r\n'), 'URDF string'
    if isinstance(source, str) and not source.strip():
        raise ModelError('URDF string: it is empty; give the path of a URDF, or its text')
    require_file(source, LARGEST_TEXT, ModelError)
    try:
        with open(source, 'rb') as file:
            data = file.read()
    except OSError as error:
        raise ModelError(
            f'{os.fspath(source)}: cannot be read: {error.strerror}; give the path of a URDF file'
        ) from error
    if not data.strip():
        raise ModelError(
            f'{os.fspath(source)}: the file is empty; write the URDF again, for '
            'example by running xacro'
        )
    return data, os.fspath(source)


class _TreeBuilder(ElementTree.TreeBuilder):
    """Builds the tree, but stops at a document type: a stranger's could expand without end."""

    def __init__(self, source):
        super().__init__()
        self._source = source

    def doctype(self, name, public_id, system_id):
        """Refuse the declaration."""
        raise ModelError(
            f'{self._source}: it has a <!DOCTYPE {name}> declaration, which could '
            'define entities that expand without end; remove the declaration'
        )


def _parse(data, name):
    try:
        return ElementTree.fromstring(data, ElementTree.XMLParser(target=_TreeBuilder(name)))
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        remedy = 'correct the XML there'
        if 'unbound prefix' in str(error):
            remedy = (
                'if this is a xacro file, run "xacro file.urdf.xacro > file.urdf" first; '
                'otherwise declare the prefix by an xmlns on <robot>'
            )
        raise ModelError(f'{name}: not readable as XML: {error}; {remedy}') from error


def _refuse_xacro(root, name):
    for element in root.iter():
        namespace, _, tag = str(element.tag).rpartition('}')
        if namespace.lstrip('{') in _XACRO_NAMESPACES:
            raise ModelError(f'{name}: it holds <xacro:{tag}>; {_RUN_XACRO}')


def _drop_namespace(root):
    """Remove a default namespace declared on the root from all tags."""
    namespace, brace, _ = root.tag.rpartition('}')
    if brace:
        for element in root.iter():
            element.tag = element.tag.removeprefix(namespace + brace)


def _finite_or_none(word):
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and '_' not in word else None
