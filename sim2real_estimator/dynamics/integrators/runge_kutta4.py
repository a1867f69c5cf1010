"""The classical Runge-Kutta method."""

from .base import AbstractIntegrator, map_joints

_NODES = (0.5, 0.5, 1.0)
_WEIGHTS = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


class RungeKutta4(AbstractIntegrator):
    """
    Four stages on (q, v) as plain numbers, quaternions by their four components.

    dq/dt = q * (0, v) / 2 keeps the unit sphere for any v, so the step is of fourth order on
    rotations too; what error leaves the sphere is projected off at the end.
    """

    name = 'rk4'
    order = 4
    stages = 4

    def step(self, robot, q, v, duration, acceleration):
        """Return (q, v) after `duration` [s]."""

        def slope(q_at, v_at):
            rate = map_joints(robot, lambda kind, x, w: kind.rate(x, w), q_at, v_at)
            return rate, acceleration(q_at, v_at)

        slopes = [slope(q, v)]
        for node in _NODES:
            h = duration * node
            rate, a = slopes[-1]
            slopes.append(
                slope([x + r * h for x, r in zip(q, rate)], [x + r * h for x, r in zip(v, a)])
            )
        q = [x + duration * _blend([s[0][i] for s in slopes]) for i, x in enumerate(q)]
        v = [x + duration * _blend([s[1][i] for s in slopes]) for i, x in enumerate(v)]
        return map_joints(robot, lambda kind, x: kind.normalized(x), q), v


def _blend(slopes):
    return sum(weight * slope for weight, slope in zip(_WEIGHTS, slopes))
