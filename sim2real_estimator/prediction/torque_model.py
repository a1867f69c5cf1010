"""
The torques of a robot as linear functions of its standard parameters, traced once by CasADi.

`TorqueModel` has the rows of the regressor (inverse dynamics; `dynamics.regressor`), the standard
parameters as functions of the estimator's coordinates, and the ways in which the robot may change.
"""

from dataclasses import dataclass, replace
from threading import Lock

import casadi
import numpy as np

from ..dynamics.regressor import (
    gravity_regressor,
    regressor,
    regressor_names,
    regressor_parameters,
    STANDARD_NAMES,
)
from ..dynamics.wrenches import wrench_efforts, WRENCH_SIZE
from ..estimation.torque.coupling import Pair
from ..model.friction import COUPLED, COUPLED_FRICTIONS, FRICTIONS
from ..model.robot import realize
from ..spatial.vector import Vec3
from .model_changes import changes_of_torques

# Below this multiple of the speed over which friction changes sign, a joint may stick: its torque
# is then any that holds it.
_SLOWEST = 1.0
# Samples closer than this [ns] are averaged, so that rates above 250 Hz cost no more: no arm moves
# noticeably in between, and encoders that are read one after the other become one sample.
_TOGETHER_NS = 3_600_000
# Prior standard deviations of a motor that two joints share: inertia [kg m^2 or kg], viscous and
# Coulomb friction relative to the limit.
COUPLED_DEVIATIONS = (0.2, 0.1, 0.1)


@dataclass(frozen=True)
class Reading:
    """
    The measurements of a frame.

    positions: of (stamp_ns, [n] by velocity), NaN where a joint has none; torques: of (stamp_ns,
    [J + W]), measured wrenches after the torques, NaN where unknown.
    """

    positions: tuple
    torques: tuple


