"""A first config for a robot, for a person to go through."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
import logging
import math
import os
from pathlib import Path
from textwrap import wrap

from ..config import Config, to_short_yaml
from ..config.settings_tree import (
    EffortsConfig,
    EstimatorConfig,
    FramesConfig,
    JointConfig,
    ModelConfig,
    PriorConfig,
    SensorConfig,
    SimulationConfig,
)
from ..dynamics.decay_rates import mobilities
from ..errors import ConfigError, ModelError
from ..model.parameters import DISSIPATION, FRICTION_VELOCITY, Parameters
from ..model.urdf.load import load_urdf
from ..parameters.priors import choose_priors, disbelieved
from ..parameters.usual_priors import default_prior, stuck_joints
from .observed import observed_joints, sensor_name
from .torque_priors import torque_priors

# What motion and torque usually tell; lengths, offsets and gains are asked for by hand.
_PATTERNS = ('*.mass', '*.com.*', '*.inertia.*', '*.damping', '*.friction', '*.armature')
# What resists a joint may stop it no faster than in this time [s], if it is what is expected.
_FASTEST_STOP = 0.008
# Of that time a step is this part at most: first fits try other values on their way.
_SHARE, _LEAST_STEP = 0.25, 0.00025
# It may be many times as fast, where friction is larger than expected and the rotor lighter. That
# far off as one joint in a hundred is, steps are no longer than so many of those times: from 2.8
# on, steps of rk4 go astray.
_UNLIKELY, _STEADY = 2.5, 2.5
# With more unknowns fits take the time: their courses begin at the samples, so that one start is
# as good as many, and frames may be longer, which leave out no sample. Not all of so many will be
# known soon: the filter does not wait for them.
_MANY = 30
_FRAMES_OF_MANY = FramesConfig(max_rate=100.0)
# Measured torques are used in blocks of that length, windows in steps of it, and every sample in a
# frame counts.
_LONG_FRAMES = FramesConfig(max_rate=50.0)
_ESTIMATOR_OF_MANY = EstimatorConfig(
    settings={
        'starts': 1,
        'horizons': [25, 50, 100, 200, 350],
        'longest': 500,
    }
)
_COLUMNS = 95
# Of measured torques' robots it is learned: stamps that are off are most of it.
_ENCODER_SDS = {'measured': 1e-4, 'commanded': 1e-3, 'none': 1e-3, 'unknown': 1e-3}
_POSITION_SD, _ORIENTATION_SD = 1e-3, 5e-3
_logger = logging.getLogger(__name__)
# A space at which no line is broken. A mean that is smaller than this part of its sd is zero.
_TOGETHER, _NOTHING = '\N{NO-BREAK SPACE}', 1e-3
# Of a torque whose unit is another one: its gain is known as the robot's weight is.
_GAIN_SD = 0.3
# What to go through, in this order; the rest stands under a heading of its own.
_FIRST = ('model', 'joints', 'efforts', 'sensors', 'estimate')
_RARELY = (
    '# ---- Rarely needed ' + '-' * 76,
    '# Only what differs from the default; docs/configuration.md has every setting, and',
    '# config/estimator.yaml has them all to copy from.',
)


# What efforts are taken for, in a sentence or two each.
_OF_EFFORTS = {
    'measured': 'Efforts are taken as measured, by torque sensors or motor currents: with noise, '
    'offset and gain. Where they are just what acts (simulation, torque control), say commanded.',
    'commanded': 'Efforts are taken as commanded: just what acts, without noise. Those of torque '
    'sensors or motor currents are measured.',
}
_NO_DISSIPATION = (
    'Not estimated: {}. The robot description gives neither <dynamics> nor limits to tell how '
    'large they may be, and no joint is without; give one of both there, or a mean and an sd here.'
)
_NO_ENCODERS = (
    'Efforts are taken as commanded: just what acts, without noise. To take them as measured '
    'needs encoders on all joints, and {} has none; what noise and offset real ones have counts '
    'as disturbance.'
)


def starter_yaml(
    urdf, folder='.', base='fixed', effort=None, is_trusting=False, patterns=(), seen=None
):
    """
    Return YAML that loads and runs as it is, with a comment on every setting that is in it.

    urdf: path; folder: where the YAML will lie, so that it can name the URDF from there; effort:
    'measured', 'commanded', 'none' or 'unknown', of actuated joints; None: measured where
    that can be; is_trusting: whether damping and friction are right even where they look wrong;
    patterns: of the names of the joints to estimate, () for all; seen: a `Seen`, what the robot
    has been heard to say, None where nobody listened.
    """
    described = os.path.relpath(urdf, folder)
    config, parameters, found = started(
        urdf, described, base, effort, is_trusting, patterns, seen.topics if seen else ()
    )
    model = parameters.model
    reasons = {f'model.joint_types.{name}': why for name, why in found.fixed.items()}
    reasons |= {path: f'From what was heard: {why}.' for path, why in found.reasons.items()}
    chosen = choose_priors(parameters, config.estimate, beside_torques=_usual(parameters, config))
    lines = [
        f'# Settings for {Path(urdf).name}, written by `sim2real-estimator init`. Go through',
        '# sensors (topics, noise), joints (who knows their effort) and estimate.',
        *_comment(_about_efforts(model, config, effort)),
    ]
    if seen:
        text = f'Reasons are of {seen.name}: {seen.seconds:.0f} s.'
        lines += _comment(' '.join([text, *(f'{each}.' for each in found.remarks)]))
    lines += [line for said in found.warnings for line in _comment(f'Warning: {said}.')]
    lines += [
        '',
        to_short_yaml(config, _FIRST, _shown(config), reasons, _RARELY),
        *_about_priors(model, parameters, config, chosen),
    ]
    return '\n'.join(lines) + '\n'


def started(urdf, described, base='fixed', effort=None, is_trusting=False, patterns=(), topics=()):
    """
    Return (`Config`, `Parameters`, `ObservedJoints`) of a robot to begin with.

    urdf: path or text; described: the same as `model.urdf` of the config; topics: `SeenTopic`s;
    the rest as for `starter_yaml`.
    """
    model, check = _loaded(urdf, base, {})
    found = observed_joints(model, topics, patterns)
    if found.fixed:
        model, check = _loaded(urdf, base, dict.fromkeys(found.fixed, 'fixed'))
        if not model.moving_joints:
            raise ConfigError('no joint is left that moves; see --joints, and the topics')
    parameters = Parameters(model)
    known = ModelConfig(
        described,
        base=base,
        joint_types=dict.fromkeys(found.fixed, 'fixed'),
        inertia_check=check,
    )
    config = _config(model, parameters, known, effort, is_trusting)
    if topics:
        config = _as_heard(config, found, effort)
    elif found.efforts:
        config = replace(config, joints=config.joints | _driven(found))
    if found.noiseless and effort is None:
        found.warnings.append(
            f'the efforts of {", ".join(found.noiseless)} have no noise, and are taken as '
            'measured all the same: where they are just what acts, as in simulation or torque '
            'control, call init with --effort commanded'
        )
    for said in found.warnings:
        _logger.warning(said)
    return config, parameters, found


@dataclass(frozen=True)
class Seen:
    """What a robot was heard to say: name of the recording, its length, its `SeenTopic`s."""

    name: str
    seconds: float
    topics: tuple


def _as_heard(config, found, effort):
    """Return a config with the topics, noise and efforts that were heard; effort: asked for."""
    joints = dict(config.joints)
    for name, kind in found.efforts.items():
        if effort is None or kind == 'driven':
            joints[name] = JointConfig(kind)
    sensors = {
        sensor_name(number): SensorConfig('joint_positions', _written(topic), joints=names, sd=sd)
        for number, (topic, (names, sd)) in enumerate(found.sensors.items())
    }
    others = {name: each for name, each in config.sensors.items() if name != 'encoders'}
    efforts = config.efforts
    if found.effort_topic:
        topic = _written(found.effort_topic)
        has = {joint.effort for joint in joints.values()}
        efforts = replace(efforts, **{k: topic for k in ('measured', 'commanded') if k in has})
    if found.hold:
        efforts = replace(efforts, hold=found.hold)
    frames = config.frames
    if {joint.effort for joint in joints.values()} & {'measured', 'none'}:
        frames = _LONG_FRAMES
    changes = {'gap': found.gap, 'lateness': found.lateness}
    frames = replace(frames, **{name: value for name, value in changes.items() if value})
    gains = {
        f'{name}.gain': PriorConfig(mean=mean, sd=abs(mean) * _GAIN_SD)
        for name, mean in found.gains.items()
        if joints[name].effort == 'measured'
    }
    estimator = config.estimator
    if found.estimator and effort is None:
        estimator = replace(estimator, name=found.estimator)
    return replace(
        config,
        estimator=estimator,
        joints=joints,
        sensors={**sensors, **others},
        efforts=efforts,
        frames=frames,
        estimate={**config.estimate, **gains},
    )


def _driven(found):
    """Return joint -> `JointConfig` of those that are not to be estimated."""
    return {name: JointConfig(kind) for name, kind in found.efforts.items()}


def _written(topic):
    """Return a topic as the config names it: relative where it is in no namespace."""
    return topic[1:] if topic.count('/') == 1 else topic


def _shown(config):
    """Return the settings that are written even where they have their default."""
    has = {joint.effort for joint in config.joints.values()}
    shown = {'model.urdf', 'model.base', 'joints', 'sensors', 'estimate'}
    return shown | {f'efforts.{kind}' for kind in ('measured', 'commanded') if kind in has}


def _about_priors(model, parameters, config, chosen):
    """Return lines about what is estimated, a few for each link and joint, and what is not."""
    lines = [
        '# The priors that these patterns give, by link and joint: mean +- sd, in % where the',
        '# logarithm is normal. To change one, add it to the end of `estimate`, as in',
        '#   NAME.mass: {mean: 1.2, sd: 0.1}',
    ]
    if config.measured_joints:
        lines += ['# Offsets, gains and more of what resists joints come with measured torques.']
    if said := disbelieved(parameters, chosen.priors):
        _logger.warning('%s: %s', model.source, said)
        lines += ['#', *_comment(f'Warning: {said}.'), '#']
    for owner, parts in _by_owner(chosen.priors).items():
        text = '; '.join(
            f'{word} {", ".join(map(_in_words, priors))}{_unit(parameters, names[0])}'
            for word, (names, priors) in parts.items()
        )
        rows = wrap(
            f'{owner}: {text}', _COLUMNS, initial_indent='#   ', subsequent_indent='#     '
        )
        lines += [row.replace(_TOGETHER, ' ') for row in rows]
    for reason in dict.fromkeys(chosen.left_out.values()):
        names = {name: None for name, why in chosen.left_out.items() if why == reason}
        groups = [f'{owner}.{word}' for owner, parts in _by_owner(names).items() for word in parts]
        lines += ['#', *_comment(f'Not estimated: {reason}.'), *_comment(', '.join(groups), '  ')]
    missing = [p for p in _PATTERNS if p[2:] in DISSIPATION and p not in config.estimate]
    # Where nothing drives the robot every joint has those of a bearing.
    if missing and not config.is_passive:
        lines += ['#', *_comment(_NO_DISSIPATION.format(' and '.join(missing)))]
    return lines


def _by_owner(priors):
    """
    Return owner -> word -> (names, priors), of name -> prior.

    word: what follows the owner in a name; of several that differ in their end, such as com.x,
    com.y, the part they share with all ends: com.x,y.
    """
    grouped = {}
    for name, prior in priors.items():
        owner, _, word = name.partition('.')
        stem, dot, end = word.partition('.')
        ends, names, found = grouped.setdefault(owner, {}).setdefault((stem, dot), ([], [], []))
        ends.append(end)
        names.append(name)
        found.append(prior)
    return {
        owner: {
            f'{stem}{dot}{",".join(ends)}': (names, found)
            for (stem, dot), (ends, names, found) in parts.items()
        }
        for owner, parts in grouped.items()
    }


def _in_words(prior):
    """Return mean and standard deviation of a prior, of one word for who breaks lines."""
    if prior.is_log:
        text = f'{prior.mean:.4g} +- {100 * prior.sd:.3g} %'
    else:
        mean = prior.mean if abs(prior.mean) > _NOTHING * prior.sd else 0.0
        text = f'{mean:.4g} +- {prior.sd:.3g}'
    return text.replace(' ', _TOGETHER)


def _unit(parameters, name):
    """Return the unit of a parameter after a space, '' where it has none."""
    unit = parameters[name].unit
    return '' if unit == '1' else f' {unit}'.replace(' ', _TOGETHER)


def _comment(text, indent=''):
    """Return a text as the lines of a comment."""
    return wrap(text, _COLUMNS, initial_indent=f'# {indent}', subsequent_indent=f'# {indent}')


def _loaded(urdf, base, types):
    """
    Return (model, how its inertias are checked): mended where some are of no body.

    types: joint -> type that it has instead of the URDF's.
    """
    try:
        return load_urdf(urdf, base=base, joint_types=types), 'error'
    except ModelError as error:
        try:
            return load_urdf(urdf, base=base, joint_types=types, inertia_check='mend'), 'mend'
        except ModelError:
            raise error from None


def _about_efforts(model, config, effort):
    """Return what the config takes efforts for, and why; '' where nothing drives the robot."""
    found = {joint.effort for joint in config.joints.values()} & set(_OF_EFFORTS)
    without = _without_encoder(model)
    if found and without and effort is None:
        return _NO_ENCODERS.format(without[0])
    return ' '.join(_OF_EFFORTS[each] for each in found)


def _without_encoder(model):
    """Return the names of joints that no encoder can measure, as they have no single position."""
    moving = (m.joint for m in model.moving_joints if m.is_independent)
    return [joint.name for joint in moving if joint.kind.position_size != 1]


def _config(model, parameters, described, effort, is_trusting):
    """Return the `Config` that a robot most likely needs; described: its `ModelConfig`."""
    moving = [m.joint for m in model.moving_joints if m.is_independent]
    without = _without_encoder(model)
    single = tuple(joint.name for joint in moving if joint.name not in without)
    usual = effort or ('commanded' if without else 'measured')
    joints = {joint.name: JointConfig(_effort(model, joint, usual)) for joint in moving}
    sensors = {}
    if single:
        sensors['encoders'] = SensorConfig(
            'joint_positions', 'joint_states', joints=single, sd=_ENCODER_SDS[usual]
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
    if is_trusting:
        # A mean that is given is believed.
        names = [f'{joint}.{word}' for joint in stuck_joints(parameters) for word in DISSIPATION]
        estimate |= {
            name: PriorConfig(mean=value)
            for name in names
            if name in parameters and (value := parameters[name].nominal) != 0
        }
    chosen = choose_priors(parameters, estimate)
    widened, step = _resistance(parameters, chosen.priors)
    if any(joint.effort == 'measured' for joint in joints.values()):
        # Nothing is simulated to estimate it: friction changes its sign as on any arm.
        widened = {}
    estimate |= {name: PriorConfig(mean=v, fixed=True) for name, v in widened.items()}
    is_commanded = any(joint.effort == 'commanded' for joint in joints.values())
    config = Config(
        model=described,
        joints=joints,
        # Most robots tell the efforts together with the positions.
        efforts=EffortsConfig(commanded='joint_states') if is_commanded else EffortsConfig(),
        sensors=sensors,
        estimate=estimate,
        simulation=SimulationConfig(max_step=step),
    )
    if config.measured_joints or config.is_passive:
        return replace(config, frames=_LONG_FRAMES)
    if len(chosen.priors) <= _MANY:
        return config
    return replace(config, frames=_FRAMES_OF_MANY, estimator=_ESTIMATOR_OF_MANY)


def _usual(parameters, config):
    """Return the `TorquePriors` of a robot, None where no torque is measured."""
    joints = config.measured_joints
    return torque_priors(parameters, joints) if joints else None


def _effort(model, joint, usual):
    """
    Return who knows the effort on a joint; on a free base something acts that nobody knows.

    usual: of actuated joints.
    """
    if joint.actuator.takes_command:
        return usual
    is_base = joint.parent == model.base and joint.kind.velocity_size == 6
    return 'driven' if is_base and len(model.moving_joints) > 1 else 'none'


def _resistance(parameters, priors):
    """
    Return (name -> friction velocity where the usual one is too small, longest step [s]).

    A light joint with much friction stops within microseconds, and no simulation has so fine
    steps: there the sign of the friction changes over a wider range of velocities.
    """
    values = {name: prior.mean for name, prior in priors.items()}
    widened, steps = {}, [SimulationConfig().max_step]
    for joint, mobility in mobilities(parameters, values).items():
        damping, friction = (
            values.get(f'{joint}.{word}', parameters[f'{joint}.{word}'].nominal)
            for word in ('damping', 'friction')
        )
        least = friction * mobility * _FASTEST_STOP
        if least > FRICTION_VELOCITY:
            widened[f'{joint}.friction_velocity'] = float(f'{least:.2g}')
        steep = friction / max(least, FRICTION_VELOCITY)
        more = [_at_worst(priors, joint, word) for word in ('damping', 'friction')]
        if damping + friction > 0:
            steps.append(_SHARE / (mobility * (damping + steep)))
            steps.append(_STEADY / (mobility * (more[0] * damping + more[1] * steep)))
    return widened, float(f'{max(min(steps), _LEAST_STEP):.2g}')


def _at_worst(priors, joint, word):
    """Return how many times as fast as expected a loss of a joint may stop it."""
    names = (f'{joint}.{word}', f'{joint}.armature')
    spreads = (priors[n].sd for n in names if n in priors and priors[n].is_log)
    return math.exp(_UNLIKELY * math.hypot(*spreads))


def _has_size(parameters, pattern):
    """Tell whether a pattern matches a parameter that can be estimated as it stands."""
    priors = [default_prior(parameters, n) for n in parameters if fnmatchcase(n, pattern)]
    return any(prior.mean != 0 or not prior.is_log for prior in priors)
