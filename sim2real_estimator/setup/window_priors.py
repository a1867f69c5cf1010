"""
What is usually known of a mechanism that is estimated window by window, before any data.

As for others, and every joint has a torque offset besides: what pushes it all the time. The usual
friction of joints that nothing drives is less, as of bearings. `estimate` of a config overrides
these one by one.
"""

from ..parameters.parametrization import Prior
from ..parameters.usual_priors import GUESSED_SD, largest_effort
from .torque_priors import TorquePriors

# Friction of a joint that nothing drives, as a part of what lifts the robot, and its damping at a
# radian (or a metre) per second.
_OF_BEARINGS = {'friction': 0.005, 'damping': 0.001}
# Usual torque offset: of a drive as a part of its largest effort, of a bearing as above.
_OFFSET_OF_DRIVES, _OFFSET_OF_BEARINGS = 0.02, 0.005


def window_priors(parameters):
    """Return the `TorquePriors` of a robot; joints whose motion is given have none."""
    priors, columns = {}, []
    for moving in parameters.model.moving_joints:
        joint, name = moving.joint, f'{moving.joint.name}.torque_offset'
        if moving.is_driven or not moving.is_independent or name not in parameters:
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
