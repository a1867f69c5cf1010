"""The integrator of the paper."""

from .base import AbstractIntegrator, map_joints


class SemiImplicitEuler(AbstractIntegrator):
    """v' = v + a(q, v) h, then q moved on along v' (exactly on rotations): first order."""

    name = 'semi_implicit_euler'
    order = 1
    stages = 1

    def step(self, robot, q, v, duration, acceleration):
        """Return (q, v) after `duration` [s]."""
        v = [x + a * duration for x, a in zip(v, acceleration(q, v))]
        return map_joints(robot, lambda kind, x, w: kind.advance(x, w, duration), q, v), v
