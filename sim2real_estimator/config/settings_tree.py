"""The settings themselves; see the package."""

from dataclasses import dataclass, field

from .declaring import setting
from .node_settings import MarkersConfig, NodeConfig, SamplesConfig, SavingConfig

EFFORTS = ('none', 'measured', 'commanded', 'unknown', 'driven')


@dataclass(frozen=True)
class ActuatorConfig:
    """What drives a joint."""

    kind: str = setting('effort', 'type of actuator: effort or dc_motor')
    values: dict[str, float] = setting(dict, 'values of its parameters, by name')


@dataclass(frozen=True)
class ModelConfig:
    """The robot description, and what is to be read differently from what it says."""

    urdf: str = setting(
        '',
        'URDF file, relative to the folder of this file, or its text; may be empty if '
        'node.robot_description is true',
    )
    base: str = setting(
        'fixed',
        'whether the base link is fixed to the world or free to move',
        choices=('fixed', 'floating'),
    )
    joint_types: dict[str, str] = setting(
        dict, 'joint -> type, if it is not the one in the URDF: spherical, fixed, free, ...'
    )
    actuators: dict[str, ActuatorConfig] = setting(
        dict,
        'joint -> actuator, if it is more than an effort that acts as commanded; joints whose '
        "effort is 'none' have no actuator",
    )
    couplings: dict[str, str] = setting(
        dict,
        'joint -> joint that its motor drives too, as in the wrists of many arms; the motor turns '
        'at the sum of their velocities, and its parameters are named after the former: '
        'coupled_armature, coupled_damping, coupled_friction',
    )
    inertia_check: str = setting(
        'error',
        'inertias that no body can have: error refuses them, warn uses them with a warning, mend '
        'replaces them by the nearest possible ones',
        choices=('error', 'warn', 'mend'),
    )


@dataclass(frozen=True)
class JointConfig:
    """What is known of a joint."""

    effort: str = setting(
        'unknown',
        'torque or force on the joint: none (nothing drives it); measured (by a torque sensor or '
        "from the motor's current: with noise, an offset and a gain) or commanded (just what "
        'acts: in simulation, or where torque is controlled), both read from the topics under '
        'efforts; driven (it takes whatever effort its motion takes, and nothing inside it is '
        'estimated); unknown (nobody reports it) is estimated as driven is, but a synthetic robot '
        'moves the joint by efforts',
        choices=EFFORTS,
    )
    acceleration: float | None = setting(
        None,
        'of a driven joint: the usual size of its accelerations, rather too large than too small; '
        'empty: five times what a usual effort would cause',
        unit='rad/s^2 or m/s^2',
        above=0,
    )


@dataclass(frozen=True)
class EffortsConfig:
    """Where efforts come from: the field `effort` of sensor_msgs/msg/JointState, by joint name."""

    measured: str = setting('joint_states', 'topic of the measured efforts')
    commanded: str = setting(
        'joint_commands',
        'topic of the commanded efforts, the one of the joint states where they come with those',
    )
    commanded_type: str = setting(
        '',
        'type of these messages; empty: sensor_msgs/msg/JointState. In a '
        'std_msgs/msg/Float64MultiArray the numbers are efforts that act from their arrival on',
    )
    commanded_joints: tuple[str, ...] = setting(
        (), 'joints of the numbers in a std_msgs/msg/Float64MultiArray, in the same order'
    )
    hold: float = setting(
        0.5,
        'an effort acts until the next one, but no longer than this; then it is unknown',
        unit='s',
        above=0,
    )
    steady: bool = setting(
        True,
        'true: efforts come at a steady rate, so one that is overdue and was not constant is '
        'unknown; false: they come only when they change, so only hold limits them',
    )


@dataclass(frozen=True)
class WrenchConfig:
    """A wrench that acts on a link from outside and is known: geometry_msgs/msg/WrenchStamped."""

    topic: str = setting('', 'topic of its messages', required=True)
    link: str = setting('', 'link that it acts on, about the origin of its frame', required=True)
    axes: str = setting(
        'link',
        "whose axes the numbers have: the link's, or those of the robot's world",
        choices=('link', 'world'),
    )


