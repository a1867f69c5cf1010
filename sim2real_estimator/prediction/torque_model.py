"""The torques of a robot as linear functions of its standard parameters, compiled once."""

from dataclasses import dataclass
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
from ..estimation.protocol import ModelChange
from ..estimation.torque.coupling import Pair
from ..model.friction import COUPLED, COUPLED_FRICTIONS
from ..model.robot import realize
from ..spatial.vector import Vec3

# A joint that turns or slides more slowly than this many times the speed over which friction
# changes its sign may stick, and its torque is whatever holds it.
_SLOWEST = 1.0
# Samples that are closer than this count as one, so that what is above 250 Hz costs no more: no
# arm moves noticeably in between, and encoders that are read one after the other are one sample.
_TOGETHER_NS = 3_600_000
# What cannot be negative, and what wears, warms up and is never the same again.
_LOSSES = ('damping', 'friction', 'load_friction', *COUPLED_FRICTIONS)
_FRICTION = (*_LOSSES, 'stribeck')
_POSITIVE = ('damping', 'friction', *COUPLED)
# What the torque of no other joint depends on, but for rotors: where a torque is not explained
# they stand in for bodies that are wrong.
_OWN = ('damping', 'friction', 'load_friction', 'stribeck', 'torque_offset')
# Standard deviations of a body that may be taken up: mass [kg], but no more than this part of the
# robot; first moment [m] and inertia [m^2] of every kilogram.
_HELD, _HELD_PART = (2.0, 0.15, 0.02), 0.15
# What may change inside a joint, by standard deviations: as parts of its limit, and of its gain.
# A gain changes once where a thousand bodies are taken up, and looks much like one at first.
_INSIDE = {
    'friction': {'damping': 0.05, 'friction': 0.05},
    'torque offset': {'torque_offset': 0.02},
}
_GAIN, _GAIN_ODDS = 0.3, 1e-3


# Standard deviations of the motor that two joints share: of its inertia [kg m^2 or kg], and of its
# viscous and Coulomb friction as parts of the limit.
COUPLED_DEVIATIONS = (0.2, 0.1, 0.1)


@dataclass(frozen=True)
class Reading:
    """
    What a frame tells of motion and torques.

    positions: of (stamp_ns, [n] by velocity), NaN where a joint has none; torques: of (stamp_ns,
    [J + W]), the numbers of known wrenches after the torques, NaN where unknown.
    """

    positions: tuple
    torques: tuple


