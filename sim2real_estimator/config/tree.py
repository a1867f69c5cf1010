"""The settings themselves; see the package."""

from dataclasses import dataclass, field

from .declaring import setting
from .node import MarkersConfig, NodeConfig, SamplesConfig, SavingConfig

EFFORTS = ('none', 'measured', 'commanded', 'unknown', 'driven')


@dataclass(frozen=True)
class ActuatorConfig:
    """What drives a joint."""

    kind: str = setting('effort', 'type of actuator, an entry of ACTUATORS')
    values: dict[str, float] = setting(dict, 'values of its parameters, by name')


@dataclass(frozen=True)
class ModelConfig:
    """The robot description, and what is read from it in another way than it says."""

    urdf: str = setting(
        '',
        'URDF file, relative to the folder of this file; or its text; may be empty with '
        'node.robot_description',
    )
    base: str = setting(
        'fixed',
        'whether the base link is welded to the world or free to move',
        choices=('fixed', 'floating'),
    )
    joint_types: dict[str, str] = setting(
        dict, 'joint -> type, where it is not that of the file: spherical, fixed, free, ...'
    )
    actuators: dict[str, ActuatorConfig] = setting(
        dict,
        'joint -> actuator, where it is not an effort as commanded; joints whose effort is '
        "'none' have no actuator anyway",
    )
    inertia_check: str = setting(
        'error',
        'what to do about inertias that no body can have',
        choices=('error', 'warn', 'mend'),
    )


@dataclass(frozen=True)
class JointConfig:
    """What is known of a joint."""

    effort: str = setting(
        'unknown',
        'torque or force on the joint: none (nothing drives it), measured or commanded (read from '
        'the topics under efforts), unknown (something drives it, nobody knows how much), or '
        'driven (it takes whatever effort its motion takes, and nothing inside it is estimated)',
        choices=EFFORTS,
    )
    acceleration: float | None = setting(
        None,
        'of a driven joint: how large its accelerations usually are, rather too large; empty: '
        'what a usual effort does to it',
        unit='rad/s^2 or m/s^2',
        above=0,
    )


@dataclass(frozen=True)
class EffortsConfig:
    """Where efforts come from: by name, the field `effort` of sensor_msgs/msg/JointState."""

    measured: str = setting('joint_states', 'topic of the measured efforts')
    commanded: str = setting('joint_commands', 'topic of the commanded efforts')
    commanded_type: str = setting(
        '',
        'type of their messages; empty: sensor_msgs/msg/JointState; with '
        'std_msgs/msg/Float64MultiArray the numbers are efforts, and act from when they come',
    )
    commanded_joints: tuple[str, ...] = setting(
        (), 'joints of the numbers of a std_msgs/msg/Float64MultiArray, in their order'
    )
    hold: float = setting(
        0.5,
        'an effort acts until the next, but no longer than this; then it is unknown',
        unit='s',
        above=0,
    )
    steady: bool = setting(
        True,
        'efforts come at a pace of their own: one that keeps changing and is overdue is unknown; '
        'false: they come only when they change, and hold alone counts',
    )


@dataclass(frozen=True)
class PlacementConfig:
    """A pose: a position, and angles or a quaternion; what is not given is zero."""

    position: tuple[float, ...] = setting((), 'x, y, z', unit='m')
    rpy: tuple[float, ...] = setting(
        (), 'roll, pitch, yaw: turns about the fixed axes x, y, z, as in URDF', unit='rad'
    )
    rpy_degrees: tuple[float, ...] = setting((), 'the same in degrees, in its place', unit='deg')
    quaternion: tuple[float, ...] = setting((), 'x, y, z, w as in messages, in place of angles')


@dataclass(frozen=True)
class SensorConfig:
    """One sensor; which of the settings it takes depends on its kind."""

    kind: str = setting('', 'an entry of SENSORS', required=True)
    topic: str = setting('', 'topic of its messages', required=True)
    message_type: str = setting('', "type of its messages; empty: the kind's usual one")
    joints: tuple[str, ...] = setting((), 'joints it measures (joint_positions, joint_poses)')
    link: str = setting('', 'link it is fixed to (link_pose, marker)')
    point: tuple[float, ...] = setting(
        (), 'where on the link, x, y, z in its frame (marker)', unit='m'
    )
    mount: PlacementConfig = setting(
        PlacementConfig,
        'where the body of motion capture sits on the link: position, and rpy, rpy_degrees or '
        'quaternion (link_pose)',
    )
    sd: float | None = setting(
        None,
        'standard deviation of its noise (joint_positions, marker)',
        unit='rad or m',
        above=0,
    )
    velocity_sd: float | None = setting(
        None,
        'standard deviation of velocities, of joint_poses those of free joints in m/s; empty: '
        'they are not used (joint_positions, joint_poses)',
        unit='rad/s or m/s',
        above=0,
    )
    stamp_sd: float | None = setting(
        None,
        'standard deviation of what stamps are off, now early, now late; empty: nothing '
        '(joint_positions)',
        unit='s',
        above=0,
    )
    angular_velocity_sd: float | None = setting(
        None,
        'standard deviation of angular velocities; empty: they are not used (joint_poses)',
        unit='rad/s',
        above=0,
    )
    position_sd: float | None = setting(
        None,
        'standard deviation of positions, of joint_poses those of free joints; empty: they are '
        'not used (link_pose, joint_poses)',
        unit='m',
        above=0,
    )
    orientation_sd: float | None = setting(
        None,
        'standard deviation of angles; empty: they are not used (link_pose, joint_poses)',
        unit='rad',
        above=0,
    )
    max_rate: float | None = setting(
        None,
        'samples beyond this rate are left out and counted as thinned; empty: all are used',
        unit='1/s',
        above=0,
    )


