"""
Motions as uniform cubic B-splines that begin and end at rest, in the same configuration.

The position of every joint is a sum of control points times basis functions. Acceleration is
linear between knots and velocity quadratic, so bounds on differences of control points hold the
limits of position, velocity and acceleration at every instant, not at samples only.
"""

from dataclasses import dataclass

import numpy as np

# Control points on either side of the inner ones that are equal, so that the motion rests there.
_RESTING = 3


class SplineBasis:
    """
    The basis functions of motions of a duration.

    seconds: of the motion; size: number F of free control points of a joint, of which the first
    is the configuration at both ends.
    """

    def __init__(self, seconds, spacing):
        """Take the duration and about how far knots are apart [s]."""
        segments = max(int(round(seconds / spacing)), 2 * _RESTING)
        self.seconds, self._step = float(seconds), seconds / segments
        self.size = segments - _RESTING + 1
        # From free control points to all of them.
        inner = np.eye(self.size)[1:]
        ends = np.repeat(np.eye(self.size)[:1], _RESTING, 0)
        self._all = np.concatenate([ends, inner, ends])

    def at(self, times):
        """Return the matrices [3, N, F] from free control points to q, v, a at times [N]."""
        count = len(self._all) - _RESTING
        place = np.clip(np.asarray(times) / self._step, 0, count)
        first = np.minimum(place.astype(int), count - 1)
        u = (place - first)[:, None]
        weights = np.stack(
            [
                np.hstack(
                    [(1 - u) ** 3, 3 * u**3 - 6 * u**2 + 4, 1 + 3 * u * (1 + u - u**2), u**3]
                )
                / 6,
                np.hstack([-((1 - u) ** 2), 3 * u**2 - 4 * u, 1 + 2 * u - 3 * u**2, u**2])
                / (2 * self._step),
                np.hstack([1 - u, 3 * u - 2, 1 - 3 * u, u]) / self._step**2,
            ]
        )
        full = np.zeros((3, len(place), len(self._all)))
        rows = np.arange(len(place))
        for k in range(4):
            full[:, rows, first + k] = weights[..., k]
        return full @ self._all

    def rates(self):
        """
        Return (matrix of velocities, matrix of accelerations) [., F].

        Within the largest of these products with control points a joint stays at all times.
        """
        count = len(self._all) - _RESTING
        knots = self._step * np.arange(count + 1)
        accelerations = self.at(knots)[2]
        # Velocity is quadratic in each half of a segment, and between its Bezier ordinates there,
        # of which those at the ends of halves are means of their neighbours.
        halves = np.repeat(knots, 2)[:-2]
        halves[1::2] += self._step / 2
        velocities, slopes = self.at(halves)[1:]
        found = velocities + slopes * self._step / 4, accelerations
        # At both ends there is nothing to bound.
        return tuple(each[np.abs(each).sum(1) > 0] for each in found)

    def fitted(self, times, positions):
        """Return control points [F, n] of the nearest motion to positions [N, n] at times [N]."""
        matrix = self.at(times)[0]
        return np.linalg.lstsq(matrix, positions, rcond=None)[0]


@dataclass(frozen=True)
class Motion:
    """
    A motion: its `SplineBasis`, names of the n joints, and control points [F, n].

    is_moved [n]: which of the joints move, None: all.
    """

    basis: SplineBasis
    joints: tuple
    points: np.ndarray
    is_moved: np.ndarray | None = None

    @property
    def made(self):
        """The motion of those joints that move."""
        if self.is_moved is None:
            return self
        which = np.flatnonzero(self.is_moved)
        return Motion(self.basis, tuple(self.joints[k] for k in which), self.points[:, which])

    @property
    def seconds(self):
        """How long it lasts [s]."""
        return self.basis.seconds

    def __call__(self, times):
        """Return positions, velocities and accelerations [3, N, n] at times [N] s."""
        return self.basis.at(times) @ self.points

    def times(self, rate):
        """Return instants from begin to end, `rate` a second and both ends."""
        return np.linspace(0.0, self.seconds, int(round(self.seconds * rate)) + 1)