@dataclass(frozen=True)
class PlacementConfig:
    """A pose: a position, and angles or a quaternion. What is not given is zero."""

    position: tuple[float, ...] = setting((), 'x, y, z', unit='m')
    rpy: tuple[float, ...] = setting(
        (), 'roll, pitch, yaw: turns about the fixed axes x, y, z, as in URDF', unit='rad'
    )
    rpy_degrees: tuple[float, ...] = setting((), 'the same in degrees, instead of rpy', unit='deg')
    quaternion: tuple[float, ...] = setting((), 'x, y, z, w as in messages, instead of angles')


@dataclass(frozen=True)
class ShapeConfig:
    """A shape by which a link touches others. Which settings it takes depends on its kind."""

    kind: str = setting(
        '',
        'box, sphere, cylinder (its two rims), points, or plane (all below it is solid)',
        choices=('box', 'sphere', 'cylinder', 'points', 'plane'),
        required=True,
    )
    size: tuple[float, ...] = setting((), 'edges of a box along x, y, z', unit='m')
    radius: float | None = setting(None, 'of a sphere or a cylinder', unit='m', above=0)
    length: float | None = setting(None, 'of a cylinder, along z', unit='m', above=0)
    points: tuple[float, ...] = setting((), 'x, y, z of each point in turn', unit='m')
    pose: PlacementConfig = setting(
        PlacementConfig,
        'pose of its middle in the frame of the link; the normal of a plane is along z',
    )


@dataclass(frozen=True)
class ContactConfig:
    """Two links that can touch. Its parameters are PAIR.friction and so on: they can be named."""

    between: tuple[str, ...] = setting(
        (),
        'two links, or a link and ground, the plane z = 0 of the base link; they touch by '
        'the shapes of <collision> in the robot description',
        required=True,
    )
    law: str = setting('hunt_crossley', 'law of the contact force: hunt_crossley')
    friction: float | None = setting(None, 'coefficient of friction; empty: 0.3', low=0)
    dissipation: float | None = setting(
        None,
        'part of the contact force that is added for each m/s of approach; empty: 0.3',
        unit='s/m',
        low=0,
    )
    stiffness: float | None = setting(
        None,
        'force over penetration to the power 1.5; empty: that at which the lighter link enters '
        '5 mm where it hits at 1 m/s',
        unit='N/m^1.5',
        above=0,
    )
    slip_velocity: float | None = setting(
        None, 'slip over which friction builds up; empty: 0.01', unit='m/s', above=0
    )
    shapes: dict[str, ShapeConfig] = setting(
        dict, 'link or ground -> shape, in place of the one in the robot description'
    )


@dataclass(frozen=True)
class CameraConfig:
    """
    A camera that looks straight at a plane of the robot's world; used by planar_camera.

    What it is roughly; `estimate` may name CAMERA.scale, .tilt, .origin_u and .origin_v.
    """

    scale: float | None = setting(None, 'pixels in a metre; needed', unit='px/m', above=0)
    tilt: float = setting(
        0.0, 'angle by which the picture is turned, from u towards v', unit='rad'
    )
    origin: tuple[float, ...] = setting(
        (), "where it sees the origin of the robot's world, u and v; empty: at 0, 0", unit='px'
    )
    axes: tuple[str, ...] = setting(
        ('x', '-z'), 'axes of the world along which u and v grow: x, y, z with or without a minus'
    )


