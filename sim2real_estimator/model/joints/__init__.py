"""Joint types: one file each, and this table. A new joint is a new file and a new line."""

from .base import AbstractJoint, FreedomGroup
from .continuous import Continuous
from .fixed import Fixed
from .free import Free
from .planar import Planar
from .prismatic import Prismatic
from .revolute import Revolute
from .spherical import Spherical

# Those without an axis are all alike: one serves every joint, and is known again as the same.
_FIXED, _SPHERICAL, _FREE = Fixed(), Spherical(), Free()

# Every joint is made from a unit axis; those without one ignore it.
JOINTS = {
    'fixed': lambda axis: _FIXED,
    'revolute': Revolute,
    'continuous': Continuous,
    'prismatic': Prismatic,
    'spherical': lambda axis: _SPHERICAL,
    'planar': Planar,
    'free': lambda axis: _FREE,
}

__all__ = ['JOINTS', 'AbstractJoint', 'FreedomGroup']
