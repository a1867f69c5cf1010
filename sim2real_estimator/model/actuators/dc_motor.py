"""Direct-current motors behind a gear."""

from ...spatial.scalar import mul, sub
from .base import AbstractActuator, ActuatorParameter


class DcMotor(AbstractActuator):
    """
    A brushed or field-oriented motor driven by a voltage.

    current = (voltage - back_emf * reduction * velocity) / resistance;
    effort = reduction * torque_constant * current. The inductance is neglected: its time
    constant is far below any sampling period of a robot.
    """

    type_name = 'dc_motor'
    command_unit = 'V'
    parameters = (
        ActuatorParameter('torque_constant', 0.1, 'N m/A', True, 'motor torque per current'),
        ActuatorParameter('back_emf', 0.1, 'V s/rad', True, 'voltage per motor speed'),
        ActuatorParameter('resistance', 1.0, 'ohm', True, 'winding and driver resistance'),
        ActuatorParameter('reduction', 1.0, '1', True, 'motor turns per joint turn'),
    )

    def effort(self, command, velocity, values):
        """Return the effort at the joint for a voltage command."""
        motor_speed = mul(values['reduction'], velocity)
        current = sub(command, mul(values['back_emf'], motor_speed)) / values['resistance']
        return mul(mul(values['reduction'], values['torque_constant']), current)
