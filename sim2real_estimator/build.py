"""From settings to the parts of a pipeline."""

from dataclasses import fields, replace
import difflib
import inspect
import logging
from pathlib import Path

from .delays import Delays
from .errors import ConfigError
from .inference.estimators import ESTIMATORS
from .inference.robust import NOISES
from .model.parameters import Parameters
from .model.urdf import load_urdf
from .priors import choose_priors
from .problem.chart_choice import choose_chart
from .problem.frame_walk import COMMAND_DELAY
from .problem.robot_problem import ProblemOptions, RobotProblem
from .sensors import JointEfforts, SENSORS
from .stream.channels import Channel, InputChannel
from .stream.plans import ReferencePlan
from .stream.stream import Stream, StreamOptions

MEASURED_EFFORTS, COMMANDED_EFFORTS = 'measured_efforts', 'commanded_efforts'
_NANO = 1e9
# As for frames, samples a tenth short of the period still pass.
_JITTER = 0.1
_logger = logging.getLogger(__name__)


def build_parts(config, plan=None):
    """
    Return (problem, estimator, stream, sources, restamping) of a `Config`.

    plan: a `RecordedPlan` to follow instead of the config's frames.
    """
    model = build_model(config)
    sensors, efforts = build_sensors(config, model), build_efforts(config, model)
    problem = build_problem(config, model, sensors, efforts)
    delays = Delays(problem.chart, reference_of(config), config.sensors)
    stream = build_stream(config, problem, efforts, delays, plan)
    estimator = build_estimator(config.estimator)
    if problem.noises and not estimator.learns_noise:
        raise ConfigError(
            f"estimate.{next(iter(problem.noises))}.noise: '{estimator.name}' takes the noise of "
            'sensors as given; do not estimate it'
        )
    return problem, estimator, stream, (*sensors, *efforts), delays.restamping()


def topics(config):
    """Return source name -> topic of every source that `build_parts` returns."""
    found = {name: sensor.topic for name, sensor in config.sensors.items()}
    for name, kind, topic in _effort_topics(config):
        if any(joint.effort == kind for joint in config.joints.values()):
            found[name] = topic
    return found


def build_model(config):
    """Return the `Model`; joints whose effort is 'none' are passive."""
    wishes, urdf = config.model, config.model.urdf
    if not urdf.lstrip().startswith('<'):
        urdf = Path(config.source).parent / urdf
    model = load_urdf(
        urdf,
        base=wishes.base,
        joint_types=wishes.joint_types,
        inertia_check=wishes.inertia_check,
    )
    names = [joint.name for joint in model.joints]
    for name in config.joints:
        if name not in names:
            raise ConfigError(f'joints.{name}: is no joint of the robot; {_nearest(name, names)}')
    return model.with_actuators(_actuators(config))


def build_sensors(config, model):
    """Return the sensors, in the order of the config."""
    return tuple(_sensor(name, wish, model) for name, wish in config.sensors.items())


def build_efforts(config, model):
    """Return the sources of efforts that joints of the config read from."""
    sources = []
    for name, kind, _ in _effort_topics(config):
        joints = [joint for joint, wish in config.joints.items() if wish.effort == kind]
        if joints:
            if name in config.sensors:
                raise ConfigError(f'sensors.{name}: is the name of the efforts; choose another')
            sources.append(JointEfforts(name, model, joints))
    return tuple(sources)


def build_problem(config, model, sensors, efforts):
    """Return the `RobotProblem`."""
    parameters = Parameters(model, [p for sensor in sensors for p in sensor.parameters])
    delays = [f'{sensor.name}.delay' for sensor in sensors]
    noises = {sensor.name: f'{sensor.name}.noise' for sensor in sensors}
    extras = [COMMAND_DELAY, *delays, *noises.values()]
    chosen = choose_priors(parameters, config.estimate, extras)
    _check_noises(chosen, noises.values())
    unknown = {s: chosen.priors.pop(n) for s, n in noises.items() if n in chosen.priors}
    for name, reason in chosen.left_out.items():
        _logger.info("'%s' is not estimated: %s", name, reason)
    known = {place for source in efforts for place in source.places}
    driven = [place in known for place in range(len(model.commands))]
    chart = choose_chart(parameters, sensors, chosen.priors, chosen.fixed, driven)
    options = ProblemOptions(**vars(config.simulation))
    return RobotProblem(parameters, sensors, chart, options, unknown)


