"""Friction that grows with the load on the transmission."""

from ...spatial.scalar import fabs, mul
from .base import AbstractFriction, smoothed_sign

# Standard deviation on robots with measured torques, effort per effort.
_SD = 0.1


class LoadFriction(AbstractFriction):
    """
    load_friction * |load| * tanh(v / v_f).

    The load is the effort that holds the bodies against gravity in the same position, at rest:
    it depends on neither accelerations nor friction, so nothing has to be solved for.
    """

    name = 'load_friction'
    description = 'Coulomb friction per effort that gravity asks of the joint'
    part_of = 'friction'
    needs_load = True
    is_effort = False
    shown_by = 'move slowly, with and without a payload, or in poses that load the joint more'

    def unit(self, joint_units):
        """Return 1: effort per effort."""
        return '1'

    def column(self, motion):
        """Return the size of the load times the smoothed sign of the velocity."""
        return [mul(fabs(motion.load), s) for s in smoothed_sign(motion)]

    def usual(self, limit, is_rotation):
        """Return (mean, standard deviation), whatever the limit is."""
        return 0.0, _SD
