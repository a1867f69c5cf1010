"""Coulomb friction: an effort of constant size."""

from .base import AbstractFriction, smoothed_sign

# Expected size on robots with measured torques, as a part of the largest effort.
_EXPECTED = 0.02


class CoulombFriction(AbstractFriction):
    """friction * tanh(v / v_f), along the velocity where there are several degrees of freedom."""

    name = 'friction'
    description = 'Coulomb friction'
    sd_of_change = 0.05

    def unit(self, joint_units):
        """Return N m or N."""
        return joint_units.effort

    def column(self, motion):
        """Return the smoothed sign of the velocity."""
        return smoothed_sign(motion)

    def usual(self, limit, is_rotation):
        """Return (mean, standard deviation): drives with gears always have some."""
        return _EXPECTED * limit, self.sd_of_limit * limit

    def applies_to(self, joint):
        """Tell that every joint that moves may have it."""
        return not joint.is_fixed

    def nominal(self, physics):
        """Return the friction of the robot description."""
        return physics.friction
