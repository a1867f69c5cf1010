"""
What is usually known of a mechanism that is estimated window by window, before any data.

As for others, and every joint also has a torque offset, a constant effort that the model lacks;
efforts act at another time than their stamps say, by a delay that all share. The usual friction of
joints that nothing drives is less, as of bearings. `estimate` of a config overrides these one by
one.
"""

from ..parameters.delays import COMMAND_DELAY
from ..parameters.parametrization import Prior
from ..parameters.usual_priors import GUESSED_SD, largest_effort
from .torque_priors import TorquePriors

# Friction of a joint that nothing drives, as a part of what lifts the robot, and its damping at a
# radian (or a metre) per second.
_OF_BEARINGS = {'friction': 0.005, 'damping': 0.001}
# Usual torque offset: of a drive as a part of its largest effort, of a bearing as above.
_OFFSET_OF_DRIVES, _OFFSET_OF_BEARINGS = 0.02, 0.005
# Standard deviation of the delay of efforts [s]: drives report their torque 4 to 10 ms late. On
# two designs of the DFKI double pendulum estimates of I2 then differ by 5 % instead of 7 % (A.0)
# and by 9 % instead of 13 % (C.1).
_DELAY = 0.01


def window_priors(parameters):
    """Return the `TorquePriors` of a robot; joints whose motion is given have none."""
    priors, columns = {}, []
    if any(_is_actuated(moving) for moving in parameters.model.moving_joints):
        priors[COMMAND_DELAY] = Prior(0.0, _DELAY, False)
        columns.append(COMMAND_DELAY)
    for moving in parameters.model.moving_joints:
        joint, name = moving.joint, f'{moving.joint.name}.torque_offset'
        if moving.is_prescribed or not moving.is_independent or name not in parameters:
            continue
        effort = largest_effort(parameters, joint)
        is_passive = not joint.actuator.takes_command
        share = _OFFSET_OF_BEARINGS if is_passive else _OFFSET_OF_DRIVES
        priors[name] = Prior(0.0, share * effort, False)
        columns.append(name)
        for word, part in _OF_BEARINGS.items():
            loss = f'{joint.name}.{word}'
            if is_passive and loss in parameters and not parameters[loss].nominal:
                priors[loss] = Prior(part * effort, GUESSED_SD, True)
                columns.append(loss)
    return TorquePriors(priors, {}, tuple(columns), {})


def _is_actuated(moving):
    """Tell whether efforts act on a joint as commands say."""
    takes_command = moving.joint.actuator.takes_command
    return moving.is_independent and takes_command and not moving.is_prescribed
