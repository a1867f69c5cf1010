"""What an actuator type must tell the dynamics."""

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class ActuatorParameter:
    """
    A quantity of an actuator that can be named, estimated and set.

    sd: how well it is usually known before any data; relative where `positive`.
    """

    name: str
    default: float
    unit: str
    positive: bool
    description: str
    sd: float = 0.1


class AbstractActuator(ABC):
    """
    A law from a command to the effort on one degree of freedom of a joint.

    prescribes_motion: the joint's acceleration is what `effort` returns, whatever it takes.
    """

    type_name = ''
    command_unit = ''
    takes_command = True
    prescribes_motion = False
    parameters = ()

    @abstractmethod
    def effort(self, command, velocity, values):
        """
        Return the effort on the joint [N m or N].

        command: in `command_unit`; velocity: of the joint [rad/s or m/s]; values: name to value
        for every entry of `parameters`.
        """