class TorqueModel:
    """
    The regression of the torques of some joints on the coordinates of a parametrization.

    joints: names of the J joints with a row; pairs: a `Pair` for any two of which one carries the
    other and that are not coupled; velocities [J]: their places among the robot's velocities;
    positive: indices of coordinates that cannot be negative; own: for each joint the indices of
    those of friction and offset, on which no other torque depends; guessed: indices of coordinates
    that robot descriptions seldom have, friction, offsets and rotors; is_friction [P]: of standard
    parameters; limits [J]: largest efforts; slowest [J]: speeds below which joints may stick;
    names: of the P standard parameters; geometry_places: indices of the lengths, origins and
    offsets that the regressor depends on; encoder_sd [n]: standard deviation of every position;
    wrench_size: W, six for each measured wrench. Coordinates [p] are those of the parametrization.
    """

    def __init__(
        self,
        parameters,
        parametrization,
        sensors,
        commands,
        limits,
        geometry=(),
        wrenches=(),
        holder='',
    ):
        """
        Trace the dynamics.

        parameters: the model's `Parameters`; parametrization: of the estimated ones; sensors: the
        encoders, which measure all joints; commands: joint -> place of its effort among the
        commands, None for passive joints; limits: joint -> largest effort [N m or N]; geometry:
        names of lengths, origins and offsets that are estimated from other data; wrenches: the
        measured `LinkWrench`es, whose numbers follow the commands; holder: link that holds
        payloads, empty where none is named. All joints have one degree of freedom. Other lengths
        and offsets are those of the prior mean.
        """
        model, self._parametrization = parameters.model, parametrization
        moving = {moving.joint.name: moving for moving in model.moving_joints}
        self.joints, self._commands = tuple(commands), tuple(commands.values())
        self.velocities = np.array([moving[name].velocities.start for name in self.joints])
        self.limits = np.array([limits[name] for name in self.joints])
        values = dict(
            zip(
                parametrization.names,
                parametrization.to_named(parametrization.prior.mean[:, None])[:, 0].tolist(),
            )
        )
        known = {
            name: value
            for name, value in {**parametrization.fixed, **values}.items()
            if name in parameters and not name.endswith('.delay')
        }
        robot = realize(parameters, known)
        self._nominal_robot = model, robot
        speeds = [robot.bodies[moving[j].index].physics['friction_velocity'] for j in self.joints]
        self.slowest = _SLOWEST * np.array(speeds)
        self.names = tuple(regressor_names(robot))
        entries = [name.rpartition('.')[2] for name in self.names]
        dissipative = [name for name, term in FRICTIONS.items() if term.is_dissipative]
        friction = (*dissipative, *COUPLED_FRICTIONS)
        self.is_friction = np.array([entry in friction for entry in entries])
        self._bodies = len(STANDARD_NAMES) * len(robot.bodies)
        self._sizes = len(self.joints), len(self.names)
        self.geometry_places = [parametrization.names.index(name) for name in geometry]
        symbols = casadi.SX.sym('geometry', len(geometry))
        # Without free geometry the functions have no such argument.
        free = (symbols,) if geometry else ()
        placed = robot
        if geometry:
            placed = realize(
                parameters, {**known, **dict(zip(geometry, casadi.vertsplit(symbols)))}
            )
        state, body, stacked = _regressor(model, placed, self.velocities)
        self._columns = _Evaluator('columns', [*state, body, *free], [stacked])
        self._inertias = _traced_inertias(model, robot, self.velocities, len(self.names))
        self._weights = _traced_weights(model, robot, self.velocities)
        self._nominal = self.geometry(parametrization.prior.mean)
        self._by_geometry = None
        if geometry:
            standard = casadi.SX.sym('standard', len(self.names))
            slope = casadi.jacobian(stacked @ standard, symbols)
            inputs = [*state, body, symbols, standard]
            self._by_geometry = _Evaluator('by_geometry', inputs, [slope])
        self.wrench_size = WRENCH_SIZE * len(wrenches)
        self._wrench_places = slice(len(model.commands), len(model.commands) + self.wrench_size)
        self._by_wrenches = _traced_wrenches(model, robot, self.velocities, wrenches)
        self._standard = _traced_parameters(parameters, parametrization, known)
        entries = [name.rpartition('.')[2] for name in parametrization.labels]
        positive = (*(n for n, term in FRICTIONS.items() if term.is_never_negative), *COUPLED)
        self.positive = np.array(
            [k for k, entry in enumerate(entries) if entry in positive], dtype=int
        )
        self.own = [
            [k for k, label in enumerate(parametrization.labels) if label in own]
            for own in ({f'{joint}.{word}' for word in FRICTIONS} for joint in self.joints)
        ]
        self.guessed = [k for k, entry in enumerate(entries) if entry in (*FRICTIONS, 'armature')]
        # A part that may vanish varies as much as the friction that it is a part of.
        parts = [n for n in dissipative if FRICTIONS[n].part_of and not FRICTIONS[n].is_positive]
        self._dissipation = np.array(
            [k for k, entry in enumerate(entries) if entry in friction and entry not in parts],
            dtype=int,
        )
        pairs = [(f'{j}.{n}', f'{j}.{FRICTIONS[n].part_of}') for n in parts for j in self.joints]
        self._parts = [
            [parametrization.names.index(name) for name in pair]
            for pair in pairs
            if set(pair) <= set(parametrization.names)
        ]
        gains = ((row, f'{name}.gain') for row, name in enumerate(self.joints))
        self._gains = [
            (row, parametrization.names.index(g)) for row, g in gains if g in parametrization.names
        ]
        limits = dict(zip(self.joints, self.limits))
        gains = {self.joints[row]: place for row, place in self._gains}
        self._changes = changes_of_torques(parametrization, model, known, limits, gains, holder)
        self._sensors, self.encoder_sd = {}, np.full(model.velocity_size, np.inf)
        for sensor in sensors:
            places = sensor.places[: len(sensor.joints)]
            self._sensors[sensor.name] = places
            self.encoder_sd[places] = sensor.sd[: len(places)]
        self.pairs = tuple(self._possible_pairs(model, robot))

    def _possible_pairs(self, model, robot):
        """Yield a `Pair` for any two joints of which one carries the other."""
        rows = {name: row for row, name in enumerate(self.joints)}
        for body in robot.bodies:
            if body.parent < 0:
                continue
            other = robot.bodies[body.parent]
            pair = body.moving.joint, other.moving.joint
            names = [[f'{j.name}.{word}' for word in ('damping', 'armature')] for j in pair]
            is_of_a_kind = len({j.kind.groups[0].is_rotation for j in pair if j.name in rows}) == 1
            is_there = all(j.name in rows for j in pair) and is_of_a_kind
            is_coupled = any({j.name for j in pair} == set(other) for other in model.couplings)
            if is_coupled or not is_there or not {*names[0], *names[1]} <= set(self.names):
                continue
            row = rows[pair[0].name]
            parts = np.array([1.0, self.limits[row], self.limits[row]])
            yield Pair(
                (row, rows[pair[1].name]),
                [[self.names.index(name) for name in each] for each in names],
                self.slowest[row] / _SLOWEST,
                parts * COUPLED_DEVIATIONS,
            )

    def friction(self, coordinates):
        """Return the sizes [p] of those of coordinates [p] that are friction, others are zero."""
        sizes = np.zeros(len(coordinates))
        sizes[self._dissipation] = np.abs(coordinates[self._dissipation])
        for part, whole in self._parts:
            sizes[part] = np.hypot(coordinates[part], coordinates[whole])
        return sizes

    @property
    def passive(self):
        """Names of the joints that nothing drives: their torque is zero."""
        return tuple(j for j, place in zip(self.joints, self._commands) if place is None)

    @property
    def encoders(self):
        """Name of a sensor -> places of the joints it measures among the robot's velocities."""
        return self._sensors

    def model_changes(self):
        """Return a `ModelChange` for each way the robot may change, the last link first."""
        return self._changes

    def read(self, frame):
        """Return the `Reading` of a frame."""
        encoders = [sample for sample in frame.samples if sample.sensor in self._sensors]
        samples = [(sample.stamp_ns, sample) for sample in encoders]
        efforts = [entry for entry in frame.inputs if frame.start_ns <= entry[0] < frame.end_ns]
        if self.wrench_size:
            efforts = self._of_torques(efforts)
        return Reading(
            tuple(map(self._positions, _close_together(samples))),
            tuple(map(self._torques, _close_together(efforts))),
        )

    def _of_torques(self, entries):
        """Return the entries with new torques, without those in which only a wrench changed."""
        count = self._wrench_places.start
        commands = [values[:count].tobytes() for _, values in entries]
        return [e for k, e in enumerate(entries) if not k or commands[k] != commands[k - 1]]

    def _positions(self, group):
        """Return (stamp_ns, positions [n]), the mean of a group of samples."""
        size = len(self.encoder_sd)
        if len(group) == 1:
            stamp_ns, sample = group[0]
            places, positions = self._sensors[sample.sensor], np.full(size, np.nan)
            positions[places] = sample.values[: len(places)]
            return stamp_ns, positions
        total, count = np.zeros(size), np.zeros(size)
        for _, sample in group:
            places = self._sensors[sample.sensor]
            values = sample.values[: len(places)]
            is_there = values == values
            total[places] += np.where(is_there, values, 0.0)
            count[places] += is_there
        mean = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
        return sum(stamp_ns for stamp_ns, _ in group) // len(group), mean

    def _torques(self, group):
        """Return (stamp_ns, torques [J + W]), the mean of a group of efforts."""
        if len(group) == 1:
            stamp_ns, efforts = group[0]
        else:
            stamp_ns = sum(stamp for stamp, _ in group) // len(group)
            efforts = sum(values for _, values in group) / len(group)
        torques = [0.0 if place is None else efforts[place] for place in self._commands]
        return stamp_ns, np.array([*torques, *efforts[self._wrench_places]])

    def of_wrenches(self, positions, wrenches):
        """Return the joint efforts [N, J] of wrenches [N, W] at positions [N, nq]."""
        return self._by_wrenches((positions, wrenches))[0][..., 0]

    def geometry(self, coordinates):
        """Return the lengths, origins and offsets [g] of the regressor at coordinates [p]."""
        return self._parametrization.to_named(coordinates[:, None])[self.geometry_places, 0]

    def columns(self, positions, velocities, accelerations, standard, geometry=None):
        """
        Return the regressor [N, J, P] at states of the robot [N, nq], [N, nv], [N, nv].

        standard [P]: standard parameters, for the load on which friction of gears depends;
        geometry [g]: None for that of the prior mean.
        """
        free = ()
        if self.geometry_places:
            free = (self._nominal if geometry is None else geometry,)
        states = positions, velocities, accelerations
        return self._columns(states, standard[: self._bodies], *free)[0]

    def symbolic_columns(self, slowest=0.0):
        """
        Return (symbols q [nq], v [nv], a [nv]; symbols of the bodies' parameters; columns [J, P]).

        They are CasADi expressions, for who differentiates them by the motion, with lengths and
        offsets of the prior mean. slowest: friction changes its sign over this speed at least.
        """
        model, robot = self._nominal_robot
        bodies = []
        for body in robot.bodies:
            speed = max(body.physics['friction_velocity'], slowest)
            bodies.append(replace(body, physics={**body.physics, 'friction_velocity': speed}))
        return _regressor(model, replace(robot, bodies=tuple(bodies)), self.velocities)

    def by_geometry(self, positions, velocities, accelerations, standard, geometry):
        """Return the derivatives [N, J, g] of torques by geometry; arguments as of `columns`."""
        states = positions, velocities, accelerations
        return self._by_geometry(states, standard[: self._bodies], geometry, standard)[0]

    def inertias(self, positions, standard):
        """Return rows of the mass matrix [K, J, n] at positions [K, nq], by parameters [P]."""
        return self._inertias((positions,), standard)[0]

    def weights(self, positions):
        """
        Return the regressors [3, N, J, P] of gravity along each axis of the world.

        positions [N, nq]. The last one is part of `columns`, without load-dependent friction.
        """
        found = np.zeros((3, len(positions), *self._sizes))
        for each, evaluated in zip(found, self._weights((positions,))):
            each[..., : self._bodies] = evaluated
        return found

    def standard(self, coordinates):
        """
        Return the standard parameters [P] at coordinates [p], and their derivative [P, p].

        Geometry is held fixed, as in `columns`.
        """
        standard, slope = self._expanded(coordinates)
        slope[:, self.geometry_places] = 0.0
        return standard, slope

    def standard_by_geometry(self, coordinates):
        """Return the derivative [P, g] of the standard parameters by geometry."""
        return self._expanded(coordinates)[1][:, self.geometry_places]

    def _expanded(self, coordinates):
        """Return the standard parameters [P] and their derivative [P, p] by all coordinates."""
        values, slope = self._parametrization.expanded(coordinates[:, None])
        standard, by_values = self._standard((values.T,))
        return standard[0, :, 0], by_values[0] @ slope[0]

    def scales(self, coordinates):
        """Return the ratios [J] of measured to true torques, and their derivative [J, p]."""
        scales, slope = np.ones(self._sizes[0]), np.zeros((self._sizes[0], len(coordinates)))
        if self._gains:
            values, slopes = self._parametrization.expanded(coordinates[:, None])
            for row, place in self._gains:
                scales[row] = 1 / values[place, 0]
                slope[row] = -(scales[row] ** 2) * slopes[0, place]
        return scales, slope


