"""The torques of a robot as linear functions of its standard parameters, compiled once."""

from dataclasses import dataclass

import casadi
import numpy as np

from ..dynamics.regressor import regressor, regressor_names, regressor_parameters, STANDARD_NAMES
from ..inference.protocol import Jump
from ..inference.torque_coupling import Pair
from ..model.friction import COUPLED, COUPLED_FRICTIONS
from ..model.robot import realize

# A joint that turns or slides more slowly than this many times the speed over which friction
# changes its sign may stick, and its torque is whatever holds it.
_SLOWEST = 1.0
# What cannot be negative, and what wears, warms up and is never the same again.
_LOSSES = ('damping', 'friction', 'load_friction', *COUPLED_FRICTIONS)
_FRICTION = (*_LOSSES, 'stribeck')
_POSITIVE = ('damping', 'friction', *COUPLED)
# Standard deviations of a body that may be taken up: mass [kg], but no more than this part of the
# robot; first moment [m] and inertia [m^2] of every kilogram.
_HELD, _HELD_PART = (2.0, 0.15, 0.02), 0.15
# What may change inside a joint, as parts of its limit.
_INSIDE = {
    'friction': {'damping': 0.05, 'friction': 0.05},
    'torque offset': {'torque_offset': 0.02},
}


# Standard deviations of the motor that two joints share: of its inertia [kg m^2 or kg], and of its
# viscous and Coulomb friction as parts of the limit.
COUPLED_DEVIATIONS = (0.2, 0.1, 0.1)


@dataclass(frozen=True)
class Reading:
    """
    What a frame tells of motion and torques.

    positions: (stamp_ns, [n] by velocity) or None; NaN where a joint has none; torques: of
    (stamp_ns, [J]), NaN where unknown.
    """

    positions: tuple | None
    torques: tuple


