"""
Contacts between links: what touches what, and the force where it does.

A law of the contact force is one file and one line of `LAWS`; the geometry of two kinds of shapes
is one file and one line of `GEOMETRIES`.
"""

from .base import AbstractContactLaw, AbstractGeometry, ContactParameter, Place, Touch
from .collision_shapes import Box, cylinder, HalfSpace, Points, Shape, Sphere
from .declared import LAWS, with_declared_contacts
from .pairs import ContactPair, GEOMETRIES, GROUND

__all__ = [
    'GEOMETRIES',
    'GROUND',
    'LAWS',
    'AbstractContactLaw',
    'AbstractGeometry',
    'Box',
    'ContactPair',
    'ContactParameter',
    'HalfSpace',
    'Place',
    'Points',
    'Shape',
    'Sphere',
    'Touch',
    'cylinder',
    'with_declared_contacts',
]
