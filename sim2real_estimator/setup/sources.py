"""Build the robot, its sensors and its sources of efforts from settings, without torch."""

from dataclasses import dataclass, fields
import difflib
import inspect
from pathlib import Path

from ..config.settings_tree import JointConfig, PlacementConfig
from ..errors import ConfigError
from ..model.urdf.load import load_urdf
from ..sensors import JointEfforts, Placement, SENSORS, View, WrenchInput
from .contact_pairs import contact_wishes
from .held_body import with_held_body

MEASURED_EFFORTS, COMMANDED_EFFORTS = 'measured_efforts', 'commanded_efforts'
# The actuators of joints whose effort need not be reported.
_ACTUATORS = {'none': 'passive', 'driven': 'driven'}
_REPORTED = ('measured', 'commanded')


def topics(config):
    """Return source name -> topic of every source that reads messages."""
    found = {name: sensor.topic for name, sensor in config.sensors.items()}
    for name, kind, topic in _effort_topics(config):
        if _joints_with(kind, config):
            found[name] = topic
    return {**found, **{name: wish.topic for name, wish in config.wrenches.items()}}


@dataclass(frozen=True)
class Listed:
    """
    A source as far as its settings tell without the robot.

    name; topic; message_type; joints: those that messages may name.
    """

    name: str
    topic: str
    message_type: str
    joints: tuple


def listed(config):
    """Return a `Listed` of every source that reads messages; a ConfigError on a kind unknown."""
    found = []
    for name, wish in config.sensors.items():
        kind = _kind(name, wish)
        message_type = wish.message_type or kind.message_types[0]
        found.append(Listed(name, wish.topic, message_type, wish.joints))
    for name, kind, topic in _effort_topics(config):
        joints = _joints_with(kind, config)
        if joints:
            wanted = _effort_messages(kind, config).get('message_type')
            message_type = wanted or JointEfforts.message_types[0]
            found.append(Listed(name, topic, message_type, joints))
    for name, wish in config.wrenches.items():
        found.append(Listed(name, wish.topic, WrenchInput.message_types[0], ()))
    return tuple(found)


def settings_of(config):
    """Return source name -> path of the setting that names its topic."""
    found = {name: f'sensors.{name}.topic' for name in config.sensors}
    found |= {name: f'efforts.{kind}' for name, kind, _ in _effort_topics(config)}
    return {**found, **{name: f'wrenches.{name}.topic' for name in config.wrenches}}


def build_model(config):
    """
    Return the `Model` to estimate with: joints without reported effort are prescribed.

    What such an effort is found to be may tell nothing of the robot: a light one needs less of
    it for the same motion, so an estimate of both ends with robots that are too light.
    """
    model = described_model(config)
    unreported = [n for n in model.command_joints if _effort_on(n, config) not in _REPORTED]
    model = model.with_actuators(dict.fromkeys(unreported, 'driven'))
    if not config.neural:
        return model
    # It loads torch, which the process of the node does without.
    from .networks import with_networks

    return with_networks(config, model)


def described_model(config):
    """Return the `Model` as it is: joints whose effort is 'none' passive, 'driven' ones driven."""
    wishes, urdf = config.model, config.model.urdf
    if not urdf:
        raise ConfigError(
            'model.urdf: is missing; give the URDF file of the robot, or let a running node take '
            'it from its topic by node.robot_description'
        )
    if not urdf.lstrip().startswith('<'):
        urdf = Path(config.source).parent / urdf
    model = load_urdf(
        urdf,
        base=wishes.base,
        joint_types=wishes.joint_types,
        inertia_check=wishes.inertia_check,
        contacts=contact_wishes(config),
    )
    names = [joint.name for joint in model.joints]
    for name in config.joints:
        if name not in names:
            raise ConfigError(f'joints.{name}: is no joint of the robot; {nearest(name, names)}')
    model = with_held_body(model, config.payload)
    return model.with_couplings(wishes.couplings).with_actuators(_actuators(config))


def build_sensors(config, model):
    """Return the sensors, in the order of the config."""
    capture = _placed('mocap', config.mocap)
    views = {name: _view(name, wish) for name, wish in config.cameras.items()}
    _require_own_names(config, model)
    return tuple(
        _sensor(name, wish, model, capture, views) for name, wish in config.sensors.items()
    )


def build_efforts(config, model):
    """Return the sources of efforts that joints of the config read from."""
    sources = []
    for name, kind, _ in _effort_topics(config):
        joints = _joints_with(kind, config)
        if joints:
            if name in config.sensors:
                raise ConfigError(f'sensors.{name}: is the name of the efforts; choose another')
            sources.append(JointEfforts(name, model, joints, **_effort_messages(kind, config)))
    return tuple(sources)


def build_wrenches(config, model):
    """Return the sources of wrenches from outside, in the order of the config."""
    taken = {*config.sensors, *(name for name, _, _ in _effort_topics(config))}
    for name in config.wrenches:
        if name in taken:
            raise ConfigError(
                f'wrenches.{name}: sensors or efforts have this name; choose another'
            )
    return tuple(
        WrenchInput(name, model, wish.link, wish.axes, number)
        for number, (name, wish) in enumerate(config.wrenches.items())
    )