class TorqueModel:
    """
    What torques of some joints tell of the coordinates of a parametrization.

    joints: names of the J joints with a row; pairs: a `Pair` for any two that hang on one another
    and are not coupled; velocities [J]: their places among the robot's; positive: numbers of
    coordinates that cannot be negative; own: for each joint those of friction and offset, on which
    no other torque depends; guessed: numbers of those that robot descriptions hardly tell, which
    are these and rotors; is_friction [P]: of standard parameters; limits [J]: largest efforts;
    slowest [J]: speeds below which joints may stick; names: of the P standard parameters;
    geometry_places: numbers of the coordinates of lengths, origins and offsets on which columns
    hang; encoder_sd [n]: of every position, as the sensors say; wrench_size: W, six for each known
    wrench. Coordinates [p] are those of the parametrization that it was made with.
    """

    def __init__(
        self, parameters, parametrization, sensors, commands, limits, geometry=(), wrenches=()
    ):
        """
        Trace the dynamics.

        parameters: the model's `Parameters`; parametrization: of what is estimated; sensors: those
        that measure all joints, by their names; commands: joint -> place of its effort among the
        commands, None where nothing drives it; limits: joint -> largest effort [N m or N];
        geometry: names of lengths, origins and offsets that something else tells; wrenches: a
        `LinkWrench` for each that is known, after the commands. All joints are of one degree of
        freedom. Other lengths and offsets are as the prior has them.
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
        speeds = [robot.bodies[moving[j].index].physics['friction_velocity'] for j in self.joints]
        self.slowest = _SLOWEST * np.array(speeds)
        self.names = tuple(regressor_names(robot))
        entries = [name.rpartition('.')[2] for name in self.names]
        self.is_friction = np.array([entry in _FRICTION for entry in entries])
        self._bodies = len(STANDARD_NAMES) * len(robot.bodies)
        self._sizes = len(self.joints), len(self.names)
        self.geometry_places = [parametrization.names.index(name) for name in geometry]
        symbols = casadi.SX.sym('geometry', len(geometry))
        # Where it is fixed, which is simpler, the functions have no such argument.
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
        self._pushes = _traced_pushes(model, robot, self.velocities, wrenches)
        self._standard = _traced_parameters(parameters, parametrization, known)
        entries = [name.rpartition('.')[2] for name in parametrization.labels]
        self.positive = np.array(
            [k for k, entry in enumerate(entries) if entry in _POSITIVE], dtype=int
        )
        self.own = [
            [k for k, label in enumerate(parametrization.labels) if label in own]
            for own in ({f'{joint}.{word}' for word in _OWN} for joint in self.joints)
        ]
        self.guessed = [k for k, entry in enumerate(entries) if entry in (*_OWN, 'armature')]
        self._losses = np.array(
            [k for k, entry in enumerate(entries) if entry in _LOSSES], dtype=int
        )
        pairs = [(f'{j}.stribeck', f'{j}.friction') for j in self.joints]
        self._stribecks = [
            [parametrization.names.index(name) for name in pair]
            for pair in pairs
            if set(pair) <= set(parametrization.names)
        ]
        gains = ((row, f'{name}.gain') for row, name in enumerate(self.joints))
        self._gains = [
            (row, parametrization.names.index(g)) for row, g in gains if g in parametrization.names
        ]
        self._jumps = self._possible_jumps(parametrization, model, known)
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
        """Return how large what is friction is [p] at coordinates [p], zero of all else."""
        sizes = np.zeros(len(coordinates))
        sizes[self._losses] = np.abs(coordinates[self._losses])
        for stribeck, coulomb in self._stribecks:
            sizes[stribeck] = np.hypot(coordinates[stribeck], coordinates[coulomb])
        return sizes

    @property
    def encoders(self):
        """Sensor -> places of what it measures among the robot's velocities."""
        return self._sensors

    def jumps(self):
        """Return a `ModelChange` for each way the robot may change, the last link first."""
        return self._jumps

    def _possible_jumps(self, parametrization, model, known):
        """Return the `ModelChange`s of payloads on links and of parameters of joints."""
        size, found = len(parametrization.labels), []
        inner = parametrization.inner
        total = sum(value for name, value in known.items() if name.endswith('.mass')) or 1.0
        mass = min(_HELD[0], _HELD_PART * total)
        deviations = np.array([mass, *[_HELD[1] * mass] * 3, *[_HELD[2] * mass] * 6])
        places = dict(zip(getattr(inner, 'links', {}), inner.rows))
        depths = {link.name: model.attachments[link.name].body for link in model.links}
        for link in sorted(places, key=lambda name: -depths[name]):
            root = np.zeros((size, len(deviations)))
            root[places[link], range(len(deviations))] = deviations
            names = tuple(inner.links[link])
            found.append(ModelChange(f'mass on {link}', names, root, np.diag(deviations), link))
        for joint, limit in zip(self.joints, self.limits):
            for title, words in _INSIDE.items():
                names = [
                    f'{joint}.{word}'
                    for word in words
                    if f'{joint}.{word}' in parametrization.names
                ]
                if names:
                    root = np.zeros((size, len(names)))
                    for k, name in enumerate(names):
                        root[parametrization.names.index(name), k] = (
                            words[name.rpartition('.')[2]] * limit
                        )
                    found.append(ModelChange(f'{title} of {joint}', tuple(names), root))
        for row, place in self._gains:
            root = np.zeros((size, 1))
            root[place] = _GAIN
            title, names = f'gain of {self.joints[row]}', (parametrization.names[place],)
            found.append(ModelChange(title, names, root, log_odds=float(np.log(_GAIN_ODDS))))
        return tuple(found)

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
        """Return the entries that bring torques: where only a wrench is new these are old."""
        count = self._wrench_places.start
        commands = [values[:count].tobytes() for _, values in entries]
        return [e for k, e in enumerate(entries) if not k or commands[k] != commands[k - 1]]

    def _positions(self, group):
        """Return (stamp_ns, positions [n]), the means of samples that lie close together."""
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
        """Return (stamp_ns, torques [J + W]), the means of efforts that lie close together."""
        if len(group) == 1:
            stamp_ns, efforts = group[0]
        else:
            stamp_ns = sum(stamp for stamp, _ in group) // len(group)
            efforts = sum(values for _, values in group) / len(group)
        torques = [0.0 if place is None else efforts[place] for place in self._commands]
        return stamp_ns, np.array([*torques, *efforts[self._wrench_places]])

    def pushes(self, positions, wrenches):
        """Return the efforts [N, J] by which wrenches [N, W] act on joints, at [N, nq]."""
        return self._pushes((positions, wrenches))[0][..., 0]

    def geometry(self, coordinates):
        """Return the lengths, origins and offsets [g] at coordinates [p] that columns hang on."""
        return self._parametrization.to_named(coordinates[:, None])[self.geometry_places, 0]

    def columns(self, positions, velocities, accelerations, standard, geometry=None):
        """
        Return the regressor [N, J, P] at states of the robot [N, nq], [N, nv], [N, nv].

        standard [P]: by which the load is known that friction in gears grows with; geometry [g]:
        None: as the prior has it.
        """
        free = ()
        if self.geometry_places:
            free = (self._nominal if geometry is None else geometry,)
        states = positions, velocities, accelerations
        return self._columns(states, standard[: self._bodies], *free)[0]

    def by_geometry(self, positions, velocities, accelerations, standard, geometry):
        """Return how torques [N, J] change with geometry, [N, J, g]; otherwise as `columns`."""
        states = positions, velocities, accelerations
        return self._by_geometry(states, standard[: self._bodies], geometry, standard)[0]

    def inertias(self, positions, standard):
        """Return torques by accelerations [K, J, n] at positions [K, nq], of parameters [P]."""
        return self._inertias((positions,), standard)[0]

    def weights(self, positions):
        """
        Return what gravity along each axis of the world contributes to columns [3, N, J, P].

        positions [N, nq]. The last one is part of `columns`, but for friction that loads cause.
        """
        found = np.zeros((3, len(positions), *self._sizes))
        for each, evaluated in zip(found, self._weights((positions,))):
            each[..., : self._bodies] = evaluated
        return found

    def standard(self, coordinates):
        """
        Return the standard parameters [P] at coordinates [p], and their slope [P, p].

        Geometry counts as known here, as it does in columns.
        """
        standard, slope = self._expanded(coordinates)
        slope[:, self.geometry_places] = 0.0
        return standard, slope

    def standard_by_geometry(self, coordinates):
        """Return how standard parameters change with geometry, [P, g]."""
        return self._expanded(coordinates)[1][:, self.geometry_places]

    def _expanded(self, coordinates):
        values, slope = self._parametrization.expanded(coordinates[:, None])
        standard, by_values = self._standard((values.T,))
        return standard[0, :, 0], by_values[0] @ slope[0]

    def scales(self, coordinates):
        """Return measured torques over true ones [J] at coordinates, and their slope [J, p]."""
        scales, slope = np.ones(self._sizes[0]), np.zeros((self._sizes[0], len(coordinates)))
        if self._gains:
            values, slopes = self._parametrization.expanded(coordinates[:, None])
            for row, place in self._gains:
                scales[row] = 1 / values[place, 0]
                slope[row] = -(scales[row] ** 2) * slopes[0, place]
        return scales, slope


