"""Wanted motion: points in time, and what lies between them."""

from dataclasses import dataclass

import numpy as np

from ..errors import DataError
from .computed_torque import Target

# A trajectory may begin so far from where a joint is [rad or m].
_NEAR = 0.05


@dataclass(frozen=True)
class Trajectory:
    """
    Positions, velocities and accelerations [K, C] of joints at K times since its start [s].

    Between points it is the polynomial of fifth degree through both, so that nothing jumps;
    after the last point the robot is held there.
    """

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray

    @classmethod
    def at(cls, positions):
        """Return the one that stays where it is."""
        positions = np.asarray(positions, dtype=float)[None]
        return cls(np.zeros(1), positions, np.zeros_like(positions), np.zeros_like(positions))

    def target(self, time):
        """Return the `Target` at a time since the start [s]."""
        last = len(self.times) - 1
        if time >= self.times[-1] or last == 0:
            rest = np.zeros_like(self.positions[-1])
            return Target(self.positions[-1], rest, rest)
        k = max(int(np.searchsorted(self.times, time, 'right')) - 1, 0)
        span = self.times[k + 1] - self.times[k]
        s = max(time - self.times[k], 0.0) / span
        ends = slice(k, k + 2)
        return Target(
            *_quintic(
                s, span, self.positions[ends], self.velocities[ends], self.accelerations[ends]
            )
        )


def checked(joints, names, points, limits, now):
    """
    Return the `Trajectory` of a message's points; a DataError says why it cannot be followed.

    joints [C]: those that are controlled; names: in the order of the points; points: (time [s],
    positions, velocities, accelerations) each, the latter two may be empty; limits: joint ->
    `Limits`; now [C]: present positions of the joints.
    """
    if sorted(names) != sorted(joints):
        raise DataError(f'it is of {", ".join(names) or "no joint"}, not of {", ".join(joints)}')
    if not points:
        raise DataError('it has no points')
    order = [list(names).index(name) for name in joints]
    times = np.array([time for time, *_ in points])
    if (np.diff(times) <= 0).any() or times[0] < 0:
        raise DataError('the times of its points do not increase')
    arrays = []
    for place, word in enumerate(('positions', 'velocities', 'accelerations'), 1):
        rows = [
            list(point[place]) or ([] if place == 1 else [0.0] * len(names)) for point in points
        ]
        if any(len(row) != len(names) for row in rows):
            raise DataError(f'a point has not as many {word} as there are joints')
        arrays.append(np.array(rows, dtype=float)[:, order])
    if not all(np.isfinite(each).all() for each in (times, *arrays)):
        raise DataError('it has numbers that are not finite')
    for k, name in enumerate(joints):
        low, high = limits[name].lower, limits[name].upper
        away = arrays[0][:, k]
        if (low is not None and away.min() < low) or (high is not None and away.max() > high):
            raise DataError(f'{name} would leave its range, {low:g} to {high:g}')
        if times[0] > 0:
            continue
        if abs(away[0] - now[k]) > _NEAR:
            raise DataError(
                f'it begins {abs(away[0] - now[k]):.2g} rad or m from where {name} is; give its '
                'first point a time above zero, in which to go there'
            )
    if times[0] > 0:
        begin = np.asarray(now, dtype=float)[None]
        rest = np.zeros_like(begin)
        times = np.append(0.0, times)
        arrays = [np.concatenate(pair) for pair in zip((begin, rest, rest), arrays)]
    return Trajectory(times, *arrays)


def _quintic(s, span, q, v, a):
    """Return q, v, a [C] at a share s of a span [s], of the values [2, C] at both of its ends."""
    v, a = v * span, a * span**2
    first, change = q[0], q[1] - q[0]
    c3 = 10 * change - 6 * v[0] - 4 * v[1] - 1.5 * a[0] + 0.5 * a[1]
    c4 = -15 * change + 8 * v[0] + 7 * v[1] + 1.5 * a[0] - a[1]
    c5 = 6 * change - 3 * (v[0] + v[1]) - 0.5 * a[0] + 0.5 * a[1]
    place = first + v[0] * s + 0.5 * a[0] * s**2 + c3 * s**3 + c4 * s**4 + c5 * s**5
    rate = v[0] + a[0] * s + 3 * c3 * s**2 + 4 * c4 * s**3 + 5 * c5 * s**4
    bend = a[0] + 6 * c3 * s + 12 * c4 * s**2 + 20 * c5 * s**3
    return place, rate / span, bend / span**2
