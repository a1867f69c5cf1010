"""A robot, its sensors and its unknown parameters as the problem an estimator sees."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..dynamics.wrenches import WRENCH_SIZE
from ..estimation.noise import NoiseScales
from ..estimation.windows.shooting import Pushes
from ..model.parameters import is_dissipation
from ..model.state_coordinates import StateCoordinates
from ..observability.possible_robots import PossibleRobots
from ..parameters.drifting import drifting
from .disturbance_states import DisturbanceStates
from .doubts import augmented_parametrization, known_as, marginal
from .first_state import guess_state, guess_trajectory
from .friction_ratios import FrictionRatios
from .linearization import FrameWalk
from .mass_spread import MassSpread
from .model_changes import PossibleChanges
from .process_noise import ProcessNoise
from .timeline import TimelineCache
from .trajectory_loss import TrajectoryLoss

# Delays that are this much [s] apart lead to different optima: a part of a swing.
_DELAY_SPACING = 0.04
# Standard deviation of the first disturbance while fits begin without any.
_NO_DISTURBANCE = 1e-6
# Disturbances are mostly friction: they go along with the motion, and with the efforts that cause
# it. So they do not average out, and make every parameter wrong for good by about this part of
# what they are of the efforts of the joint that tells most.
_LASTING = 0.25
# Part of the Coulomb friction by which what a model lacks pushes a joint during a window.
_PUSH = 0.4
# Standard deviations of a sum of squares from which on it is no longer noise at rest.
_CLEARLY = 6.0


@dataclass(frozen=True)
class ProblemOptions:
    """
    How a problem is simulated.

    max_step [s]: longest integration step; position_floor, velocity_floor: what a frame adds to
    the standard deviations of positions [rad or m] and velocities [per s]; position_sd,
    velocity_sd: of the first state about the guess; hidden_time [s]: correlation time of the
    accelerations of driven joints; disturbance_time [s]: of efforts of unknown origin, None for a
    robot without any.
    """

    integrator: str = 'rk4'
    backend: str = 'auto'
    max_step: float = 0.01
    position_floor: float = 1e-7
    velocity_floor: float = 1e-5
    position_sd: float = 0.5
    velocity_sd: float = 5.0
    hidden_time: float = 0.1
    disturbance_time: float | None = None


class RobotProblem:
    """
    The problem of a robot; see `inference.protocol.Problem`.

    Frames enter as `records.Frame`; numbers are NumPy arrays, the batch last for states and
    parameters, first for derivatives. late_sensors: name -> the delay of its clock, [p] times the
    coordinates: beside that of the reference, where nothing tells more.
    """

    def __init__(
        self,
        parameters,
        sensors,
        parametrization,
        options=None,
        noises=None,
        accelerations=None,
        reference=0,
        doubts=None,
        torque=None,
        poses=None,
        wrenches=(),
    ):
        """
        Set up the problem.

        parameters: the model's `Parameters`; sensors: a tuple of AbstractSensor; parametrization:
        the `Parametrization` between the estimator's coordinates and named parameters; noises:
        sensor -> `Prior` of a factor on the standard deviation of its noise, where that is
        unknown; accelerations: driven joint -> how large they are, as of `DisturbanceStates`;
        reference: index of the sensor whose clock frames are cut by; doubts: name -> `Prior` of
        what is held fixed and may be wrong; torque: the `TorqueModel` of a robot whose torques are
        measured; poses: the `PoseModel` of one that is seen by motion capture besides; wrenches:
        name -> the `LinkWrench` that acts, known as efforts are.
        """
        self.options = options or ProblemOptions()
        self.parameters, self.sensors, self.parametrization = (
            parameters,
            tuple(sensors),
            parametrization,
        )
        self.torque, self.poses, self.wrenches = torque, poses, dict(wrenches)
        self.model = parameters.model
        times = self.options.hidden_time, self.options.disturbance_time
        means = dict(
            zip(
                parametrization.names,
                parametrization.to_named(parametrization.prior.mean[:, None])[:, 0].tolist(),
            )
        )
        values = self._expected = {**parametrization.fixed, **means}
        self._hidden = DisturbanceStates(parameters, times, accelerations, values)
        ratios = FrictionRatios(
            parameters, parametrization, values, self._hidden.disturbed.tolist()
        )
        named = (
            *self.model.commands,
            *(f'wrench {n}' for n in self.wrenches for _ in range(WRENCH_SIZE)),
        )
        self._noise = ProcessNoise(parameters, self.options, self._hidden, ratios, named)
        self._state = StateCoordinates(self.model, self._hidden.size)
        self._walk = walk = FrameWalk(
            parameters,
            self.sensors,
            parametrization,
            self._state,
            self._hidden,
            self.options,
            reference,
            tuple(self.wrenches.values()),
        )
        max_step = self.options.max_step
        self._timelines = TimelineCache(self.sensors, walk.known_controls, max_step)
        self._loss = TrajectoryLoss(
            walk.system, walk.backend, parametrization, self.sensors, walk.outputs, self._timelines
        )
        self._mass_spread = MassSpread(walk.system, parametrization, self._hidden.standing)
        self.point_size, self.tangent_size = self._state.point_size, self._state.size
        self.position_count = self.model.velocity_size
        self.labels, self.prior = parametrization.labels, parametrization.prior
        self.drifting = drifting(parametrization, self.model)
        self.lasting_root = (
            _LASTING * self._hidden.disturbance_share * parametrization.relative_root
        )
        self.noises = dict(noises or {})
        self.noise_prior = _noise_prior(self.noises.values())
        self.disturbance_size = self._hidden.disturbance_size
        self.is_driven = bool(self._hidden.standing)
        self._changes = PossibleChanges(parameters, parametrization, self.sensors)
        self.late_sensors = self._late_sensors(reference)
        self._given, self._widened = (noises, accelerations, reference, dict(doubts or {})), None

    @cached_property
    def spacing(self):
        """How far apart starts may be along each coordinate, [p]; see the protocol."""
        is_delay = np.array([label.endswith('.delay') for label in self.labels], dtype=bool)
        return np.where(is_delay, _DELAY_SPACING, np.inf)

    @cached_property
    def pushes(self):
        """What acts on joints during a window besides: `Pushes` by their torque offsets."""
        places, deviations = [], []
        for moving in self.model.moving_joints:
            name = f'{moving.joint.name}.torque_offset'
            if name not in self.labels:
                continue
            places.append(self.labels.index(name))
            friction = self._expected.get(f'{moving.joint.name}.friction', 0.0)
            sd = float(np.sqrt(self.prior.covariance[places[-1], places[-1]]))
            deviations.append(_PUSH * friction if friction else sd)
        return Pushes(np.array(places, dtype=int), np.array(deviations))

    def least_covariance(self, share):
        """Return the covariance [p, p] of parameters that are known to this part of their size."""
        root = share * self.parametrization.relative_root
        return root @ root.T

    @cached_property
    def commanded_velocities(self):
        """The velocities on which commands act."""
        taking = (m for m in self.model.moving_joints if m.joint.actuator.takes_command)
        return [k for m in taking for k in range(m.velocities.start, m.velocities.stop)]

    @cached_property
    def possible(self):
        """The `PossibleRobots`; None where the parametrization is not one of bodies."""
        return PossibleRobots.of(self.parameters, self.parametrization)

    def _late_sensors(self, reference):
        rows = np.eye(len(self.labels))
        delays = {sensor.name: f'{sensor.name}.delay' for sensor in self.sensors}
        late = {
            name: rows[self.labels.index(label)]
            for name, label in delays.items()
            if label in self.labels
        }
        if self._walk.counts_from_reference:
            first = late[self.sensors[reference].name]
            late = {name: row - first for name, row in late.items()}
        return late

    @property
    def doubts(self):
        """Name -> `Prior` of what is held fixed and may be wrong; none where no parametrization has it."""
        doubts = self._given[-1]
        return (
            doubts if augmented_parametrization(self.parametrization, doubts) is not None else {}
        )

    @property
    def augmented(self):
        """This with what is held fixed and may be wrong among the unknowns; None: nothing is."""
        if self._doubtful is None:
            return None
        if self._widened is None or self._widened[0] is not self.prior:
            self._widened = self.prior, known_as(self, self._doubtful)
        return self._widened[1]

    @cached_property
    def _doubtful(self):
        *rest, doubts = self._given
        parametrization = augmented_parametrization(self.parametrization, doubts)
        if parametrization is None:
            return None
        options, wrenches = self.options, self.wrenches
        return RobotProblem(
            self.parameters, self.sensors, parametrization, options, *rest, wrenches=wrenches
        )

    @property
    def input_count(self):
        """How many numbers act from outside: commands, then six of each wrench."""
        return len(self.model.commands) + WRENCH_SIZE * len(self.wrenches)

    def marginal(self, mixture):
        """Return what a mixture of the augmented problem knows of this one's unknowns."""
        return marginal(self, self._doubtful, mixture)

    def retract(self, points, deltas):
        """Return the points [nx, B] moved by local coordinates [t, B]."""
        return self._state.retract(points, deltas)

    def first_state(self, frames):
        """Return (point [nx], root [t, t]): a state guessed from the first frames, and its sd."""
        nv = self.model.velocity_size
        deviations = [self.options.position_sd] * nv + [self.options.velocity_sd] * nv
        hidden = self._hidden.deviations(np.full(1, _NO_DISTURBANCE))[0]
        root = np.diag([*deviations, *hidden])
        return guess_state(self, frames), root

    def first_trajectory(self, frames):
        """Return states [H + 1, nx] at the bounds of frames, guessed from their samples."""
        return guess_trajectory(self, frames)

    def moves(self, point, frames):
        """Tell whether samples of frames differ by more than noise, seen from a point [nx]."""
        frames = [frame for frame in frames if frame.samples]
        if not frames:
            return False
        points = np.repeat(point[:, None], len(frames), 1)
        parameters = np.repeat(self.prior.mean[:, None], len(frames), 1)
        residual = self._walk.observe(points, parameters, self._timelines.line(frames))[0]
        is_row = residual != 0
        count = is_row.sum(0)
        away = np.where(is_row, residual - residual.sum(0) / np.maximum(count, 1), 0.0)
        return bool(((away**2).sum(0) > count + _CLEARLY * np.sqrt(2 * count)).any())

    @property
    def neutral(self):
        """The state [nx] with every joint at its neutral position, at rest."""
        rest = self.model.velocity_size + self._hidden.size
        return np.array([*self.model.neutral_positions(), *[0.0] * rest])

    def knows_inputs(self, frame):
        """Tell whether all efforts that act during a frame are known."""
        return not self.unknown_efforts(frame)

    def unknown_efforts(self, frame):
        """Return the names of the commands and wrenches that are missing somewhere in a frame."""
        return self._noise.unknown_efforts(frame)

    def floors(self, frames, scales, parameters, states):
        """
        Return what consecutive frames add to the standard deviation of the state, [H, K, t].

        scales [K]: of the disturbances of each column; parameters [p, K]; states: H + 1 times
        [nx, K], before and after.
        """
        left = self._walk.fading(self._timelines.line(frames)).T if self._hidden.size else None
        return self._noise.floors(frames, left, scales, parameters, states)

    def disturbances(self, scales, parameters, points):
        """Return the standard deviations [K, d] of disturbances of scales [K] at states."""
        return self._noise.disturbances(scales, parameters, points)

    def push(self, frame):
        """Return the standard deviation of what unknown efforts do to a state in a frame, [t]."""
        return self._noise.push(frame)

    def impulse(self, frame):
        """Return the standard deviation of what usual efforts do to the state in a frame, [t]."""
        return self._noise.impulse(frame)

    def jumps(self, mean):
        """Return a `ModelChange` for each way in which a robot of coordinates [p] may change."""
        return self._changes.jumps(mean)

    def loses_sight(self, frame):
        """Tell whether after a frame the motion may be anywhere: a new guess tells more of it."""
        return self._noise.loses_sight(frame)

    def local(self, starts, ends):
        """Return the local coordinates [t, B] at `starts` of the points `ends`."""
        return self._state.local(starts, ends)

    def observe(self, points, parameters, frame):
        """Return (residual [B, m], slope [B, m, t]) of a frame's samples, all taken as now."""
        return self._walk.observe(points, parameters, self._timelines.line((frame,)))

    def trajectory(self, points, parameters, frames):
        """Return the states [H + 1, nx, K] at the bounds of consecutive frames."""
        durations, controls, bounds = self._course(parameters, frames)
        ends = 1e-9 * np.array([0, *(frame.end_ns - frames[0].start_ns for frame in frames)])
        forces, hidden = points[self.model.state_size :], None
        if self._hidden.size:
            elapsed = np.repeat(ends[:-1], np.diff(bounds))
            hidden = self._hidden.fading_controls(forces, elapsed)
        values = self.parametrization.to_named(parameters)
        inputs = self._walk.inputs(points, values, durations, controls, hidden)
        states = self._walk.backend.rollout_arrays(inputs)[0][bounds]
        if not self._hidden.size:
            return states
        faded = self._hidden.expected(ends).T[..., None] * forces
        return np.concatenate([states, faded], 1)

    def _course(self, parameters, frames):
        """Return durations, controls and the bounds [H + 1] of the steps of frames on end."""
        if not self._walk.moves_by_delay:
            chain = self._timelines.chain(frames)
            return chain.durations, chain.controls, chain.bounds
        return self._walk.course(parameters, self._side_by_side(frames, parameters.shape[1]))

    def _side_by_side(self, frames, count):
        """Return the `Line` of frames that have so many columns each."""
        return self._timelines.line([frame for frame in frames for _ in range(count)])

    def residuals(self, states, parameters, frames):
        """Return the whitened residuals [K, M] of consecutive frames on a trajectory."""
        count = states.shape[-1]
        begins, ends = (
            np.moveaxis(part, 0, 1).reshape(self.point_size, -1)
            for part in (states[:-1], states[1:])
        )
        line, parameters = self._side_by_side(frames, count), np.tile(parameters, len(frames))
        rows = self._walk.residuals(begins, ends, parameters, line)
        return np.moveaxis(rows.reshape(len(frames), count, -1), 0, 1).reshape(count, -1)

    def huber_loss(self, points, parameters, frames, delta):
        """Return (losses [B], gradients [p, B]) of trajectories; see `TrajectoryLoss.huber`."""
        return self._loss.huber(points, parameters, frames, delta)

    def row_noises(self, frames):
        """Return each residual row's entry of the noise prior for frames side by side, or -1."""
        known, order = list(self.noises), self._order(frames)
        names = [self.sensors[index].name for index in order]
        return self._by_rows(order, [known.index(n) if n in known else -1 for n in names])

    def row_samples(self, frame):
        """Return which sample of a frame, by number, each of its residual rows is of, [m]."""
        order = self._order((frame,))
        return self._by_rows(order, range(len(order)))

    @property
    def channel_count(self):
        """How many channels there are: rows of the samples of sensors."""
        return sum(sensor.row_size for sensor in self.sensors)

    def channel_means(self, frame):
        """
        Return the matrix [C, m] that turns a frame's residual rows into means by channel.

        A channel is a row of the samples of one sensor; its row is zero where there are none.
        """
        sizes = tuple(sensor.row_size for sensor in self.sensors)
        return _channel_means(sizes, tuple(self._order((frame,))))

    def in_rows(self, frame):
        """Return (index of the sensor, sample) of a frame in the order of their residual rows."""
        left = [iter([x for x in frame.samples if x.sensor == s.name]) for s in self.sensors]
        return [(index, next(left[index])) for index in self._order((frame,))]

    def _order(self, frames):
        """Return the index of the sensor of every sample, in the order of their rows."""
        return self._walk.order(self._timelines.line(frames))

    def _by_rows(self, order, numbers):
        """Return a number of each sample, repeated for all its rows; order: of `_order`."""
        sizes = [self.sensors[index].row_size for index in order]
        return np.repeat(np.array(numbers, dtype=int), sizes)

    def linearize(self, points, parameters, frames, scales=None):
        """
        Return the `Linearization` of one frame for every column, or of one for all.

        parameters [p, B']: for B' columns that repeat; scales [B]: of disturbances, None where
        there are none.
        """
        found = self._walk.through(points, parameters, self._timelines.line(frames))
        if scales is not None and self.disturbance_size and self._noise.depends_on_speed(scales):
            kept = self._noise.carried_over(scales, points)
            found.ends[self.model.state_size :] *= kept.T
            found.transition[:, 2 * self.model.velocity_size :] *= kept[..., None]
        return found

    @property
    def losses(self):
        """Names of the estimated parameters by which joints lose energy."""
        return frozenset(filter(is_dissipation, self.parametrization.names))

    def spread(self, means, roots):
        """Return how well the mass matrix is known: a relative sd for every column."""
        return self._mass_spread.of(means, roots)


@lru_cache(maxsize=64)
def _channel_means(sizes, order):
    """Return `RobotProblem.channel_means` of samples in an order; sizes: rows of each sensor."""
    first = np.cumsum([0, *sizes])
    channels = [c for k in order for c in range(first[k], first[k + 1])]
    is_of = np.arange(first[-1])[:, None] == np.array(channels, dtype=int)
    means = is_of / np.maximum(is_of.sum(1, keepdims=True), 1)
    means.flags.writeable = False
    return means


def _noise_prior(priors):
    """Return the `NoiseScales` of priors of factors, None where there are none."""
    if not priors:
        return None
    means, deviations = zip(*((np.log(prior.mean), prior.sd) for prior in priors))
    return NoiseScales.of_priors(means, deviations)
