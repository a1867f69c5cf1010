"""Viscous damping: an effort in proportion to the velocity."""

from .base import AbstractFriction

# Speed [rad/s or m/s] at which it is expected to be `sd_of_limit`, by whether a joint rotates.
_UNIT_SPEED = {True: 1.0, False: 0.1}


class ViscousDamping(AbstractFriction):
    """damping * v, of every degree of freedom."""

    name = 'damping'
    description = 'viscous damping'
    sd_of_change = 0.05

    def unit(self, joint_units):
        """Return N m s/rad or N s/m."""
        return f'{joint_units.effort} s/{joint_units.position}'

    def column(self, motion):
        """Return the velocities."""
        return list(motion.speeds)

    def usual(self, limit, is_rotation):
        """Return (mean, standard deviation), which is an effort at unit speed."""
        return 0.0, per_speed(self.sd_of_limit * limit, is_rotation)

    def applies_to(self, joint):
        """Tell that every joint that moves may have it."""
        return not joint.is_fixed

    def nominal(self, physics):
        """Return the damping of the robot description."""
        return physics.damping


def per_speed(effort, is_rotation):
    """Return the damping that takes an effort at unit speed, 1 rad/s or 0.1 m/s."""
    return effort / _UNIT_SPEED[is_rotation]
