"""Joints whose motion is given, whatever effort it takes."""

from .base import AbstractActuator


class Driven(AbstractActuator):
    """
    A drive so stiff that only its motion matters: the command is the joint's acceleration.

    Nothing inside the joint resists it; what it carries still loads all other joints.
    """

    type_name = 'driven'
    command_unit = 'rad/s^2 or m/s^2'
    prescribes_motion = True

    def effort(self, command, velocity, values):
        """Return the acceleration [rad/s^2 or m/s^2], which stands in place of an effort."""
        return command
