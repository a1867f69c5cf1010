"""
Build the parts of a pipeline from a `Config`: problem, estimator, stream, sources, re-stamping.

`build_parts` is the main function. `estimator_name` chooses the estimator by which efforts are
known: of measured torques, of windows where nothing drives the robot, of kinematics where only
poses are seen, and of commanded efforts otherwise.
"""

from dataclasses import fields, replace
import logging

from ..errors import ConfigError
from ..estimation.estimators import ESTIMATORS
from ..estimation.estimators.gaussian_sum import GaussianSum
from ..estimation.estimators.kinematic_calibration import KinematicCalibration
from ..estimation.estimators.measured_torque import MeasuredTorque
from ..estimation.estimators.multiple_shooting import MultipleShooting
from ..estimation.noise import NOISES
from ..model.parameters import Parameters
from ..observability.payload import PayloadSettings
from ..parameters.parametrization_choice import (
    choose_parametrization,
    pose_parametrization,
    torque_parametrization,
    windows_parametrization,
)
from ..parameters.priors import choose_with_delays, disbelieved, nuisances
from ..parameters.usual_priors import largest_effort
from ..prediction.pose_model import PoseModel
from ..prediction.robot_problem import ProblemOptions, RobotProblem
from ..prediction.torque_model import TorqueModel
from ..stream.channels import Channel, InputChannel
from ..stream.plans import ReferencePlan
from ..stream.stream import Stream, StreamOptions
from .held_body import frame_on_link, known_numbers, require_moving
from .sources import build_inputs, build_model, build_sensors, build_wrenches, nearest
from .stream_delays import Delays
from .torque_priors import torque_priors
from .window_priors import window_priors

_NANO = 1e9
# Samples that come too early by this part of the period still pass, as for frames.
_JITTER = 0.1
# Estimators that use measured torques as measurements.
_OF_MEASURED = MeasuredTorque.name, MultipleShooting.name
# Estimators that know no contact forces.
_WITHOUT_SIMULATION = MeasuredTorque.name, KinematicCalibration.name
# Mechanisms of more joints are arms.
_FEW_JOINTS = 3
_MAY_BE_LIGHT = (
    'estimator.name: auto is measured_torque, which is right for joints that a servo moves '
    'through gears; for a light mechanism, such as a pendulum with direct drives, write '
    'multiple_shooting. `sim2real-estimator identify` on a short recording finds out which it is'
)
# Windows with contacts: a fifth of a second has an impact or two; longer ones depend too
# much on their first state. What a model lacks of an impact is no normal noise. Chosen on tosses 0
# to 134 of a cube (docs/results.md).
_WITH_CONTACTS = {'seconds': 0.19, 'noise': 'student'}
# Longer than any gap [s].
_NO_GAP = 1e9
# Settings of joints whose effort is not reported.
_UNREPORTED = 'driven', 'unknown'
_logger = logging.getLogger(__name__)


def build_parts(config, plan=None):
    """
    Return (problem, estimator, stream, sources, restamping) of a `Config`.

    plan: a `RecordedPlan` that replaces the frames of the config, None: as the config says.
    """
    model = build_model(config)
    sensors, efforts = build_sensors(config, model), build_inputs(config, model)
    if may_be_light(config, model):
        _logger.warning(_MAY_BE_LIGHT)
    chosen = replace(config.estimator, name=estimator_name(config, model, sensors))
    config = replace(config, estimator=chosen)
    problem = build_problem(config, model, sensors)
    delays = build_delays(config, problem)
    stream = build_stream(config, problem, efforts, delays, plan)
    estimator = build_estimator(config)
    if problem.noises and not estimator.learns_noise:
        raise ConfigError(
            f"estimate.{next(iter(problem.noises))}.noise: '{estimator.name}' takes the noise of "
            'sensors as given; do not estimate it'
        )
    return problem, estimator, stream, (*sensors, *efforts), delays.restamping()