def _close_together(entries):
    """Return (stamp_ns, ...) entries in the order of time as lists of those close together."""
    groups = []
    for entry in entries:
        if groups and entry[0] - groups[-1][0][0] < _TOGETHER_NS:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups


class _Evaluator:
    """
    Matrices that are functions of numbers, at many states one after the other.

    CasADi's own way, through a matrix of its kind for all states, takes three times as long.
    """

    def __init__(self, name, inputs, outputs):
        """Take symbols [k] and matrices of symbols."""
        self._shapes = [output.shape for output in outputs]
        # As rows of numbers in the order of NumPy.
        outputs = casadi.cse([casadi.densify(output.T) for output in outputs])
        self._buffer, self._evaluate = casadi.Function(name, inputs, outputs).buffer()
        self._inputs = [np.zeros(symbols.numel()) for symbols in inputs]
        self._outputs = [np.zeros(output.numel()) for output in outputs]
        for place, values in enumerate(self._inputs):
            self._buffer.set_arg(place, memoryview(values))
        for place, values in enumerate(self._outputs):
            self._buffer.set_res(place, memoryview(values))
        # Draws are made beside the estimator, in another thread.
        self._lock = Lock()

    def __call__(self, states, *fixed):
        """
        Return the matrices [N, ., .] at states, arrays [N, k] of the first inputs.

        fixed: the other inputs [k], which are the same for all.
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
    """Return (symbols of states, those of the numbers of bodies, the regressor [J, P] there)."""
    size = model.velocity_size
    sizes = {'q': model.position_size, 'v': size, 'a': size}
    state = [casadi.SX.sym(name, length) for name, length in sizes.items()]
    body = casadi.SX.sym('body', len(STANDARD_NAMES) * len(robot.bodies))
    positions, *motion = map(casadi.vertsplit, state)
    rest = [0.0] * size
    columns = regressor(robot, positions, rest, rest, rest)
    # What gravity does to a joint, by which friction in gears grows.
    load = casadi.horzcat(*map(_stacked, columns[: body.numel()])) @ body
    columns = regressor(robot, positions, *motion, casadi.vertsplit(load))
    return state, body, casadi.horzcat(*(_stacked(column)[rows.tolist()] for column in columns))


def _stacked(column):
    return casadi.vertcat(*column)


def _traced_inertias(model, robot, rows, count):
    """Return the `_Evaluator` of inertias [J, n] at positions [nq], of P parameters."""
    q, a = casadi.SX.sym('q', model.position_size), casadi.SX.sym('a', model.velocity_size)
    rest, standard = [0.0] * model.velocity_size, casadi.SX.sym('standard', count)
    columns = regressor(robot, casadi.vertsplit(q), rest, casadi.vertsplit(a), rest)
    torques = casadi.horzcat(*map(_stacked, columns)) @ standard
    return _Evaluator('inertias', [q, standard], [casadi.jacobian(torques[rows.tolist()], a)])


def _traced_weights(model, robot, rows):
    """Return the `_Evaluator` of the columns of bodies [J, 10 B] under gravity along x, y, z."""
    q = casadi.SX.sym('q', model.position_size)
    positions, size, found = casadi.vertsplit(q), robot.gravity, []
    for upward in (Vec3(size, 0.0, 0.0), Vec3(0.0, size, 0.0), Vec3(0.0, 0.0, size)):
        columns = gravity_regressor(robot, positions, upward)
        found.append(casadi.horzcat(*(_stacked(column)[rows.tolist()] for column in columns)))
    return _Evaluator('weights', [q], found)


def _traced_pushes(model, robot, rows, wrenches):
    """Return the `_Evaluator` of efforts [J, 1] at positions by wrenches, None without any."""
    if not wrenches:
        return None
    q = casadi.SX.sym('q', model.position_size)
    numbers = casadi.SX.sym('wrenches', WRENCH_SIZE * len(wrenches))
    given = casadi.vertsplit(q), model.velocity_size, wrenches, casadi.vertsplit(numbers)
    efforts = _stacked(wrench_efforts(robot, *given))
    return _Evaluator('pushes', [q, numbers], [efforts[rows.tolist()]])


def _traced_parameters(parameters, parametrization, known):
    """Return the `_Evaluator` of standard parameters and their slope at named values."""
    values = casadi.SX.sym('values', len(parametrization.names))
    named = dict(zip(parametrization.names, casadi.vertsplit(values)))
    named = {name: value for name, value in named.items() if name in known}
    standard = casadi.vertcat(*regressor_parameters(realize(parameters, {**known, **named})))
    return _Evaluator('standard', [values], [standard, casadi.jacobian(standard, values)])
