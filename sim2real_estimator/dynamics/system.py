"""A model, its parameters and its integrator as one differentiable system."""

from dataclasses import dataclass
from functools import cached_property

from ..errors import ConfigError
from ..model.parameters import Parameters
from ..model.robot import realize
from ..spatial.motion import Force
from ..spatial.scalar import is_constant, is_zero
from .aba import solved_dynamics
from .contact import contact_wrenches, CUTS, next_cut
from .integrators import INTEGRATORS
from .joint_forces import all_efforts
from .kinematics import kinematics
from .rnea import inverse_dynamics
from .wrenches import body_wrenches, WRENCH_SIZE


@dataclass(frozen=True)
class System:
    """
    The equations of motion that every backend runs.

    estimated: names of the parameters that vary from sample to sample; wrenches: a `LinkWrench`
    for each that acts from outside; observation: function (robot, q, v) -> list of scalars, or
    None. Controls are the model's commands, then (moment, force) of each wrench, then, where
    `is_disturbed`, an effort of unknown origin on every velocity.
    """

    parameters: Parameters
    estimated: tuple
    integrator: str = 'rk4'
    wrenches: tuple = ()
    observation: object = None
    is_disturbed: bool = False

    def __post_init__(self):
        """Check the names."""
        self.parameters.checked(self.estimated)
        for name in self.estimated:
            if name.endswith('.delay'):
                raise ConfigError(
                    f"'{name}' acts on the commands before they reach the "
                    'simulator; give it to `Simulator`, which delays them'
                )
        if self.integrator not in INTEGRATORS:
            raise ConfigError(
                f"there is no integrator '{self.integrator}'; "
                f'choose one of {", ".join(INTEGRATORS)}'
            )
        for wrench in self.wrenches:
            self.model.link(wrench.link)

    @property
    def model(self):
        """The `Model`."""
        return self.parameters.model

    @property
    def control_size(self):
        """Number of controls of one step."""
        disturbances = self.model.velocity_size if self.is_disturbed else 0
        return len(self.model.commands) + WRENCH_SIZE * len(self.wrenches) + disturbances

    @cached_property
    def output_size(self):
        """Number of scalars the observation returns."""
        if self.observation is None:
            return 0
        robot, model = self.robot({}), self.model
        return len(self.observation(robot, model.neutral_positions(), [0.0] * model.velocity_size))

    def fixed_names(self, values):
        """
        Return the names, other than the estimated ones, whose value matters to a step.

        values: name to float. Zeros are structure and left out, and so are lengths at their
        nominal value and what acts outside the equations of motion.
        """
        names = []
        for name, value in values.items():
            if name in self.estimated or name.endswith('.delay') or is_zero(value):
                continue
            if name.endswith('.length') and value == self.parameters[name].nominal:
                continue
            names.append(name)
        return tuple(names)

    def robot(self, values):
        """Return the `Robot` for name -> scalar; what is missing is structurally nominal."""
        return realize(self.parameters, values)

    def acceleration(self, robot, q, v, controls):
        """Return the accelerations and the system that solves with the mass matrix."""
        commands, wrenches, disturbances = self._split(robot, q, v, controls)
        return solved_dynamics(robot, q, v, commands, wrenches, disturbances)

    def residual(self, robot, q, v, acceleration, controls):
        """
        Return the efforts left over: zero where `acceleration` solves the dynamics.

        Of a prescribed joint: what its acceleration is more than prescribed. The others are asked
        about the prescribed one: the derivative by `acceleration` is that of a symmetric matrix,
        the one that the system of `acceleration` solves with.
        """
        commands, wrenches, disturbances = self._split(robot, q, v, controls)
        given = all_efforts(robot, q, v, commands)
        given = given if disturbances is None else [g + d for g, d in zip(given, disturbances)]
        prescribed = robot.prescribed_velocities
        moves = [g if k in prescribed else a for k, (a, g) in enumerate(zip(acceleration, given))]
        needed = inverse_dynamics(robot, q, v, moves, wrenches)
        needed = [
            a if k in prescribed else n for k, (a, n) in enumerate(zip(acceleration, needed))
        ]
        return [n - g for n, g in zip(needed, given)]

    @property
    def cuts(self):
        """At how many places a step can be cut: where links touch, if any can."""
        return CUTS if self.model.contacts else 0

    def step(self, robot, q, v, controls, duration):
        """
        Return (q, v) after one step of `duration` [s] with constant controls.

        Where links can touch, it is cut where they begin or cease to. For floats and tensors:
        traced programs are made of `next_cut` and `integrate`.
        """

        def acceleration(q_at, v_at):
            return self.acceleration(robot, q_at, v_at, controls)[0]

        for number in range(self.cuts):
            if number and _is_over(duration):
                return q, v
            piece = next_cut(robot, q, v, acceleration(q, v), duration)
            q, v = self.integrate(robot, q, v, piece, acceleration)
            duration = duration - piece
        return self.integrate(robot, q, v, duration, acceleration)

    def integrate(self, robot, q, v, duration, acceleration):
        """Return (q, v) after `duration` [s]; acceleration: function of (q, v)."""
        return INTEGRATORS[self.integrator].step(robot, q, v, duration, acceleration)

    def _split(self, robot, q, v, controls):
        """Return commands, wrenches as body index to Force about its origin, disturbances."""
        count, size = len(self.model.commands), self.model.velocity_size
        commands, wrenches = list(controls[:count]), {}
        if self.wrenches or robot.contacts:
            states = kinematics(robot, q, v)
            wrenches = body_wrenches(robot, states, self.wrenches, controls[count:])
            for body, wrench in contact_wrenches(robot, states).items():
                wrenches[body] = wrenches.get(body, Force.zero()) + wrench
        return commands, wrenches, list(controls[-size:]) if self.is_disturbed else None


def _is_over(duration):
    """Tell whether a duration, a float or a tensor, is zero for every sample."""
    is_zero_now = duration == 0
    return is_zero_now if is_constant(duration) else bool(is_zero_now.all())
