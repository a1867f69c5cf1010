"""
Contacts between links: what touches what, and the force where it does.

A law of the contact force is one file and one line of `LAWS`; the geometry of two kinds of shapes
is one file and one line of `GEOMETRIES`.
"""

from .base import AbstractContactLaw, AbstractGeometry, ContactParameter, Place, Touch
from .hunt_crossley import HuntCrossley
from .pairs import ContactPair, GEOMETRIES, GROUND
from .shapes import Box, cylinder, HalfSpace, Points, Shape, Sphere

LAWS = {
    'hunt_crossley': HuntCrossley(),
}

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
]