def build_problem(config, model, sensors):
    """Return the `RobotProblem`."""
    parameters = Parameters(model, [p for sensor in sensors for p in sensor.parameters])
    noises = {sensor.name: f'{sensor.name}.noise' for sensor in sensors}
    commands = _torque_rows(config, model, sensors)
    name = estimator_name(config, model, sensors)
    if model.contacts and name in _WITHOUT_SIMULATION:
        raise ConfigError(
            f"contacts: the estimator '{name}' simulates nothing, so it knows no contact forces; "
            f"write '{MultipleShooting.name}' in estimator.name, or take the contacts out and "
            'estimate while nothing touches the robot'
        )
    goes_by_windows = name == MultipleShooting.name
    goes_by_poses = name == KinematicCalibration.name
    if goes_by_poses:
        _require_encoders(model, sensors)
    usual = torque_priors(parameters, commands) if commands else None
    if goes_by_windows:
        usual = window_priors(parameters)
    wrenches = {each.name: each.wrench for each in build_wrenches(config, model)}
    chosen = choose_with_delays(parameters, sensors, config.estimate, noises.values(), usual)
    _check_noises(chosen, noises.values())
    unknown = {s: chosen.priors.pop(n) for s, n in noises.items() if n in chosen.priors}
    for name, reason in chosen.left_out.items():
        level = logging.WARNING if name in config.estimate else logging.INFO
        _logger.log(level, "'%s' is not estimated: %s", name, reason)
    if said := disbelieved(parameters, chosen.priors):
        _logger.warning('%s: %s', model.source, said)
    are_seen = any(sensor.sees_links for sensor in sensors)
    options = ProblemOptions(**vars(config.simulation))
    acting = tuple(wrenches.values())
    if commands:
        parametrization = torque_parametrization(
            parameters, chosen.priors, chosen.fixed, usual.bodies, are_seen
        )
    elif goes_by_windows:
        parametrization = windows_parametrization(
            parameters, sensors, chosen.priors, chosen.fixed, acting
        )
        # Model errors show in the residuals of windows, and need no disturbance states.
        options = replace(options, disturbance_time=None)
    elif goes_by_poses:
        parametrization = pose_parametrization(chosen.priors, chosen.fixed)
    else:
        parametrization = choose_parametrization(
            parameters, sensors, chosen.priors, chosen.fixed, wrenches=acting
        )
    reference = reference_of(config)
    torque = poses = None
    encoders = [sensor for sensor in sensors if sensor.measures_joints]
    if commands or goes_by_poses:
        poses = PoseModel.of(parameters, parametrization, sensors, encoders)
    if goes_by_poses and poses is None:
        raise ConfigError(
            'estimate: poses of links tell nothing of these parameters; name lengths, offsets of '
            'joints, mounts of sensors, mocap.* or delays, or say in joints.JOINT.effort which '
            'efforts are measured, commanded or none'
        )
    if commands:
        limits = {joint: largest_effort(parameters, model.joint(joint)) for joint in commands}
        geometry = poses.geometry if poses else ()
        given = limits, geometry, acting, config.payload.link
        torque = TorqueModel(parameters, parametrization, encoders, commands, *given)
    return RobotProblem(
        parameters,
        sensors,
        parametrization,
        options,
        unknown,
        {n: joint.acceleration for n, joint in config.joints.items() if joint.acceleration},
        [sensor.name for sensor in sensors].index(reference),
        {} if usual else nuisances(parameters, sensors, chosen, reference),
        torque,
        poses,
        wrenches,
        payload_settings(config.payload, model),
    )


def payload_settings(settings, model):
    """Return the `PayloadSettings` of a `PayloadConfig`."""
    is_nominal = settings.against == 'nominal'
    if settings.link or is_nominal:
        require_moving(model, settings.link)
    rotation, origin = frame_on_link(model, settings)
    known = known_numbers(settings)
    return PayloadSettings(settings.link, settings.frame, rotation, origin, is_nominal, known)