def _close_together(entries):
    """Return the groups, lists of (stamp_ns, ...) entries that are close together in time."""
    groups = []
    for entry in entries:
        if groups and entry[0] - groups[-1][0][0] < _TOGETHER_NS:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups


class _Evaluator:
    """
    A CasADi function with matrices as outputs, evaluated at many states.

    It uses CasADi's buffers: a call with one CasADi matrix of all states takes three times as
    long.
    """

    def __init__(self, name, inputs, outputs):
        """Take inputs, vectors of symbols, and outputs, matrices of expressions."""
        self._shapes = [output.shape for output in outputs]
        # Transposed, since CasADi stores columns.
        outputs = casadi.cse([casadi.densify(output.T) for output in outputs])
        self._buffer, self._evaluate = casadi.Function(name, inputs, outputs).buffer()
        self._inputs = [np.zeros(symbols.numel()) for symbols in inputs]
        self._outputs = [np.zeros(output.numel()) for output in outputs]
        for place, values in enumerate(self._inputs):
            self._buffer.set_arg(place, memoryview(values))
        for place, values in enumerate(self._outputs):
            self._buffer.set_res(place, memoryview(values))
        # Another thread than the estimator's draws samples.
        self._lock = Lock()

    def __call__(self, states, *fixed):
        """
        Return the output matrices [N, ., .] at N states.

        states: arrays [N, k] of the first inputs; fixed: the other inputs [k], the same for all.
        """
        found = [np.empty((len(states[0]), len(values))) for values in self._outputs]
        with self._lock:
            for values, new in zip(self._inputs[len(states) :], fixed):
                values[:] = new
            for k, state in enumerate(zip(*states)):
                for values, new in zip(self._inputs, state):
                    values[:] = new
                self._evaluate()
                for result, values in zip(found, self._outputs):
                    result[k] = values
        return [each.reshape(-1, *shape) for each, shape in zip(found, self._shapes)]