def _check_noises(chosen, noises):
    """Raise a ConfigError where a factor on the noise of a sensor cannot be estimated as asked."""
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
        raise ConfigError('estimate: names noises only; name a parameter of the robot besides')


def build_estimator(config):
    """Return the estimator with its settings."""
    if config.name not in ESTIMATORS:
        raise ConfigError(
            f"estimator.name: is '{config.name}'; choose one of {', '.join(ESTIMATORS)}"
        )
    member = ESTIMATORS[config.name]
    known = {f.name for f in fields(member)} - {'seed'}
    for key in config.settings:
        if key not in known:
            raise ConfigError(
                f"estimator.settings.{key}: '{config.name}' has no such setting; "
                f'{_nearest(key, known)}'
            )
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in config.settings.items()}
    if isinstance(settings.get('noise'), str):
        if settings['noise'] not in NOISES:
            raise ConfigError(
                f"estimator.settings.noise: is '{settings['noise']}'; "
                f'choose one of {", ".join(NOISES)}'
            )
        settings['noise'] = NOISES[settings['noise']]()
    return replace(member(), seed=config.seed, **settings)


def reference_of(config):
    """Return the name of the sensor whose clock is the one of frames."""
    reference = config.frames.reference or next(iter(config.sensors))
    if reference not in config.sensors:
        raise ConfigError(
            f"frames.reference: is '{reference}', which is no sensor; "
            f'{_nearest(reference, config.sensors)}'
        )
    return reference


def build_stream(config, problem, efforts, delays, plan=None):
    """Return the `Stream`; delays: `Delays` of its sensors and commands."""
    frames, reference = config.frames, reference_of(config)
    channels = {
        s.name: _channel(s, config.sensors[s.name].max_rate, delays) for s in problem.sensors
    }
    inputs = {
        s.name: InputChannel(s.places, s.joints, s.limits, delays.commands_ns) for s in efforts
    }
    options = StreamOptions(
        lateness=frames.lateness,
        jump_back=frames.jump_back,
        hold=config.efforts.hold,
        history=delays.history,
        lead=delays.lead,
        patience=frames.patience,
    )
    plan = plan or ReferencePlan(frames.max_rate, frames.gap)
    return Stream(channels, inputs, len(problem.model.commands), reference, plan, options)


def _actuators(config):
    """Return joint -> (actuator, its values)."""
    actuators = {name: (a.kind, a.values) for name, a in config.model.actuators.items()}
    for name, joint in config.joints.items():
        if joint.effort != 'none':
            continue
        if actuators.get(name, ('passive',))[0] != 'passive':
            raise ConfigError(
                f"joints.{name}.effort: is 'none', but model.actuators.{name} gives it an "
                'actuator; drop one of the two'
            )
        actuators[name] = ('passive', {})
    return actuators


def _sensor(name, wish, model):
    """Return one sensor, made with those settings that its kind takes."""
    where = f'sensors.{name}'
    if wish.kind not in SENSORS:
        raise ConfigError(f"{where}.kind: is '{wish.kind}'; {_nearest(wish.kind, SENSORS)}")
    kind, values = SENSORS[wish.kind], {}
    takes = inspect.signature(kind).parameters
    for setting in fields(wish):
        value = getattr(wish, setting.name)
        is_given = value != setting.default
        if setting.name in takes:
            if is_given:
                values[setting.name] = value
            elif takes[setting.name].default is inspect.Parameter.empty:
                raise ConfigError(f'{where}.{setting.name}: a {wish.kind} needs it; give it')
        elif is_given and setting.name not in ('kind', 'topic', 'max_rate'):
            raise ConfigError(
                f'{where}.{setting.name}: a {wish.kind} has no use for it; take it out'
            )
    return kind(name, model, **values)


def _channel(sensor, max_rate, delays):
    interval = round((1 - _JITTER) * _NANO / max_rate) if max_rate else 0
    return Channel(
        sensor.value_size,
        sensor.scale,
        sensor.joints,
        sensor.measures_joints,
        interval,
        delays.ahead_ns(sensor.name),
    )


def _effort_topics(config):
    return (
        (MEASURED_EFFORTS, 'measured', config.efforts.measured),
        (COMMANDED_EFFORTS, 'commanded', config.efforts.commanded),
    )


def _nearest(key, known):
    near = difflib.get_close_matches(key, known, 1, 0.5)
    return f"did you mean '{near[0]}'?" if near else f'choose from {", ".join(sorted(known))}'
