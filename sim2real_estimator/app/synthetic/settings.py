"""The settings of a synthetic robot, each declared once; read and documented as `config`."""

from dataclasses import dataclass, field
from pathlib import Path
import zlib

import numpy as np

from ...config import load_config, setting
from ...errors import ConfigError


@dataclass(frozen=True)
class MotionConfig:
    """
    How a joint is driven: sines of effort, and a spring and damper towards moving waypoints.

    A joint with limits is pushed back near them, and no effort exceeds the joint's largest.
    """

    amplitude: float = setting(0.0, 'of each sine of effort', unit='N m or N', low=0)
    frequencies: tuple[float, ...] = setting((), 'of the sines; phases are random', unit='1/s')
    interval: float | None = setting(
        None,
        'time from one random waypoint to the next; empty: nothing leads to waypoints',
        unit='s',
        above=0,
    )
    low: float | None = setting(
        None, "least waypoint; empty: the joint's lower limit and a margin", unit='rad or m'
    )
    high: float | None = setting(
        None, "largest waypoint; empty: the joint's upper limit and a margin", unit='rad or m'
    )
    stiffness: float | None = setting(
        None,
        'of the spring; empty: half a unit of error takes the largest effort',
        unit='N m/rad or N/m',
        low=0,
    )
    damping: float | None = setting(
        None,
        'of the damper; empty: a twentieth of the stiffness',
        unit='N m s/rad or N s/m',
        low=0,
    )


@dataclass(frozen=True)
class PushConfig:
    """A wrench on a link: constant, and sines of every component, each with a phase of its own."""

    force: tuple[float, ...] = setting((0.0,) * 3, 'constant part, x, y, z', unit='N')
    torque: tuple[float, ...] = setting((0.0,) * 3, 'constant part, x, y, z', unit='N m')
    force_amplitude: tuple[float, ...] = setting((0.0,) * 3, 'of each sine, x, y, z', unit='N')
    torque_amplitude: tuple[float, ...] = setting((0.0,) * 3, 'of each sine, x, y, z', unit='N m')
    frequencies: tuple[float, ...] = setting((), 'of the sines; phases are random', unit='1/s')
    at: float = setting(
        0.0, 'when it begins to act, since the start; zero before', unit='s', low=0
    )


@dataclass(frozen=True)
class StreamConfig:
    """How the messages of a topic are measured, and how they travel."""

    rate: float | None = setting(
        None, 'at most that of the robot; empty: that of the robot', unit='1/s', above=0
    )
    latency: float = setting(
        0.0, 'least time from the instant measured to the arrival', unit='s', low=0
    )
    jitter: float = setting(
        0.0,
        'mean of what comes on top, exponentially distributed; the order is kept',
        unit='s',
        low=0,
    )
    dropout: float = setting(0.0, 'probability that a message is lost', low=0, high=1)
    noise: float = setting(
        1.0, "of the sensors, in standard deviations of the estimator's config", low=0
    )
    velocity_sd: float = setting(
        0.01,
        'of velocities of which the config has no standard deviation',
        unit='rad/s or m/s',
        low=0,
    )
    effort_sd: float = setting(
        0.0, 'of efforts, and of forces of wrenches', unit='N m or N', low=0
    )
    moment_sd: float = setting(0.0, 'of torques of wrenches', unit='N m', low=0)
    occlusion: float = setting(
        0.0, 'share of time in which motion capture does not see the body', low=0, high=0.9
    )
    occlusion_time: float = setting(0.2, 'mean length of an occlusion', unit='s', above=0)
    sign_flips: float = setting(
        0.0, 'probability that a quaternion comes with the other sign', low=0, high=1
    )


