"""A first config for a robot, for a person to go through."""

from fnmatch import fnmatchcase
import os
from pathlib import Path

from .config import Config, to_yaml
from .config.tree import JointConfig, ModelConfig, PriorConfig, SensorConfig
from .model.parameters import Parameters
from .model.urdf import load_urdf
from .priors import choose_priors, default_prior

# What motion and torque usually tell; lengths, offsets and gains are asked for by hand.
_PATTERNS = ('*.mass', '*.com.*', '*.inertia.*', '*.damping', '*.friction')
_ENCODER_SD, _POSITION_SD, _ORIENTATION_SD = 1e-3, 1e-3, 5e-3


def starter_yaml(urdf, folder='.', base='fixed'):
    """
    Return YAML that loads and runs as it is, with a comment on every setting.

    urdf: path; folder: where the YAML will lie, so that it can name the URDF from there.
    """
    model = load_urdf(urdf, base=base)
    parameters = Parameters(model)
    config = _config(model, parameters, os.path.relpath(urdf, folder), base)
    chosen = choose_priors(parameters, config.estimate)
    lines = [
        f'# Settings for {Path(urdf).name}, written by `sim2real-estimator init`. Go through',
        '# sensors (topics, noise), joints (who knows their effort) and estimate.',
        '',
        to_yaml(config),
        '# The priors that these patterns give. To change one, copy its line to the end of',
        '# `estimate`; sd is relative where log is true.',
    ]
    for name, prior in chosen.priors.items():
        unit = '' if prior.is_log else f'  # {parameters[name].unit}'
        log = str(prior.is_log).lower()
        lines.append(
            f'#  {name}: {{mean: {prior.mean:.6g}, sd: {prior.sd:.3g}, log: {log}}}{unit}'
        )
    if chosen.left_out:
        lines += ['#', '# Not estimated, because the URDF says zero; give a mean to do so:']
        lines += [f'#  {name}: {{mean: ...}}' for name in chosen.left_out]
    return '\n'.join(lines) + '\n'


def _config(model, parameters, urdf, base):
    """Return the `Config` that a robot most likely needs."""
    moving = [m.joint for m in model.moving_joints if m.is_independent]
    single = tuple(joint.name for joint in moving if joint.kind.position_size == 1)
    joints = {
        joint.name: JointConfig('measured' if joint.actuator.takes_command else 'none')
        for joint in moving
    }
    sensors = {}
    if single:
        sensors['encoders'] = SensorConfig(
            'joint_positions', 'joint_states', joints=single, sd=_ENCODER_SD
        )
    for joint in moving:
        if joint.name not in single:
            # The driver's usual topic of a body in motion capture.
            sensors[f'mocap_{joint.child}'] = SensorConfig(
                'link_pose',
                f'vicon/{joint.child}/{joint.child}',
                link=joint.child,
                position_sd=_POSITION_SD,
                orientation_sd=_ORIENTATION_SD,
            )
    estimate = {p: PriorConfig() for p in _PATTERNS if _has_size(parameters, p)}
    model_config = ModelConfig(urdf, base=base)
    return Config(model=model_config, joints=joints, sensors=sensors, estimate=estimate)


def _has_size(parameters, pattern):
    """Tell whether a pattern matches a parameter that can be estimated as it stands."""
    priors = [default_prior(parameters, n) for n in parameters if fnmatchcase(n, pattern)]
    return any(prior.mean != 0 or not prior.is_log for prior in priors)