def _regressor(model, robot, rows):
    """Return (symbols q, v, a; symbols of the bodies' parameters; the regressor [J, P])."""
    size = model.velocity_size
    sizes = {'q': model.position_size, 'v': size, 'a': size}
    state = [casadi.SX.sym(name, length) for name, length in sizes.items()]
    body = casadi.SX.sym('body', len(STANDARD_NAMES) * len(robot.bodies))
    positions, *motion = map(casadi.vertsplit, state)
    rest = [0.0] * size
    columns = regressor(robot, positions, rest, rest, rest)
    # Efforts against gravity, on which friction of gears depends.
    load = casadi.horzcat(*map(_stacked, columns[: body.numel()])) @ body
    columns = regressor(robot, positions, *motion, casadi.vertsplit(load))
    return state, body, casadi.horzcat(*(_stacked(column)[rows.tolist()] for column in columns))


def _stacked(column):
    """Return a list of expressions as a vector."""
    return casadi.vertcat(*column)


def _traced_inertias(model, robot, rows, count):
    """Return the `_Evaluator` of rows [J, n] of the mass matrix; inputs q [nq], standard [P]."""
    q, a = casadi.SX.sym('q', model.position_size), casadi.SX.sym('a', model.velocity_size)
    rest, standard = [0.0] * model.velocity_size, casadi.SX.sym('standard', count)
    columns = regressor(robot, casadi.vertsplit(q), rest, casadi.vertsplit(a), rest)
    torques = casadi.horzcat(*map(_stacked, columns)) @ standard
    return _Evaluator('inertias', [q, standard], [casadi.jacobian(torques[rows.tolist()], a)])


