"""Rigid connections."""

from ...spatial.rotation import Rotation
from ...spatial.vector import Vec3
from .base import AbstractVectorJoint


class Fixed(AbstractVectorJoint):
    """No motion: the child is welded to its parent."""

    type_name = 'fixed'

    def placement(self, q):
        """Return the identity."""
        return Rotation.identity(), Vec3.zero()
