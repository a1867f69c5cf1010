"""A constant effort: the bias of a torque sensor, or of gravity compensation."""

from .base import AbstractFriction


class TorqueOffset(AbstractFriction):
    """torque_offset, whatever the motion; it has a sign."""

    name = 'torque_offset'
    description = 'constant effort: bias of a torque sensor or of gravity compensation'
    is_positive = False
    is_dissipative = False
    shown_by = 'rest in poses in which gravity loads the joint to either side'
    sd_of_limit = 0.02
    sd_of_change = 0.02

    def unit(self, joint_units):
        """Return N m or N."""
        return joint_units.effort

    def column(self, motion):
        """Return one."""
        return [1.0]
