"""The commands that a motion takes, for parameters that are known only now."""

from threading import Lock

import casadi
import numpy as np

from ..dynamics.system import System
from ..errors import ConfigError
from ..model.parameters import Parameters


class InverseDynamics:
    """
    Inverse dynamics of a model, compiled once for parameters that are inputs.

    It is the equation of motion that the estimator assumes, friction, gains and offsets included,
    solved for the commands: what an effort source or a motor has to be told.

    joints: names of those that take commands, in the order of the model's commands; names: of the
    parameters [P] that vary; ignored: names it was given that do not act on torques, such as
    delays and noises.
    """

    def __init__(self, model, names, more=()):
        """
        Compile it.

        model: a `Model` all of whose commands are efforts or voltages; names: of parameters of a
        posterior; more: `Parameter`s beside the model's, such as those of sensors.
        """
        parameters = Parameters(model, more)
        acting = [name for name in names if not _is_of_signals(name)]
        unknown = [name for name in acting if name not in parameters]
        if unknown:
            raise ConfigError(
                f'{model.source}: the posterior has {unknown[0]}, which this robot has not; give '
                'the controller the config of the estimator that it listens to'
            )
        for moving in model.moving_joints:
            _require_effort(moving)
        for network in model.networks:
            _require_known_inputs(network)
        self.model, self.joints = model, tuple(model.command_joints)
        self.names, self.ignored = tuple(acting), tuple(n for n in names if n not in acting)
        self.rows = np.array([names.index(name) for name in acting], dtype=int)
        self._nominal = np.array(parameters.nominal(acting))
        self._function = _compiled(System(parameters, self.names))
        moving = {m.joint.name: m for m in model.moving_joints}
        self._positions = [moving[name].positions.start for name in self.joints]
        self._velocities = _velocities(model)
        self._lock = Lock()

    @property
    def nominal(self):
        """Values [P] of the robot description."""
        return self._nominal.copy()

    def commands(self, q, v, acceleration, values):
        """
        Return the commands [C, N] for N sets of values.

        q [nq], v [nv], acceleration [nv]: the motion; values [P] or [P, N], in the order of
        `names`.
        """
        values = np.asarray(values, dtype=float)
        values = values[:, None] if values.ndim == 1 else values
        found = np.empty((len(self.joints), values.shape[1]))
        with self._lock:
            for k, column in enumerate(values.T):
                found[:, k] = np.asarray(self._function(q, v, acceleration, column)).ravel()
        return found

    def positions_of_commands(self, positions):
        """Return those of positions [nq] that belong to the joints that take commands [C]."""
        return np.asarray(positions)[self._positions]

    def of_commands(self, velocities):
        """Return those of the entries [nv] that belong to the joints that take commands [C]."""
        return np.asarray(velocities)[self._velocities]


def _require_effort(moving):
    """Refuse a joint whose motion is given, or that has several degrees of freedom."""
    joint = moving.joint
    if joint.actuator.prescribes_motion:
        raise ConfigError(
            f'joints.{joint.name}: its motion is given, so it has no effort to control; a '
            'controller needs effort: measured or commanded'
        )
    if joint.actuator.takes_command and joint.kind.velocity_size > 1:
        raise ConfigError(
            f'joints.{joint.name}: has {joint.kind.velocity_size} degrees of freedom; a '
            'controller moves joints of one'
        )


def _require_known_inputs(network):
    """Refuse a network that depends on the command that is to be found."""
    if any(name.endswith('.command') for name in network.inputs):
        raise ConfigError(
            f'neural.{network.name}.inputs: a command is what the controller has to find; train '
            'the network with velocities and loads instead'
        )


def _is_of_signals(name):
    """Tell whether a parameter is a property of messages, not of the robot."""
    return name.rpartition('.')[2] in ('delay', 'noise', 'rate')


def _velocities(model):
    """Return the index in v of every command."""
    places = {m.joint.name: m.velocities.start for m in model.moving_joints if m.is_independent}
    return np.array([places[name] for name in model.command_joints], dtype=int)


def _compiled(system):
    """Return the CasADi function (q, v, a, values) -> commands [C]."""
    model = system.model
    q, v, a = (
        casadi.SX.sym(name, size)
        for name, size in (
            ('q', model.position_size),
            ('v', model.velocity_size),
            ('a', model.velocity_size),
        )
    )
    values = casadi.SX.sym('values', len(system.estimated))
    robot = system.robot(dict(zip(system.estimated, casadi.vertsplit(values))))
    motion = [casadi.vertsplit(each) for each in (q, v, a)]
    count, rows = len(model.commands), _velocities(model).tolist()

    def missing(commands):
        """Return the efforts [C] that are missing with commands."""
        left = system.residual(robot, *motion, commands)
        return casadi.vertcat(*(left[row] for row in rows))

    # An actuator's effort is a straight line over its command.
    without, with_one = missing([0.0] * count), missing([1.0] * count)
    return casadi.Function('commands', [q, v, a, values], [without / (without - with_one)])
