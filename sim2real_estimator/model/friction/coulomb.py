"""Coulomb friction: an effort of constant size."""

from .base import AbstractFriction, smoothed_sign


class CoulombFriction(AbstractFriction):
    """friction * tanh(v / v_f), along the velocity where there are several degrees of freedom."""

    name = 'friction'
    description = 'Coulomb friction'

    def unit(self, joint_units):
        """Return N m or N."""
        return joint_units.effort

    def column(self, motion):
        """Return the smoothed sign of the velocity."""
        return smoothed_sign(motion)

    def applies_to(self, joint):
        """Tell that every joint that moves may have it."""
        return not joint.is_fixed

    def nominal(self, physics):
        """Return the friction of the robot description."""
        return physics.friction
