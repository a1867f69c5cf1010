"""The excitation of the robot: efforts of its joints, and external wrenches, over time."""

import math

import numpy as np

from ...errors import ConfigError
from .settings import generator, PushConfig, require_known

# Part of a joint's range at either end in which an effort drives it back.
_MARGIN = 0.1
# Position error that demands the largest effort by default [rad or m].
_LARGEST_ERROR = 0.5
_DAMPING_SHARE = 0.05  # [s]
# Largest slope of the step from one waypoint to the next, times the interval.
_STEEPEST = 1.875


class Motion:
    """The efforts of all commands of a model, as functions of time and state."""

    def __init__(self, settings, model):
        """Take the `SyntheticConfig` and the model; joints without a motion are not driven."""
        self.commands, self._rest, self._drives = tuple(model.commands), settings.rest, []
        moving = {m.joint.name: m for m in model.moving_joints}
        limits = [moving[name].joint.limits.effort for name in model.command_joints]
        self._largest = [limit or math.inf for limit in limits]
        driven = [name for name in model.commands if name in moving]
        for name in settings.motion:
            require_known('motion', name, driven)
        for name, wish in settings.motion.items():
            chance = generator(settings.seed, f'motion of {name}')
            drive = _Drive(f'motion.{name}', wish, moving[name].joint.limits, chance)
            place = moving[name].positions.start
            speed = model.position_size + moving[name].velocities.start
            self._drives.append((model.commands.index(name), place, speed, drive))

    @property
    def size(self):
        """Number of commands."""
        return len(self.commands)

    def limited(self, efforts):
        """Return efforts [N m or N], a number per command, within the limits of the joints."""
        return [min(max(e, -most), most) for e, most in zip(efforts, self._largest)]

    def starts(self):
        """Return index in the state -> first position, for joints that follow waypoints."""
        leads = {place: drive.first for _, place, _, drive in self._drives}
        return {place: first for place, first in leads.items() if first is not None}

    def efforts(self, time, state):
        """Return one effort [N m or N] per command at a time [s], which must not decrease."""
        efforts, time = [0.0] * self.size, time - self._rest
        for command, place, speed, drive in self._drives:
            efforts[command] = drive.effort(time, state[place], state[speed])
        return efforts


class Pushes:
    """The external wrenches, as functions of time."""

    def __init__(self, settings, names):
        """Take the `SyntheticConfig` and the names of the wrenches of the estimator's config."""
        self._parts = []
        for name in settings.wrenches:
            require_known('wrenches', name, names)
        for name in names:
            wish = settings.wrenches.get(name, PushConfig())
            for word in ('torque', 'force', 'torque_amplitude', 'force_amplitude'):
                if len(getattr(wish, word)) != 3:
                    raise ConfigError(
                        f'wrenches.{name}.{word}: is {list(getattr(wish, word))}; give x, y, z'
                    )
            constant = np.array([*wish.torque, *wish.force])
            amplitude = np.array([*wish.torque_amplitude, *wish.force_amplitude])
            if amplitude.any() and not wish.frequencies:
                raise ConfigError(
                    f'wrenches.{name}.frequencies: is empty; give those of the sines'
                )
            chance = generator(settings.seed, f'wrench {name}')
            phases = chance.uniform(0, 2 * math.pi, (len(wish.frequencies), 6))
            speeds = 2 * math.pi * np.array(wish.frequencies)[:, None]
            self._parts.append((wish.at, constant, amplitude, speeds, phases))

    def at(self, time):
        """Return six numbers for each wrench at a time [s], moment before force, as a list."""
        found = []
        for begin, constant, amplitude, speeds, phases in self._parts:
            sines = np.sin(speeds * time + phases).sum(0)
            acts = 0.0 if time < begin else 1.0
            found += (acts * (constant + amplitude * sines)).tolist()
        return found


