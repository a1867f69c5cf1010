"""Drives that deliver a commanded effort."""

from ...spatial.scalar import mul
from .base import AbstractActuator, ActuatorParameter


class EffortSource(AbstractActuator):
    """An ideal torque or force source: effort = gain * command."""

    type_name = 'effort'
    command_unit = 'N m or N'
    parameters = (
        ActuatorParameter('gain', 1.0, '1', True, 'effort delivered per effort commanded'),
    )

    def effort(self, command, velocity, values):
        """Return gain * command."""
        return mul(command, values['gain'])