@dataclass(frozen=True)
class SensorConfig:
    """One sensor. Which settings it takes depends on its kind, given in brackets."""

    kind: str = setting(
        '', 'joint_positions, joint_poses, link_pose, marker or planar_camera', required=True
    )
    topic: str = setting('', 'topic of its messages', required=True)
    message_type: str = setting('', "type of its messages; empty: the kind's usual one")
    joints: tuple[str, ...] = setting((), 'joints it measures (joint_positions, joint_poses)')
    link: str = setting('', 'link it is fixed to (link_pose, marker, planar_camera)')
    point: tuple[float, ...] = setting(
        (), 'where on the link, x, y, z in its frame (marker, planar_camera)', unit='m'
    )
    camera: str = setting('', 'camera of cameras that sees it (planar_camera)')
    mount: PlacementConfig = setting(
        PlacementConfig,
        'pose of the tracked body on the link: position, and rpy, rpy_degrees or '
        'quaternion (link_pose)',
    )
    sd: float | None = setting(
        None,
        'standard deviation of its noise (joint_positions, marker, planar_camera)',
        unit='rad or m or px',
        above=0,
    )
    velocity_sd: float | None = setting(
        None,
        'standard deviation of velocities, with joint_poses of the linear velocities of free '
        'joints; empty: they are not used (joint_positions, joint_poses)',
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
        'standard deviation of positions, with joint_poses of free joints; empty: they are not '
        'used (link_pose, joint_poses)',
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
    What is known beforehand of the parameters that a pattern matches.

    Give a mean with a standard deviation, or an interval. What is not given follows from the kind
    of parameter.
    """

    mean: float | None = setting(None, "mean; empty: the robot description's value")
    sd: float | None = setting(
        None,
        'standard deviation: relative where log is true, else in the unit of the parameter',
        above=0,
    )
    log: bool | None = setting(
        None, 'whether its logarithm is normally distributed, so that it keeps its sign'
    )
    min: float | None = setting(None, 'with max: the interval that holds 95 % of the prior')
    max: float | None = setting(None, 'see min')
    fixed: bool = setting(False, 'keep these parameters at the mean, and do not estimate them')


@dataclass(frozen=True)
class PayloadConfig:
    """What the robot holds: what `~/payload` says of it, and what is known of it beforehand."""

    link: str = setting('', 'link that holds it; empty: the link of the last change')
    frame: str = setting(
        '',
        'link in whose frame it is given, such as a tool frame, fixed to the former; empty: the '
        'former',
    )
    against: str = setting(
        'before',
        'before: what was picked up since the beginning, by changes that were noticed, and the '
        'known body below; nominal: what differs from the robot description on the link',
        choices=('before', 'nominal'),
    )
    mass: float = setting(
        0.0,
        'mass of a body that is held from the beginning and is not in the robot description; the '
        'model then includes it',
        unit='kg',
        low=0,
    )
    com: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), 'its centre in the frame of the link', unit='m'
    )
    inertia: tuple[float, ...] = setting(
        (0.0,) * 6,
        'its inertia about that centre, along the axes of the link: xx, yy, zz, xy, xz, yz',
        unit='kg m^2',
    )


@dataclass(frozen=True)
class FramesConfig:
    """How samples are grouped into frames. All times are times of data."""

    reference: str = setting(
        '', 'sensor at whose samples frames begin and end; empty: the first one'
    )
    max_rate: float = setting(
        250.0,
        'largest rate of frames; up to a tenth more is tolerated as jitter',
        unit='1/s',
        above=0,
    )
    lateness: float = setting(
        0.05, 'how much older than the newest sample one may be when it arrives', unit='s', low=0
    )
    gap: float = setting(
        0.5,
        'after a longer time without a sample of the reference sensor the motion is estimated '
        'afresh; the parameters are kept',
        unit='s',
        above=0,
    )
    jump_back: float = setting(
        1.0,
        'if stamps of a sensor go back by more than this, samples that wait are dropped',
        unit='s',
        above=0,
    )
    patience: float = setting(
        0.5,
        'encoders that repeat the same value for longer count as frozen, if poses or torques say '
        'that the joints should move',
        unit='s',
        above=0,
    )
    overload: float | None = setting(
        10.0,
        'live: if more data than this wait for the estimator, frames are made longer until it '
        'has caught up; empty: never',
        unit='s',
        above=0,
    )
    overload_rate: float = setting(
        25.0, 'largest rate of these longer frames; no sample is left out', unit='1/s', above=0
    )
    max_age: float | None = setting(
        1.0,
        'live: after the first fits estimates are of data no older than this: frames are made '
        'longer, and where that is not enough, data are skipped and counted; empty: any',
        unit='s',
        above=0,
    )


@dataclass(frozen=True)
class SimulationConfig:
    """How the robot is simulated between samples."""

    integrator: str = setting('rk4', 'rk4 or semi_implicit_euler')
    backend: str = setting('auto', 'native, eager, or auto: native where it can run')
    max_step: float = setting(0.01, 'longest integration step', unit='s', low=1e-6)
    position_sd: float = setting(
        0.5,
        'standard deviation of the first positions about their guess',
        unit='rad or m',
        above=0,
    )
    velocity_sd: float = setting(
        5.0,
        'standard deviation of the first velocities about their guess',
        unit='rad/s or m/s',
        above=0,
    )
    hidden_time: float = setting(
        0.1,
        'correlation time of the accelerations of driven joints',
        unit='s',
        above=0,
    )
    disturbance_time: float | None = setting(
        0.2, 'correlation time of disturbances; empty: there are none', unit='s', above=0
    )


@dataclass(frozen=True)
class EstimatorConfig:
    """Which estimator, and its own settings."""

    name: str = setting(
        'auto',
        'measured_torque, multiple_shooting, kinematic_calibration, gaussian_sum or '
        'gumbel_mixture; auto: measured_torque where the effort of a joint is measured, '
        'multiple_shooting where nothing drives any joint, kinematic_calibration where no effort '
        'is reported and encoders and poses of links are, else gaussian_sum',
    )
    seed: int = setting(
        0, 'seed of all random numbers; the same seed gives the same posterior', low=0
    )
    settings: dict[str, object] = setting(
        dict, 'settings of the estimator, by the names its class documents'
    )


@dataclass(frozen=True)
class Config:
    """Everything that can be set. `source` is the file it came from: paths are relative to it."""

    model: ModelConfig = setting(ModelConfig, 'the robot')
    joints: dict[str, JointConfig] = setting(
        dict,
        'joint -> what is known of it; those of one degree of freedom that are not listed are '
        'unknown',
    )
    efforts: EffortsConfig = setting(EffortsConfig, 'where efforts come from')
    wrenches: dict[str, WrenchConfig] = setting(
        dict,
        'name -> known wrench on a link from outside, such as thrust; it is held and becomes '
        'unknown as efforts do',
    )
    contacts: dict[str, ContactConfig] = setting(
        dict, 'name -> two links that can touch; see docs/contact.md'
    )
    sensors: dict[str, SensorConfig] = setting(dict, 'name -> sensor', required=True)
    mocap: PlacementConfig = setting(
        PlacementConfig, "pose of the robot's world in the world of motion capture"
    )
    cameras: dict[str, CameraConfig] = setting(
        dict, 'name -> camera that looks straight at a plane in which the robot moves'
    )
    estimate: dict[str, PriorConfig] = setting(
        dict,
        "what to estimate: parameter, or pattern such as '*.damping' -> prior; {} is the usual "
        'prior of its kind. If several patterns match, later ones override earlier ones. Besides '
        'the parameters of the robot: SENSOR.delay, commands.delay, JOINT.delay for a joint whose '
        'commands have a delay of their own, and SENSOR.noise, a factor on the standard '
        'deviations of a sensor',
        required=True,
    )
    payload: PayloadConfig = setting(PayloadConfig, 'what the robot holds')
    frames: FramesConfig = setting(FramesConfig, 'how samples are put together')
    simulation: SimulationConfig = setting(SimulationConfig, 'the simulation between samples')
    estimator: EstimatorConfig = setting(EstimatorConfig, 'the estimator')
    node: NodeConfig = setting(NodeConfig, 'the ROS node')
    saving: SavingConfig = setting(SavingConfig, 'files of the posterior')
    samples: SamplesConfig = setting(SamplesConfig, 'draws for randomization')
    markers: MarkersConfig = setting(MarkersConfig, 'the view in rviz')
    source: str = field(default='', compare=False)

    @property
    def measured_joints(self):
        """The names of the joints whose torque is a measurement."""
        return tuple(name for name, joint in self.joints.items() if joint.effort == 'measured')

    @property
    def is_passive(self):
        """Whether nothing drives any joint."""
        return {joint.effort for joint in self.joints.values()} == {'none'}
