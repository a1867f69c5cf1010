"""How a robot of which only the URDF is known is moved about: a servo on every joint."""

import math

from sim2real_estimator.app.synthetic.settings import MotionConfig, SyntheticConfig
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.parameters.priors import choose_priors
from sim2real_estimator.prediction.process_noise import effort_scales, usual_accelerations
from sim2real_estimator.setup.sources import build_model

# Messages and new efforts a second; from one random waypoint to the next [s].
_RATE, _INTERVAL = 250.0, 1.2
# As far a joint swings to either side [rad, m], and at most this part of its range.
_SWINGS, _SHARE = (0.8, 0.1), 0.35
# The servo: its slowest natural frequency [1/s], its damping ratio, and how far holding the robot
# and moving against friction may pull it off, of a joint that is moved or held [rad or m].
_FREQUENCY, _RATIO, _DROOPS = 12.0, 0.7, (0.1, 0.005)


def moved(config, seed, still):
    """
    Return the `SyntheticConfig` of a robot that is moved about within its limits.

    config: its estimator's; still: beginnings of the names of joints that are held where they are.
    """
    model = build_model(config)
    parameters = Parameters(model)
    priors = choose_priors(parameters, config.estimate).priors
    scales = effort_scales(parameters)
    inertias = scales / usual_accelerations(parameters)
    motion = {}
    for moving in model.moving_joints:
        joint, k = moving.joint, moving.velocities.start
        if joint.name not in model.commands or moving.is_prescribed:
            continue
        usual = {
            word: priors[f'{joint.name}.{word}'].mean if f'{joint.name}.{word}' in priors else 0.0
            for word in ('friction', 'armature')
        }
        is_held = joint.name.startswith(still)
        inertia, effort = inertias[k] + usual['armature'], scales[k] + usual['friction']
        stiffness = max(inertia * _FREQUENCY**2, effort / _DROOPS[is_held])
        low, high = (0.0, 0.0) if is_held else _range(joint)
        motion[joint.name] = MotionConfig(
            interval=_INTERVAL,
            low=low,
            high=high,
            stiffness=stiffness,
            damping=2 * _RATIO * math.sqrt(stiffness * inertia),
        )
    return SyntheticConfig(config='init', seed=seed, rate=_RATE, motion=motion)


def _range(joint):
    """Return the least and largest waypoint of a joint."""
    limits, turns = joint.limits, joint.kind.groups[0].is_rotation
    swing = _SWINGS[0 if turns else 1]
    if limits.lower is None or limits.upper is None or not limits.lower < limits.upper:
        return -swing, swing
    middle = (limits.lower + limits.upper) / 2
    swing = min(swing, _SHARE * (limits.upper - limits.lower))
    return middle - swing, middle + swing