def build_inputs(config, model):
    """Return the sources of all that acts on the robot: efforts, then wrenches from outside."""
    return (*build_efforts(config, model), *build_wrenches(config, model))


def _actuators(config):
    """Return joint -> (actuator, its values)."""
    actuators = {name: (a.kind, a.values) for name, a in config.model.actuators.items()}
    for name, joint in config.joints.items():
        kind = _ACTUATORS.get(joint.effort)
        if kind is None:
            continue
        if actuators.get(name, (kind,))[0] != kind:
            raise ConfigError(
                f"joints.{name}.effort: is '{joint.effort}', but model.actuators.{name} gives it "
                'another actuator; drop one of the two'
            )
        actuators[name] = (kind, {})
    for name, (kind, _) in actuators.items():
        if kind == 'driven' and _effort_on(name, config) != 'driven':
            raise ConfigError(
                f"model.actuators.{name}: is 'driven', but nothing says that its motion is "
                f'measured; write joints.{name}: {{effort: driven}} instead'
            )
    return actuators


def _effort_on(joint, config):
    """Return the setting of the effort on a joint."""
    return config.joints.get(joint, JointConfig()).effort


def _placed(where, wish):
    """Return the `Placement` that a `PlacementConfig` describes."""
    try:
        return Placement.of(**vars(wish))
    except ConfigError as error:
        raise ConfigError(f'{where}.{error}') from error


def _sensor(name, wish, model, capture, views):
    """
    Return one sensor, made with those settings that its kind takes.

    capture: `Placement` of the robot's world in that of motion capture; views: name -> `View` of
    every camera.
    """
    where = f'sensors.{name}'
    kind, values, default = _kind(name, wish), {}, type(wish)()
    takes = inspect.signature(kind).parameters
    if 'capture' in takes:
        values['capture'] = capture
    for setting in fields(wish):
        value = getattr(wish, setting.name)
        is_given = value != getattr(default, setting.name)
        if setting.name in takes:
            if is_given:
                is_placement = isinstance(value, PlacementConfig)
                values[setting.name] = _placed(f'{where}.mount', value) if is_placement else value
            elif takes[setting.name].default is inspect.Parameter.empty:
                raise ConfigError(f'{where}.{setting.name}: a {wish.kind} needs it; give it')
        elif is_given and setting.name not in ('kind', 'topic', 'max_rate'):
            raise ConfigError(
                f'{where}.{setting.name}: a {wish.kind} has no use for it; take it out'
            )
    if 'camera' in takes:
        if wish.camera not in views:
            hint = nearest(wish.camera, views) if views else 'there is none; add it to cameras'
            raise ConfigError(f"{where}.camera: '{wish.camera}' is not among cameras; {hint}")
        values['camera'] = views[wish.camera]
    return kind(name, model, **values)


def _view(name, wish):
    """Return the `View` of a camera of the config."""
    if wish.scale is None:
        raise ConfigError(f'cameras.{name}.scale: is missing; give the pixels in a metre, roughly')
    try:
        return View(name, wish.scale, wish.tilt, wish.origin or (0.0, 0.0), wish.axes)
    except ConfigError as error:
        raise ConfigError(f'cameras.{name}.{error}') from error


def _require_own_names(config, model):
    """Raise a ConfigError where the parameters of a camera would share names with others."""
    taken = {*config.sensors, 'mocap', 'world', 'commands'}
    taken |= {each.name for each in (*model.links, *model.joints, *model.contacts)}
    for name in config.cameras:
        if name in taken:
            raise ConfigError(
                f'cameras.{name}: something else has this name, of which the parameters would '
                'begin with it as well; give the camera another one'
            )


def _kind(name, wish):
    """Return the class of a sensor."""
    if wish.kind not in SENSORS:
        raise ConfigError(f"sensors.{name}.kind: is '{wish.kind}'; {nearest(wish.kind, SENSORS)}")
    return SENSORS[wish.kind]


def _joints_with(effort, config):
    """Return the joints whose effort comes in such a way."""
    return tuple(joint for joint, wish in config.joints.items() if wish.effort == effort)


def _effort_messages(kind, config):
    """Return what the messages of efforts of a kind are, as `JointEfforts` takes it."""
    if kind == 'measured':
        return {}
    efforts = config.efforts
    return {'message_type': efforts.commanded_type or None, 'order': efforts.commanded_joints}


def _effort_topics(config):
    return (
        (MEASURED_EFFORTS, 'measured', config.efforts.measured),
        (COMMANDED_EFFORTS, 'commanded', config.efforts.commanded),
    )


def nearest(key, known):
    """Return a hint at the known name that is most like a key."""
    near = difflib.get_close_matches(key, known, 1, 0.5)
    return f"did you mean '{near[0]}'?" if near else f'choose from {", ".join(sorted(known))}'