class TorqueModel:
    """
    What torques of some joints tell of the coordinates of a chart.

    joints: names of the J joints with a row; pairs: a `Pair` for any two that hang on one another
    and are not coupled; velocities [J]: their places among the robot's;
    positive: numbers of coordinates that cannot be negative; is_friction [P]: of standard
    parameters; limits [J]: largest efforts; slowest [J]: speeds below which joints may stick;
    names: of the P standard parameters; geometry_places: numbers of the coordinates of lengths,
    origins and offsets on which columns hang; encoder_sd [n]: of every position, as the sensors
    say. Coordinates [p] are those of the chart that it was made with.
    """

    def __init__(self, parameters, chart, sensors, commands, limits, geometry=()):
        """
        Trace the dynamics.

        parameters: the model's `Parameters`; chart: of what is estimated; sensors: those that
        measure all joints, by their names; commands: joint -> place of its effort among the
        commands, None where nothing drives it; limits: joint -> largest effort [N m or N];
        geometry: names of lengths, origins and offsets that something else tells. All joints are
        of one degree of freedom. Other lengths and offsets are as the prior has them.
        """
        model, self._chart = parameters.model, chart
        moving = {moving.joint.name: moving for moving in model.moving_joints}
        self.joints, self._commands = tuple(commands), tuple(commands.values())
        self.velocities = np.array([moving[name].velocities.start for name in self.joints])
        self.limits = np.array([limits[name] for name in self.joints])
        values = dict(zip(chart.names, chart.to_named(chart.prior.mean[:, None])[:, 0].tolist()))
        known = {
            name: value
            for name, value in {**chart.fixed, **values}.items()
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
        self.geometry_places = [chart.names.index(name) for name in geometry]
        symbols = casadi.SX.sym('geometry', len(geometry))
        # Where it is fixed, which is simpler, the functions have no such argument.
        free = (symbols,) if geometry else ()
        placed = robot
        if geometry:
            placed = realize(
                parameters, {**known, **dict(zip(geometry, casadi.vertsplit(symbols)))}
            )
        self._load = _traced_load(model, placed, free)
        self._columns = _traced_columns(model, placed, self.velocities, free)
        self._inertias = _traced_inertias(model, robot, self.velocities, len(self.names))
        self._nominal = self.geometry(chart.prior.mean)
        self._by_geometry = None
        if geometry:
            self._by_geometry = _traced_slope(model, placed, self.velocities, symbols)
        self._standard = _traced_parameters(parameters, chart, known)
        entries = [name.rpartition('.')[2] for name in chart.labels]
        self.positive = np.array(
            [k for k, entry in enumerate(entries) if entry in _POSITIVE], dtype=int
        )
        self._losses = np.array(
            [k for k, entry in enumerate(entries) if entry in _LOSSES], dtype=int
        )
        pairs = [(f'{j}.stribeck', f'{j}.friction') for j in self.joints]
        self._stribecks = [
            [chart.names.index(name) for name in pair]
            for pair in pairs
            if set(pair) <= set(chart.names)
        ]
        masses = {n: known.get(n, 0.0) for n in parameters if n.endswith('.mass')}
        self._jumps = self._possible_jumps(chart, model, masses)
        gains = ((row, f'{name}.gain') for row, name in enumerate(self.joints))
        self._gains = [(row, chart.names.index(g)) for row, g in gains if g in chart.names]
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
        """Return a `Jump` for each way in which the robot may change, the last link first."""
        return self._jumps

    def _possible_jumps(self, chart, model, masses):
        """Return the `Jump`s of bodies that links may hold, and of what is inside joints."""
        size, found = len(chart.labels), []
        inner = chart.inner
        total = sum(masses.values()) or 1.0
        mass = min(_HELD[0], _HELD_PART * total)
        deviations = np.array([mass, *[_HELD[1] * mass] * 3, *[_HELD[2] * mass] * 6])
        places = dict(zip(getattr(inner, 'links', {}), inner.rows))
        depths = {link.name: model.attachments[link.name].body for link in model.links}
        for link in sorted(places, key=lambda name: -depths[name]):
            root = np.zeros((size, len(deviations)))
            root[places[link], range(len(deviations))] = deviations
            names = tuple(inner.links[link])
            found.append(Jump(f'mass on {link}', names, root, np.diag(deviations), link))
        for joint, limit in zip(self.joints, self.limits):
            for title, words in _INSIDE.items():
                names = [f'{joint}.{word}' for word in words if f'{joint}.{word}' in chart.names]
                if names:
                    root = np.zeros((size, len(names)))
                    for k, name in enumerate(names):
                        root[chart.names.index(name), k] = words[name.rpartition('.')[2]] * limit
                    found.append(Jump(f'{title} of {joint}', tuple(names), root))
        return tuple(found)

    def read(self, frame):
        """Return the `Reading` of a frame."""
        size = len(self.encoder_sd)
        total, count, stamps = np.zeros(size), np.zeros(size), []
        for sample in frame.samples:
            places = self._sensors.get(sample.sensor)
            if places is None:
                continue
            values = sample.values[: len(places)]
            is_there = values == values
            total[places] += np.where(is_there, values, 0.0)
            count[places] += is_there
            stamps.append(sample.stamp_ns)
        positions = None
        if stamps:
            mean = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
            positions = sum(stamps) // len(stamps), mean
        return Reading(positions, self._torques(frame))

    def _torques(self, frame):
        """Return the mean of the efforts that came in a frame, as a tuple of one or none."""
        new = [entry for entry in frame.inputs if frame.start_ns <= entry[0] < frame.end_ns]
        if not new:
            return ()
        efforts = np.mean([values for _, values in new], 0)
        torques = [0.0 if place is None else efforts[place] for place in self._commands]
        return ((sum(stamp for stamp, _ in new) // len(new), np.array(torques)),)

    def geometry(self, coordinates):
        """Return the lengths, origins and offsets [g] at coordinates [p] that columns hang on."""
        return self._chart.to_named(coordinates[:, None])[self.geometry_places, 0]

    def columns(self, positions, velocities, accelerations, standard, geometry=None):
        """
        Return the regressor [N, J, P] at states of the robot [nq, N], [nv, N], [nv, N].

        standard [P]: by which the load is known that friction in gears grows with; geometry [g]:
        None: as the prior has it.
        """
        free = ()
        if self.geometry_places:
            free = (self._nominal if geometry is None else geometry,)
        load = self._load(positions, standard[: self._bodies], *free)
        found = self._columns(positions, velocities, accelerations, load, *free).full()
        rows, size = self._sizes
        return found.reshape(rows, -1, size).transpose(1, 0, 2)

    def by_geometry(self, positions, velocities, accelerations, standard, geometry):
        """Return how torques [N, J] change with geometry, [N, J, g]; otherwise as `columns`."""
        state = positions, velocities, accelerations
        load = self._load(positions, standard[: self._bodies], geometry)
        found = self._by_geometry(*state, load, standard, geometry).full()
        return found.reshape(self._sizes[0], -1, len(geometry)).transpose(1, 0, 2)

    def inertias(self, positions, standard):
        """Return torques by accelerations [K, J, n] at positions [nq, K], of parameters [P]."""
        found, size = self._inertias(positions, standard).full(), len(self.encoder_sd)
        return found.reshape(len(self.joints), -1, size).transpose(1, 0, 2)

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
        values, slope = self._chart.expanded(coordinates[:, None])
        standard, by_values = self._standard(values[:, 0])
        return standard.full()[:, 0], by_values.full() @ slope[0]

    def scales(self, coordinates):
        """Return measured torques over true ones [J] at coordinates, and their slope [J, p]."""
        scales, slope = np.ones(self._sizes[0]), np.zeros((self._sizes[0], len(coordinates)))
        if self._gains:
            values, slopes = self._chart.expanded(coordinates[:, None])
            for row, place in self._gains:
                scales[row] = 1 / values[place, 0]
                slope[row] = -(scales[row] ** 2) * slopes[0, place]
        return scales, slope


def _traced_columns(model, robot, rows, free=()):
    """
    Return the function from states and loads [nv, N] to the regressor [J, N P].

    free: symbols that the robot hangs on besides, as a tuple of one or none.
    """
    state, stacked = _regressor(model, robot, rows)
    return casadi.Function('columns', [*state, *free], [casadi.cse(casadi.densify(stacked))])


def _traced_slope(model, robot, rows, geometry):
    """Return the function from states, loads, standard parameters and geometry to [J, N g]."""
    state, stacked = _regressor(model, robot, rows)
    standard = casadi.SX.sym('standard', stacked.shape[1])
    slope = casadi.jacobian(stacked @ standard, geometry)
    inputs = [*state, standard, geometry]
    return casadi.Function('by_geometry', inputs, [casadi.cse(casadi.densify(slope))])


def _regressor(model, robot, rows):
    """Return (symbols of states and loads, the regressor [J, P] there)."""
    size = model.velocity_size
    sizes = {'q': model.position_size, 'v': size, 'a': size, 'load': size}
    state = [casadi.SX.sym(name, length) for name, length in sizes.items()]
    columns = regressor(robot, *map(casadi.vertsplit, state))
    return state, casadi.horzcat(*(casadi.vertcat(*column)[rows.tolist()] for column in columns))


def _traced_inertias(model, robot, rows, count):
    """Return the function from positions [nq, K] and P parameters to inertias [J, n K]."""
    q, a = casadi.SX.sym('q', model.position_size), casadi.SX.sym('a', model.velocity_size)
    rest, standard = [0.0] * model.velocity_size, casadi.SX.sym('standard', count)
    columns = regressor(robot, casadi.vertsplit(q), rest, casadi.vertsplit(a), rest)
    torques = casadi.horzcat(*(casadi.vertcat(*column) for column in columns)) @ standard
    inertias = casadi.cse(casadi.densify(casadi.jacobian(torques[rows.tolist()], a)))
    return casadi.Function('inertias', [q, standard], [inertias])


def _traced_load(model, robot, free=()):
    """
    Return the function from positions [nq, N] and numbers of bodies to gravity's torques.

    free: as of `_traced_columns`.
    """
    q = casadi.SX.sym('q', model.position_size)
    rest = [0.0] * model.velocity_size
    columns = regressor(robot, casadi.vertsplit(q), rest, rest, rest)
    size = len(STANDARD_NAMES) * len(robot.bodies)
    body = casadi.SX.sym('body', size)
    torques = casadi.horzcat(*(casadi.vertcat(*column) for column in columns[:size])) @ body
    return casadi.Function('load', [q, body, *free], [casadi.cse(casadi.densify(torques))])


def _traced_parameters(parameters, chart, known):
    """Return the function from values of a chart to standard parameters and their slope."""
    values = casadi.SX.sym('values', len(chart.names))
    named = dict(zip(chart.names, casadi.vertsplit(values)))
    named = {name: value for name, value in named.items() if name in known}
    standard = casadi.vertcat(*regressor_parameters(realize(parameters, {**known, **named})))
    slope = casadi.densify(casadi.jacobian(standard, values))
    return casadi.Function('standard', [values], [casadi.densify(standard), slope])