@dataclass(frozen=True)
class PayloadConfig:
    """A rigid body that a link picks up, and perhaps drops again."""

    link: str = setting('', 'what it is attached to', required=True)
    at: float = setting(0.0, 'when it is attached, since the start', unit='s', low=0)
    until: float | None = setting(
        None, 'when it is dropped, since the start; empty: never', unit='s', above=0
    )
    mass: float = setting(1.0, 'mass', unit='kg', above=0)
    com: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), 'its centre of mass, x, y, z in the frame of the link', unit='m'
    )
    inertia: tuple[float, ...] = setting(
        (0.0,) * 6,
        'about its centre of mass, axes of the link: xx, yy, zz, xy, xz, yz',
        unit='kg m^2',
    )


@dataclass(frozen=True)
class ChangeConfig:
    """Parameters that take other values at an instant, without warning."""

    at: float = setting(0.0, 'when, since the start', unit='s', low=0)
    values: dict[str, float] = setting(dict, 'parameter -> its value from then on')


@dataclass(frozen=True)
class SyntheticConfig:
    """
    A synthetic robot: what it is and measures stands in the config of its estimator.

    `source` is the file these settings came from: paths are relative to it.
    """

    config: str = setting(
        '',
        "YAML file of the estimator's settings, relative to the folder of this file: robot, "
        'joints, topics, sensors with their noise, priors',
        required=True,
    )
    seed: int = setting(0, 'of all random numbers: truth, motion, noise', low=0)
    rate: float = setting(
        1000.0,
        'how often efforts change and messages may be sent; a slower topic of efforts leaves '
        'changes out, which the estimator then knows nothing of',
        unit='1/s',
        above=0,
    )
    finer: int = setting(4, "how many times finer its steps are than the estimator's", low=1)
    clock_offset: float = setting(
        0.0, 'of the clock of its stamps from that of the computer', unit='s'
    )
    spread: float = setting(
        1.0,
        'the true values of what is estimated are drawn from the prior, its standard deviations '
        'multiplied by this; 0: they are the means',
        low=0,
    )
    truth: dict[str, float] = setting(
        dict,
        'parameter -> its true value, instead of one that is drawn; commands.delay, '
        'JOINT.delay and SENSOR.delay are parameters too',
    )
    start_position_sd: float = setting(
        0.0,
        'of the first positions about the neutral ones; joints with waypoints begin at one',
        unit='rad or m',
        low=0,
    )
    start_velocity_sd: float = setting(0.0, 'of the first velocities', unit='rad/s or m/s', low=0)
    rest: float = setting(
        0.0,
        'so long joints with waypoints are held at the first of them, and no sine acts',
        unit='s',
        low=0,
    )
    motion: dict[str, MotionConfig] = setting(dict, 'joint -> how it is driven')
    commands: str = setting(
        '',
        'topic of efforts (std_msgs/Float64MultiArray, a number for each command of the model) '
        'that act on top of the motion until newer ones come, a tenth of a second at most; '
        'empty: none',
    )
    wrenches: dict[str, PushConfig] = setting(
        dict, "wrench of the estimator's config -> what acts; those that are not named are zero"
    )
    streams: dict[str, StreamConfig] = setting(
        dict, "topic of the estimator's config -> how its messages are made"
    )
    payloads: dict[str, PayloadConfig] = setting(dict, 'name -> body that is picked up')
    changes: dict[str, ChangeConfig] = setting(dict, 'name -> parameters that change')
    source: str = field(default='', compare=False)


def load_synthetic(path):
    """Return the `SyntheticConfig` of a YAML file."""
    return load_config(path, SyntheticConfig)


def load_estimator(settings):
    """Return the estimator's `Config` that belongs to the settings of a synthetic robot."""
    return load_config(Path(settings.source).parent / settings.config)


def require_known(where, name, known):
    """Refuse a name that is none of the known ones, with a ConfigError that lists them."""
    if name not in known:
        raise ConfigError(f'{where}.{name}: is unknown; choose from {", ".join(sorted(known))}')


def generator(seed, purpose):
    """Return the NumPy generator of a purpose, such as 'noise of encoders'."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])
