"""The shapes of links by which they touch others: <collision> elements, and vertices of meshes."""

import logging
import os
from pathlib import Path
import struct

import numpy as np

from ...files import LARGEST_TEXT, require_file
from ..contacts.collision_shapes import Box, cylinder, moved, Points, Sphere
from .elements import read_origin

# Vertices of a mesh that are kept; each costs time in every step of a simulation.
MOST_VERTICES = 32
# Of a binary STL: header, bytes of a triangle, and where its three corners begin.
_STL_HEADER, _STL_TRIANGLE = 84, 50
_PACKAGE, _FILE = 'package://', 'file://'

_logger = logging.getLogger(__name__)


def read_shapes(link, source):
    """
    Return the shapes of a <link>, in its frame: a tuple, empty where it has no <collision>.

    link: its `UrdfElement`; source: path of the URDF, to which the files of meshes are relative,
    or its text.
    """
    return tuple(_read_shape(element, source) for element in link.children('collision'))


def _read_shape(element, source):
    centre, rotation = read_origin(element)
    geometry = element.required_child('geometry')
    found = [c for tag in _SHAPES if (c := geometry.child(tag)) is not None]
    if len(found) != 1:
        raise geometry.error(
            f'its <geometry> in <collision> has {len(found) or "no"} known shapes',
            f'give one of {", ".join(f"<{tag}>" for tag in _SHAPES)}',
        )
    return _SHAPES[found[0].tag](found[0], centre, rotation, source)


def _length(element, attribute):
    return _positive(element, element.number(attribute), attribute)


def _positive(element, value, attribute):
    if not value > 0:
        raise element.error(
            f'the {attribute} of its <{element.tag}> in <collision> is {value:g}',
            'give a length above zero',
        )
    return value


def _box(element, centre, rotation, source):
    size = element.vector('size', None)
    if size is None:
        element.text('size')
    return Box(centre, tuple(_positive(element, edge, 'size') for edge in size), rotation)


def _sphere(element, centre, rotation, source):
    return Sphere(centre, _length(element, 'radius'))


def _cylinder(element, centre, rotation, source):
    return cylinder(centre, _length(element, 'radius'), _length(element, 'length'), rotation)


def _mesh(element, centre, rotation, source):
    path = _mesh_path(element, source)
    vertices = _vertices(element, path) * np.array(element.vector('scale', (1.0, 1.0, 1.0)))
    kept, left_out = _spread(np.unique(vertices, axis=0))
    if left_out:
        _logger.warning(
            '%s: of the vertices of %s %d are kept; contact of others is found up to %.2g m late',
            element.error('mesh', '').args[0].split(': mesh')[0],
            path.name,
            MOST_VERTICES,
            left_out,
        )
    return Points(tuple(moved(point, centre, rotation) for point in kept.tolist()))


_SHAPES = {'box': _box, 'sphere': _sphere, 'cylinder': _cylinder, 'mesh': _mesh}


def _mesh_path(element, source):
    """Return the path of the file of a <mesh>; one in a package is sought above the URDF."""
    name = element.text('filename')
    is_text = isinstance(source, str) and source.lstrip('\ufeff \t\r\n').startswith('<')
    folder = Path.cwd() if is_text else Path(os.fspath(source)).resolve().parent
    if name.startswith(_PACKAGE):
        package, _, rest = name.removeprefix(_PACKAGE).partition('/')
        places = [above / package / rest for above in (folder, *folder.parents)]
        places += [above / rest for above in (folder, *folder.parents) if above.name == package]
    else:
        places = [folder / name.removeprefix(_FILE)]
    for path in places:
        if path.is_file():
            return path
    raise element.error(
        f"the file of its mesh '{name}' is not found near {folder}",
        'put it there, or give the link simpler shapes by `contacts` in the config',
    )


def _vertices(element, path):
    """Return the vertices [n, 3] of an STL or OBJ file, in its own units."""
    kind = path.suffix.lower()
    if kind not in ('.stl', '.obj'):
        raise element.error(
            f'its mesh {path.name} is neither STL nor OBJ',
            'convert it, or give the link simpler shapes by `contacts` in the config',
        )
    require_file(path, LARGEST_TEXT)
    data = path.read_bytes()
    try:
        found = _of_obj(data) if kind == '.obj' else _of_stl(data)
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise element.error(
            f'its mesh {path.name} cannot be read: {error}', 'export it again'
        ) from error
    if not len(found) or not np.isfinite(found).all():
        raise element.error(
            f'its mesh {path.name} has no vertices, or some that are not finite', 'export it again'
        )
    return found


def _of_obj(data):
    rows = (line.split() for line in data.decode().splitlines())
    return np.array([[float(x) for x in row[1:4]] for row in rows if row[:1] == ['v']])


def _of_stl(data):
    count = struct.unpack_from('<I', data, _STL_HEADER - 4)[0] if len(data) >= _STL_HEADER else -1
    if len(data) == _STL_HEADER + count * _STL_TRIANGLE:
        triangle = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('more', '<u2')])
        corners = np.frombuffer(data, triangle, count, _STL_HEADER)['corners']
        return corners.reshape(-1, 3).astype(float)
    rows = (line.split() for line in data.decode().splitlines())
    return np.array([[float(x) for x in row[1:4]] for row in rows if row[:1] == ['vertex']])


def _spread(vertices):
    """
    Return (the vertices that are kept, how far the others are from these at most [m]).

    Farthest points first, from the one that is farthest from the middle.
    """
    if len(vertices) <= MOST_VERTICES:
        return vertices, 0.0
    distance = np.linalg.norm(vertices - vertices.mean(0), axis=1)
    chosen = [int(distance.argmax())]
    distance = np.linalg.norm(vertices - vertices[chosen[0]], axis=1)
    while len(chosen) < MOST_VERTICES:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(vertices - vertices[chosen[-1]], axis=1))
    return vertices[chosen], float(distance.max())
