"""Boxes, cylinders and spheres of a URDF; meshes stay where they are."""

from dataclasses import dataclass

from ...model.urdf.elements import read_origin
from ...spatial.rotation import Rotation


@dataclass(frozen=True)
class Shape:
    """
    A primitive on a link.

    kind: box, cylinder or sphere; size: as MuJoCo has it, radius and half lengths [m]; position
    [m] and rotation: of its frame in the link's; is_solid: of <collision>, else of <visual>.
    """

    kind: str
    size: list
    position: tuple
    rotation: Rotation
    is_solid: bool


def shapes_of(robot):
    """Return link -> [`Shape`] of the <robot> of a URDF."""
    found = {}
    for link in robot.named_children('link'):
        parts = [(part, tag) for tag in ('visual', 'collision') for part in link.children(tag)]
        shapes = [_shape(part, tag == 'collision') for part, tag in parts]
        found[link.text('name')] = [shape for shape in shapes if shape]
    return found


def _shape(part, is_solid):
    """Return the `Shape` of a <visual> or <collision>, None where it is none of the three."""
    geometry = part.child('geometry')
    position, rotation = read_origin(part)
    for kind, size in _SIZES.items():
        element = geometry.child(kind) if geometry is not None else None
        if element is not None:
            return Shape(kind, size(element), position, rotation, is_solid)
    return None


_SIZES = {
    'box': lambda box: [x / 2 for x in box.vector('size', (1.0, 1.0, 1.0))],
    'cylinder': lambda rod: [rod.number('radius'), rod.number('length') / 2, 0.0],
    'sphere': lambda ball: [ball.number('radius'), 0.0, 0.0],
}
