"""Actuator types: one file each, and this table. A new actuator is a new file and a new line."""

from .base import AbstractActuator, ActuatorParameter
from .dc_motor import DcMotor
from .driven import Driven
from .effort_source import EffortSource
from .passive import Passive

ACTUATORS = {
    'passive': Passive(),
    'effort': EffortSource(),
    'dc_motor': DcMotor(),
    'driven': Driven(),
}

__all__ = ['ACTUATORS', 'AbstractActuator', 'ActuatorParameter']
