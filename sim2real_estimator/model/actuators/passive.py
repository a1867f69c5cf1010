"""Joints that nothing drives."""

from .base import AbstractActuator


class Passive(AbstractActuator):
    """No drive: the joint takes no command."""

    type_name = 'passive'
    takes_command = False

    def effort(self, command, velocity, values):
        """Return structural zero."""
        return 0.0