@dataclass(frozen=True)
class PriorConfig:
    """
    What is known of the parameters of a pattern; what is not given follows from their kind.

    Either a mean with a standard deviation, or an interval.
    """

    mean: float | None = setting(None, "mean; empty: the robot description's value")
    sd: float | None = setting(
        None,
        'standard deviation: relative where log is true, else in the unit of the parameter',
        above=0,
    )
    log: bool | None = setting(
        None, 'whether the logarithm, which keeps the sign, is normally distributed'
    )
    min: float | None = setting(None, 'with max: the interval that holds 95 % of the prior')
    max: float | None = setting(None, 'see min')
    fixed: bool = setting(False, 'keep the mean and do not estimate what the pattern names')


@dataclass(frozen=True)
class FramesConfig:
    """How samples are put together; all times are times of data."""

    reference: str = setting(
        '', 'sensor whose samples are the bounds of frames; empty: the first one'
    )
    max_rate: float = setting(
        250.0, 'largest rate of frames, up to a tenth more for jitter', unit='1/s', above=0
    )
    lateness: float = setting(
        0.05, 'how much older than the newest a sample may arrive', unit='s', low=0
    )
    gap: float = setting(
        0.5,
        'a longer time without a sample of the reference ends the stretch: the motion is '
        'estimated afresh, the parameters are kept',
        unit='s',
        above=0,
    )
    jump_back: float = setting(
        1.0, "a sensor's stamp that goes back further clears the buffers", unit='s', above=0
    )
    patience: float = setting(
        0.5,
        'encoders that repeat themselves to the last bit for longer are frozen where poses or '
        'torques say that they should move',
        unit='s',
        above=0,
    )
    overload: float | None = setting(
        10.0,
        'live, where more data than this wait for the estimator, frames are made longer until it '
        'has caught up; empty: never',
        unit='s',
        above=0,
    )
    overload_rate: float = setting(
        25.0, 'largest rate of these longer frames, which leave out no sample', unit='1/s', above=0
    )


@dataclass(frozen=True)
class SimulationConfig:
    """How the robot is simulated between samples."""

    integrator: str = setting('rk4', 'an entry of INTEGRATORS')
    backend: str = setting('auto', 'native, eager, or auto: native where it can run')
    max_step: float = setting(0.01, 'longer intervals are divided', unit='s', above=0)
    position_sd: float = setting(
        0.5, 'of the first state about its guess', unit='rad or m', above=0
    )
    velocity_sd: float = setting(
        5.0, 'of the first velocities about their guess', unit='rad/s or m/s', above=0
    )
    hidden_time: float = setting(
        0.1,
        'how long unknown efforts, and accelerations of driven joints, last',
        unit='s',
        above=0,
    )
    disturbance_time: float | None = setting(
        0.2, 'how long efforts of unknown origin last; empty: there are none', unit='s', above=0
    )


@dataclass(frozen=True)
class EstimatorConfig:
    """Which estimator, and its own settings."""

    name: str = setting('gaussian_sum', 'an entry of ESTIMATORS')
    seed: int = setting(0, 'of all random numbers; the same seed gives the same posterior', low=0)
    settings: dict[str, object] = setting(
        dict, 'settings of the estimator, by the names its class documents'
    )


@dataclass(frozen=True)
class Config:
    """Everything that can be set. `source` is the file it came from: paths are relative to it."""

    model: ModelConfig = setting(ModelConfig, 'the robot')
    joints: dict[str, JointConfig] = setting(
        dict, 'joint -> what is known of it; joints that are not named have an unknown effort'
    )
    efforts: EffortsConfig = setting(EffortsConfig, 'where efforts come from')
    sensors: dict[str, SensorConfig] = setting(dict, 'name -> sensor', required=True)
    mocap: PlacementConfig = setting(
        PlacementConfig, "where the robot's world lies in that of motion capture"
    )
    estimate: dict[str, PriorConfig] = setting(
        dict,
        "what to estimate: parameter or pattern such as '*.damping' -> prior, {} for the usual "
        'one of its kind; where several match, a later one replaces what it gives. Besides the '
        'parameters of the robot: SENSOR.delay, commands.delay, JOINT.delay for a joint whose '
        'commands are late by another time, and SENSOR.noise, a factor on the standard '
        'deviations of its noise',
        required=True,
    )
    frames: FramesConfig = setting(FramesConfig, 'how samples are put together')
    simulation: SimulationConfig = setting(SimulationConfig, 'the simulation between samples')
    estimator: EstimatorConfig = setting(EstimatorConfig, 'the estimator')
    node: NodeConfig = setting(NodeConfig, 'the ROS node')
    saving: SavingConfig = setting(SavingConfig, 'files of the posterior')
    samples: SamplesConfig = setting(SamplesConfig, 'draws for randomization')
    markers: MarkersConfig = setting(MarkersConfig, 'the view in rviz')
    source: str = field(default='', compare=False)
