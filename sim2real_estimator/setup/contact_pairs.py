"""Links that can touch, from settings."""

import math

from ..errors import ConfigError
from ..model.contacts import Box, cylinder, HalfSpace, Points, Sphere
from ..model.contacts.collision_shapes import moved
from ..sensors import Placement
from ..spatial.rotation import Rotation

# What each kind of shape is described by.
_SHAPE_NEEDS = {
    'box': ('size',),
    'sphere': ('radius',),
    'cylinder': ('radius', 'length'),
    'points': ('points',),
    'plane': (),
}


def contact_wishes(config):
    """Return name of a pair -> what `with_declared_contacts` takes, of a `Config`."""
    return {name: _contact(name, wish) for name, wish in config.contacts.items()}


def _contact(name, wish):
    found = {'between': wish.between, 'law': wish.law}
    for key in ('friction', 'dissipation', 'stiffness', 'slip_velocity'):
        if getattr(wish, key) is not None:
            found[key] = getattr(wish, key)
    where = f'contacts.{name}.shapes'
    shapes = {end: (_shape(f'{where}.{end}', shape),) for end, shape in wish.shapes.items()}
    return found | {'shapes': shapes}


def _shape(where, wish):
    """Return the shape that a `ShapeConfig` describes."""
    needed = _SHAPE_NEEDS[wish.kind]
    for key in ('size', 'radius', 'length', 'points'):
        is_given = bool(getattr(wish, key))
        if is_given != (key in needed):
            words = 'has no use for it; take it out' if is_given else 'needs it; give it'
            raise ConfigError(f'{where}.{key}: a {wish.kind} {words}')
    if wish.kind == 'box' and (len(wish.size) != 3 or min(wish.size) <= 0):
        raise ConfigError(f'{where}.size: is {list(wish.size)}; give three edges above zero')
    if len(wish.points) % 3:
        raise ConfigError(f'{where}.points: has {len(wish.points)} numbers; give x, y, z of each')
    try:
        place = Placement.of(**vars(wish.pose))
    except ConfigError as error:
        raise ConfigError(f'{where}.pose.{error}') from error
    angle = math.hypot(*place.turn)
    centre, turn = place.position, Rotation.identity()
    if angle:
        turn = Rotation.about(tuple(x / angle for x in place.turn), angle)
    if wish.kind == 'box':
        return Box(centre, tuple(wish.size), turn)
    if wish.kind == 'sphere':
        return Sphere(centre, wish.radius)
    if wish.kind == 'cylinder':
        return cylinder(centre, wish.radius, wish.length, turn)
    if wish.kind == 'plane':
        return HalfSpace(centre, turn)
    rows = zip(*[iter(wish.points)] * 3)
    return Points(tuple(moved(row, centre, turn) for row in rows))