def _traced_weights(model, robot, rows):
    """Return the `_Evaluator` of bodies' regressors [J, 10 B] of gravity along x, y and z."""
    q = casadi.SX.sym('q', model.position_size)
    positions, size, found = casadi.vertsplit(q), robot.gravity, []
    for upward in (Vec3(size, 0.0, 0.0), Vec3(0.0, size, 0.0), Vec3(0.0, 0.0, size)):
        columns = gravity_regressor(robot, positions, upward)
        found.append(casadi.horzcat(*(_stacked(column)[rows.tolist()] for column in columns)))
    return _Evaluator('weights', [q], found)


def _traced_wrenches(model, robot, rows, wrenches):
    """Return the `_Evaluator` of joint efforts [J, 1] by wrenches, None if there are none."""
    if not wrenches:
        return None
    q = casadi.SX.sym('q', model.position_size)
    numbers = casadi.SX.sym('wrenches', WRENCH_SIZE * len(wrenches))
    given = casadi.vertsplit(q), model.velocity_size, wrenches, casadi.vertsplit(numbers)
    efforts = _stacked(wrench_efforts(robot, *given))
    return _Evaluator('pushes', [q, numbers], [efforts[rows.tolist()]])


def _traced_parameters(parameters, parametrization, known):
    """Return the `_Evaluator` of standard parameters and their derivative by named values."""
    values = casadi.SX.sym('values', len(parametrization.names))
    named = dict(zip(parametrization.names, casadi.vertsplit(values)))
    named = {name: value for name, value in named.items() if name in known}
    standard = casadi.vertcat(*regressor_parameters(realize(parameters, {**known, **named})))
    return _Evaluator('standard', [values], [standard, casadi.jacobian(standard, values)])
