"""
Computed torque with the estimated robot, and how uncertain its torques are.

The law: u = M(q) (a* + K_d (v* - v) + K_p (q* - q)) + h(q, v) + S ((q* - q) + T (v* - v)), with
friction, gains and offsets of torque as estimated. The last term is a spring and damper of the
joint itself: a wrist of no inertia has no other stiffness against what its friction is wrong by.
Without a target it is gravity compensation: u = h(q, 0).
"""

from dataclasses import dataclass
import math

import numpy as np

# Draws of the posterior by which the spread of torques is worked out.
_DRAWS = 48
# The damper of the joint's own spring, as a part of its stiffness [s].
_SPRING_TIME = 0.05
# Speed beyond which friction is compensated as it acts, and below which in part: the sign of the
# speed of a joint at rest is that of its noise [rad/s or m/s].
_MOVING = 0.05


@dataclass(frozen=True)
class Target:
    """A wanted motion of the joints that take commands: positions, velocities, accelerations."""

    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray


@dataclass(frozen=True)
class Commands:
    """
    What a controller asks for.

    values [C]: commands, within their limits; sd [C]: of the same, by what the posterior leaves
    open; is_limited [C]: which would be larger without the limits.
    """

    values: np.ndarray
    sd: np.ndarray
    is_limited: np.ndarray


class ComputedTorque:
    """
    The law, with parameters that are learned while it runs.

    A new posterior acts little by little, so that no torque jumps.
    """

    def __init__(self, dynamics, stiffness=100.0, damping=20.0, blend=0.3, full_error=0.5):
        """
        Begin with the robot description.

        dynamics: `InverseDynamics`; stiffness [1/s^2], damping [1/s]: of errors of position and
        velocity; blend: time constant with which new parameters act [s]; full_error: error of
        position at which the spring asks for the largest effort of its joint [rad or m], 0: there
        is no spring.
        """
        self.dynamics, self._gains, self._blend = dynamics, (stiffness, damping), blend
        self._wanted = self._values = dynamics.nominal
        self._draws, self._sd = None, np.zeros(len(dynamics.joints))
        limits = [_limits_of(dynamics.model, name) for name in dynamics.joints]
        self._largest = np.array([each.effort or math.inf for each in limits])
        known = np.where(np.isfinite(self._largest), self._largest, 0.0)
        self._spring = known / full_error if full_error > 0 else np.zeros(len(known))

    @property
    def values(self):
        """The parameters [P] that act now, in the order of `dynamics.names`."""
        return self._values

    def learn(self, mean, draws=None):
        """
        Take a posterior: mean [P] and draws [P, N] of `dynamics.names`.

        Return whether it was taken: one with numbers that are not finite is not.
        """
        mean = np.asarray(mean, dtype=float)
        if not np.isfinite(mean).all() or (draws is not None and not np.isfinite(draws).all()):
            return False
        self._wanted = mean
        self._draws = None if draws is None else np.asarray(draws, dtype=float)[:, :_DRAWS]
        return True

    def learn_from(self, mixture, mapping, has_spread=True):
        """
        Take a posterior as it is computed or published; return as `learn`.

        mixture: a `Mixture` of coordinates; mapping: the `CoordinateMap` to the parameters of
        which `dynamics` was made; has_spread: whether draws are made, for the spread of commands.
        """
        mean, _ = mixture.moments()
        columns = [mean[:, None]]
        if has_spread:
            columns.append(mixture.draw(_DRAWS, np.random.default_rng(0)))
        values, *draws = (mapping.to_named(each)[self.dynamics.rows] for each in columns)
        return self.learn(values[:, 0], *draws)

    def commands(self, q, v, target=None, elapsed=0.0, with_sd=True):
        """
        Return `Commands` for a state.

        q [nq], v [nv]: measured; target: a `Target`, None: the robot's weight is held, and that
        is all; elapsed: since the last call [s]; with_sd: whether the spread is worked out anew.
        """
        share = 1.0 if self._blend <= 0 else -math.expm1(-elapsed / self._blend)
        self._values = self._values + share * (self._wanted - self._values)
        v = np.asarray(v, dtype=float)
        acceleration, spring = np.zeros(len(v)), 0.0
        # Friction at rest would be that of the noise of the speed.
        steady = v * np.minimum(1.0, np.abs(v) / _MOVING)
        if target is None:
            steady = np.zeros(len(v))
        else:
            stiffness, damping = self._gains
            of = self.dynamics.of_commands
            places = of(np.arange(len(v)))
            away, slower = (
                target.positions - self.dynamics.positions_of_commands(q),
                target.velocities - of(v),
            )
            acceleration[places] = target.accelerations + damping * slower + stiffness * away
            spring = self._spring * (away + _SPRING_TIME * slower)
            steady[places] = np.where(np.abs(target.velocities) > 0, target.velocities, of(steady))
        values = self.dynamics.commands(q, steady, acceleration, self._values)[:, 0] + spring
        if with_sd and self._draws is not None:
            several = self.dynamics.commands(q, steady, acceleration, self._draws)
            self._sd = several.std(1)
        limited = np.clip(values, -self._largest, self._largest)
        return Commands(limited, self._sd, limited != values)


def _limits_of(model, name):
    """Return the `Limits` of a joint."""
    return next(m.joint.limits for m in model.moving_joints if m.joint.name == name)
