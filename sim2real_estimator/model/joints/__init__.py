"""Joint types: one file each, and this table. A new joint is a new file and a new line."""

from .base import AbstractJoint, FreedomGroup
from .continuous import Continuous
from .fixed import Fixed
from .free import Free
from .planar import Planar
from .prismatic import Prismatic
from .revolute import Revolute
from .spherical import Spherical

# Every joint is made from a unit axis; those without one ignore it.
JOINTS = {
    'fixed': lambda axis: Fixed(),
    'revolute': Revolute,
    'continuous': Continuous,
    'prismatic': Prismatic,
    'spherical': lambda axis: Spherical(),
    'planar': Planar,
    'free': lambda axis: Free(),
}

__all__ = ['JOINTS', 'AbstractJoint', 'FreedomGroup']