class _Drive:
    """The excitation of one joint: sines of effort, and a spring and damper to waypoints."""

    def __init__(self, where, wish, limits, chance):
        """Take the name of the settings, a `MotionConfig`, the `Limits`, and a generator."""
        self._wish, self._largest = wish, limits.effort or math.inf
        phases = chance.uniform(0, 2 * math.pi, len(wish.frequencies))
        self._sines = [(2 * math.pi * f, p) for f, p in zip(wish.frequencies, phases.tolist())]
        if wish.amplitude and not wish.frequencies:
            raise ConfigError(f'{where}.frequencies: is empty; give those of the sines')
        self._fence = _Fence(limits) if None not in (limits.lower, limits.upper) else None
        self._waypoints = None
        if wish.interval is not None:
            self._stiffness, self._damping = _gains(where, wish, limits)
            low, high = _bounds(where, wish, limits)
            furthest = (limits.velocity or math.inf) * wish.interval / _STEEPEST
            self._waypoints = _Waypoints(low, high, wish.interval, furthest, chance)

    @property
    def first(self):
        """The first waypoint, or None."""
        return self._waypoints and self._waypoints.at(0.0)[0]

    def effort(self, time, position, speed):
        """Return the effort at a time since the rest, in which the first waypoint is held."""
        total = 0.0
        if time >= 0:
            total += self._wish.amplitude * sum(math.sin(w * time + p) for w, p in self._sines)
        if self._waypoints:
            wanted, wanted_speed = self._waypoints.at(max(time, 0.0))
            total += self._stiffness * (wanted - position)
            total += self._damping * (wanted_speed - speed)
        if self._fence and self._largest < math.inf:
            total += self._largest * self._fence.push(position)
        return min(max(total, -self._largest), self._largest)


class _Fence:
    """Drives a joint back within the margins of its range, with the largest effort at a limit."""

    def __init__(self, limits):
        self._margin = _MARGIN * (limits.upper - limits.lower)
        self._low, self._high = limits.lower + self._margin, limits.upper - self._margin

    def push(self, position):
        """Return the share of the largest effort; beyond a limit it is above one."""
        inside = min(max(position, self._low), self._high)
        return (inside - position) / self._margin if self._margin > 0 else 0.0


class _Waypoints:
    """Random positions, one per interval, with smooth motion from each to the next."""

    def __init__(self, low, high, interval, furthest, chance):
        """Take bounds, the interval [s], the longest way between two, and a generator."""
        self._low, self._high, self._furthest = low, high, furthest
        self._interval, self._chance = interval, chance
        self._number, self._from = 0, chance.uniform(low, high)
        self._to = self._next()

    def at(self, time):
        """Return position and speed at a time [s] that does not go back by an interval."""
        while time >= (self._number + 1) * self._interval:
            self._number, self._from = self._number + 1, self._to
            self._to = self._next()
        s = time / self._interval - self._number
        way = self._to - self._from
        share, slope = s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2
        return self._from + way * share, way * slope / self._interval

    def _next(self):
        way = self._chance.uniform(self._low, self._high) - self._from
        return self._from + min(max(way, -self._furthest), self._furthest)


def _bounds(where, wish, limits):
    """Return the range of waypoints."""
    low, high = wish.low, wish.high
    if None not in (limits.lower, limits.upper):
        margin = 2 * _MARGIN * (limits.upper - limits.lower)
        low = limits.lower + margin if low is None else low
        high = limits.upper - margin if high is None else high
    if low is None or high is None:
        raise ConfigError(f'{where}: the joint has no limits; give low and high')
    if not low <= high:
        raise ConfigError(f'{where}.low: is {low:g}, above high, {high:g}; give low <= high')
    return low, high


def _gains(where, wish, limits):
    """Return stiffness and damping of the way to waypoints."""
    stiffness = wish.stiffness
    if stiffness is None:
        if not limits.effort:
            raise ConfigError(f'{where}.stiffness: the joint has no largest effort; give one')
        stiffness = limits.effort / _LARGEST_ERROR
    damping = _DAMPING_SHARE * stiffness if wish.damping is None else wish.damping
    return stiffness, damping