def estimator_name(config, model=None, sensors=None):
    """
    Return the name of the estimator: that of the config, or for `auto` a key of ESTIMATORS.

    model, sensors: of the config; None: built here if they are needed.
    """
    if config.estimator.name != 'auto':
        return config.estimator.name
    if config.measured_joints:
        return MeasuredTorque.name
    if config.is_passive:
        return MultipleShooting.name
    is_seen_only = _is_seen_only(config, model, sensors)
    return KinematicCalibration.name if is_seen_only else GaussianSum.name


def may_be_light(config, model=None):
    """
    Tell whether `auto` is `measured_torque` for a mechanism that may be too light for it.

    Of few joints that report torques the description does not say whether a servo fixes their
    motion, as of a geared arm, or they yield to whatever pushes them, as a pendulum.
    """
    if config.estimator.name != 'auto' or not config.measured_joints:
        return False
    model = model or build_model(config)
    moving = [m for m in model.moving_joints if m.is_independent and not m.is_prescribed]
    return len(moving) <= _FEW_JOINTS


def _is_seen_only(config, model, sensors):
    """Tell whether no effort is known, but encoders of all joints and poses of links are."""
    efforts = {joint.effort for joint in config.joints.values()}
    # Joints of several degrees of freedom are not listed: nothing drives them.
    if not efforts or not efforts <= set(_UNREPORTED):
        return False
    if any(name.endswith('.noise') for name in config.estimate):
        return False
    model = model or build_model(config)
    sensors = sensors or build_sensors(config, model)
    return any(sensor.sees_links for sensor in sensors) and not _without_encoder(model, sensors)


def _without_encoder(model, sensors):
    """Return the names of the independent joints that no encoder measures."""
    measured = {joint for sensor in sensors if sensor.measures_joints for joint in sensor.joints}
    moving = (m.joint.name for m in model.moving_joints if m.is_independent)
    return [name for name in moving if name not in measured]


def measured_joints(config):
    """Return the names of joints with measured torque; refuse estimators that cannot use it."""
    found, chosen = config.measured_joints, config.estimator.name
    if found and chosen in ESTIMATORS and chosen not in _OF_MEASURED:
        raise ConfigError(
            f"joints.{found[0]}.effort: is 'measured', but estimator.name is '{chosen}', which "
            "takes efforts as just what acts; write 'commanded' if they are, and their topic in "
            'efforts.commanded, else let estimator.name be auto'
        )
    return found


def _torque_rows(config, model, sensors):
    """
    Return joint -> index of its effort among the commands, None where nothing drives it.

    They are the joints whose torque balance is a measurement; {} where no torque is measured.
    Raise a ConfigError where a joint has no encoder.
    """
    if not measured_joints(config) or estimator_name(config) == MultipleShooting.name:
        return {}
    unseen = _without_encoder(model, sensors)
    if unseen:
        raise ConfigError(
            f'joints: measured torques tell of a robot whose joints are all measured by encoders, '
            f'and no sensor has {", ".join(unseen)}; add them to a sensor of joint_positions, or '
            "write 'commanded' instead of 'measured', and the topic of the efforts in "
            'efforts.commanded'
        )
    rows = {}
    for name, wish in config.joints.items():
        if wish.effort in ('measured', 'commanded'):
            rows[name] = model.commands.index(name)
        elif wish.effort == 'none':
            rows[name] = None
    return rows


def _check_noises(chosen, noises):
    """Raise a ConfigError where the prior of a factor on a sensor's noise is unsuitable."""
    for name in noises:
        prior = chosen.priors.get(name)
        if name in chosen.fixed:
            raise ConfigError(
                f"estimate.{name}: is fixed; write the factor into the sensor's sd instead"
            )
        if prior is not None and not (prior.is_log and prior.mean > 0):
            raise ConfigError(
                f'estimate.{name}: is a factor on a standard deviation; give a mean above zero '
                'and leave log out'
            )
    if chosen.priors and not set(chosen.priors) - set(noises):
        raise ConfigError('estimate: names noises only; name a parameter of the robot as well')


