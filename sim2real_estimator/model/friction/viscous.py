"""Viscous damping: an effort in proportion to the velocity."""

from .base import AbstractFriction


class ViscousDamping(AbstractFriction):
    """damping * v, of every degree of freedom."""

    name = 'damping'
    description = 'viscous damping'

    def unit(self, joint_units):
        """Return N m s/rad or N s/m."""
        return f'{joint_units.effort} s/{joint_units.position}'

    def column(self, motion):
        """Return the velocities."""
        return list(motion.speeds)

    def applies_to(self, joint):
        """Tell that every joint that moves may have it."""
        return not joint.is_fixed

    def nominal(self, physics):
        """Return the damping of the robot description."""
        return physics.damping
