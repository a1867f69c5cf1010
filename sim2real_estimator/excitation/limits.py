"""What a motion has to keep: limits of joints, and spheres about links, by a YAML file."""

from dataclasses import dataclass, field

import numpy as np

from ..config import load_config
from ..config.declaring import setting
from ..errors import ConfigError
from ..parameters.usual_priors import largest_effort

# Without limits a joint moves by less than this to either side of zero [rad or m].
_NO_RANGE = np.pi
# Without a limit a joint is as fast as that [rad/s; m/s].
_SPEED = {True: 1.0, False: 0.2}
# Without a limit the full speed is reached in this time [s].
_SPEED_UP = 0.5


@dataclass(frozen=True)
class JointLimitsConfig:
    """What replaces the robot description's limits of a joint."""

    lower: float | None = setting(None, 'least position', unit='rad or m')
    upper: float | None = setting(None, 'largest position', unit='rad or m')
    velocity: float | None = setting(None, 'largest speed', unit='rad/s or m/s', above=0)
    acceleration: float | None = setting(
        None,
        'largest acceleration; empty: the full speed in half a second',
        unit='rad/s^2 or m/s^2',
        above=0,
    )
    effort: float | None = setting(None, 'largest torque or force', unit='N m or N', above=0)


@dataclass(frozen=True)
class SafetyConfig:
    """What a suggested motion has to keep beside the robot description's limits."""

    joints: dict[str, JointLimitsConfig] = setting(dict, 'joint -> its limits')
    spheres: dict[str, tuple[tuple[float, ...], ...]] = setting(
        dict, 'link -> spheres that cover it: [x, y, z, radius] in its frame', unit='m'
    )
    ignored: tuple[tuple[str, ...], ...] = setting(
        (), 'pairs of links that may come as close as they like'
    )
    floor: float | None = setting(
        None, 'height of the floor in the frame of the base link; empty: there is none', unit='m'
    )
    clearance: float = setting(0.02, 'least distance of spheres', unit='m', low=0.0)
    source: str = field(default='', compare=False)

    def __post_init__(self):
        """Refuse spheres and pairs that are none."""
        for link, spheres in self.spheres.items():
            for sphere in spheres:
                if len(sphere) != 4 or not sphere[3] > 0:
                    raise ConfigError(
                        f'spheres.{link}: {list(sphere)} is no sphere; give x, y, z, and a radius '
                        'above zero'
                    )
        for pair in self.ignored:
            if len(pair) != 2:
                raise ConfigError(f'ignored: {list(pair)} is no pair; give the names of two links')


def safety_of(path):
    """Return the `SafetyConfig` of a YAML file, that of no file where there is none."""
    return load_config(path, SafetyConfig) if path else SafetyConfig()


def places_of(entries, where):
    """Return joint -> position of texts JOINT=POSITION; where: names them in errors."""
    found = {}
    for entry in entries:
        joint, _, value = entry.partition('=')
        try:
            found[joint] = float(value)
        except ValueError:
            found[joint] = np.nan
        if not (joint and np.isfinite(found[joint])):
            raise ConfigError(f'{where} {entry}: give JOINT=POSITION, as elbow=1.2')
    return found


@dataclass(frozen=True)
class MotionLimits:
    """
    Limits of the n joints that are moved, arrays [n], and of the efforts of J rows [J].

    Those of efforts hold for most robots that are still possible, `all_efforts` for every draw.

    is_moved: which joints are moved; the others, of which no torque is measured, stay where they
    are; lower, upper [rad or m]; velocity, acceleration [per s, per s^2]; effort [N m or N].
    """

    joints: tuple
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    all_efforts: np.ndarray
    is_moved: np.ndarray

    @staticmethod
    def of(problem, config, shares, around=None, swing=None):
        """
        Return the `MotionLimits` of a `RobotProblem`.

        config: `SafetyConfig`; shares: of range, speed and effort that are used; around: joint ->
        position about which to move, within `swing` [rad or m].
        """
        model, torque = problem.model, problem.torque
        moving = [m for m in model.moving_joints if m.is_independent]
        joints = [m.joint for m in sorted(moving, key=lambda m: m.velocities.start)]
        names = tuple(joint.name for joint in joints)
        for name in (*config.joints, *(around or {})):
            if name not in names:
                raise ConfigError(
                    f"'{name}' is no joint that moves by itself; those are {', '.join(names)}"
                )
        given = [config.joints.get(name, JointLimitsConfig()) for name in names]
        found = np.array([_of_joint(*pair, shares) for pair in zip(joints, given)])
        lower, upper, velocity, acceleration = found.T
        for k, name in enumerate(names):
            place = (around or {}).get(name)
            if place is not None and not lower[k] <= place <= upper[k]:
                raise ConfigError(
                    f'--around {name}={place:g}: is outside the range of suggestions, '
                    f'{lower[k]:.3g} to {upper[k]:.3g}; the description gives it, or the limits'
                )
            centre = 0.5 * (lower[k] + upper[k]) if place is None else place
            if name not in torque.joints:
                lower[k] = upper[k] = centre
            elif swing is not None:
                lower[k], upper[k] = max(lower[k], centre - swing), min(upper[k], centre + swing)
        efforts = [
            config.joints.get(name, JointLimitsConfig()).effort
            or largest_effort(problem.parameters, model.joint(name))
            for name in torque.joints
        ]
        every = np.array(efforts, dtype=float)
        bounds = lower, upper, velocity, acceleration
        is_moved = np.isin(names, torque.joints)
        return MotionLimits(names, *bounds, shares.effort * every, every, is_moved)


@dataclass(frozen=True)
class Shares:
    """Shares of the joints' ranges, speeds and efforts that a motion may use."""

    range: float = 0.9
    velocity: float = 0.5
    effort: float = 0.8


def _of_joint(joint, given, shares):
    """Return lower, upper, velocity, acceleration of a `Joint`."""
    turns = joint.kind.groups[0].is_rotation
    said = joint.limits
    lower, upper = said.lower, said.upper
    if lower is None or upper is None or upper <= lower:
        lower, upper = -_NO_RANGE, _NO_RANGE
    margin = 0.5 * (1 - shares.range) * (upper - lower)
    lower = lower + margin if given.lower is None else given.lower
    upper = upper - margin if given.upper is None else given.upper
    if not lower < upper:
        raise ConfigError(
            f"joint '{joint.name}': its range is {lower:g} to {upper:g}; give lower and upper "
            'under joints in the file of limits'
        )
    velocity = given.velocity or shares.velocity * (said.velocity or _SPEED[turns])
    return lower, upper, velocity, given.acceleration or velocity / _SPEED_UP