def build_estimator(settings):
    """Return the estimator of a `Config`, with its settings."""
    config, name = settings.estimator, estimator_name(settings)
    has_torques = bool(measured_joints(settings))
    if name not in ESTIMATORS:
        raise ConfigError(
            f"estimator.name: is '{name}'; choose one of auto, {', '.join(ESTIMATORS)}"
        )
    if name == MeasuredTorque.name and not has_torques:
        raise ConfigError(
            f"estimator.name: '{name}' needs a joint whose torque is measured; say so under "
            'joints.JOINT.effort'
        )
    member = ESTIMATORS[name]
    known = {f.name for f in fields(member)} - {'seed'}
    for key in config.settings:
        if not known:
            raise ConfigError(
                f"estimator.settings.{key}: '{name}' has no settings; take them out, or write "
                "'commanded' in joints.JOINT.effort, which another estimator takes"
            )
        if key not in known:
            raise ConfigError(
                f"estimator.settings.{key}: '{name}' has no such setting; {nearest(key, known)}"
            )
    usual = _WITH_CONTACTS if settings.contacts and name == MultipleShooting.name else {}
    given = {**usual, **config.settings}
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    if isinstance(settings.get('noise'), str):
        if settings['noise'] not in NOISES:
            raise ConfigError(
                f"estimator.settings.noise: is '{settings['noise']}'; "
                f'choose one of {", ".join(NOISES)}'
            )
        settings['noise'] = NOISES[settings['noise']]()
    return replace(member(), seed=config.seed, **settings)


def _require_encoders(model, sensors):
    """Raise a ConfigError where encoders or poses for kinematic calibration are missing."""
    without = _without_encoder(model, sensors)
    if without or not any(sensor.sees_links for sensor in sensors):
        missing = f'an encoder of {", ".join(without)}' if without else 'a sensor that sees a link'
        raise ConfigError(
            f"estimator.name: '{KinematicCalibration.name}' needs {missing}: encoders "
            '(joint_positions) of all joints, and link_pose, marker or planar_camera'
        )


def reference_of(config):
    """Return the name of the reference sensor, by whose clock frames are cut."""
    reference = config.frames.reference or next(iter(config.sensors))
    if reference not in config.sensors:
        raise ConfigError(
            f"frames.reference: is '{reference}', which is no sensor; "
            f'{nearest(reference, config.sensors)}'
        )
    return reference


def build_delays(config, problem):
    """Return the `Delays` of the sensors and commands of a problem."""
    reference = reference_of(config)
    return Delays(
        problem.parametrization, reference, config.sensors, problem.model, problem.nuisances
    )


def build_stream(config, problem, efforts, delays, plan=None):
    """Return the `Stream`; delays: `Delays` of its sensors and commands."""
    frames, reference = config.frames, reference_of(config)
    channels = {
        s.name: _channel(s, config.sensors[s.name].max_rate, delays) for s in problem.sensors
    }
    inputs = {}
    for source in efforts:
        late_ns = tuple(delays.commands_ns(joint) for joint in source.joints)
        inputs[source.name] = InputChannel(source.places, source.joints, source.limits, late_ns)
    options = StreamOptions(
        lateness=frames.lateness,
        jump_back=frames.jump_back,
        hold=config.efforts.hold,
        is_steady=config.efforts.steady,
        history=delays.history,
        past=delays.past,
        lead=delays.lead,
        patience=frames.patience,
    )
    # Kinematic calibration does not track the motion, so that no time between postures is a gap.
    is_followed = estimator_name(config) != KinematicCalibration.name
    plan = plan or ReferencePlan(frames.max_rate, frames.gap if is_followed else _NO_GAP)
    return Stream(channels, inputs, problem.input_count, reference, plan, options)


def stream_maker(config, problem):
    """Return a function that returns a new `Stream` of a problem each time."""
    efforts, delays = build_inputs(config, problem.model), build_delays(config, problem)
    return lambda: build_stream(config, problem, efforts, delays)


def _channel(sensor, max_rate, delays):
    interval = round((1 - _JITTER) * _NANO / max_rate) if max_rate else 0
    return Channel(
        sensor.value_size,
        sensor.scale,
        sensor.joints,
        sensor.measures_joints or sensor.may_repeat,
        interval,
        delays.ahead_ns(sensor.name),
    )
