"""
The problem that estimators see: a robot, its sensors and its unknown parameters.

`RobotProblem` joins what the other modules of this room compute. `timeline` cuts frames at the
stamps of their samples; `linearization` simulates and linearizes a frame; `process_noise` says how
uncertain a state becomes in one; `model_changes` says how the robot may change.
"""

import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from ..dynamics.contact import warn_of_long_steps
from ..dynamics.wrenches import WRENCH_SIZE
from ..estimation.factors import lower_root
from ..estimation.noise import NoiseScales
from ..estimation.protocol import Gaussian
from ..estimation.windows.shooting import ConstantEfforts
from ..model.parameters import is_dissipation
from ..model.state_coordinates import StateCoordinates
from ..observability.payload import PayloadSettings
from ..observability.possible_robots import PossibleRobots
from ..parameters.delays import is_delay
from ..parameters.drifting import drifting
from ..parameters.parametrization import DirectParametrization, mass_matrices, TimedParametrization
from ..parameters.parametrization_choice import linear_dissipation
from .first_state import guess_state, guess_trajectory
from .linearization import FrameLinearizer
from .model_changes import SimulatedChanges
from .process_noise import DisturbanceStates, FrictionRatios, ProcessNoise
from .timeline import TimelineCache
from .trajectory_loss import TrajectoryLoss

# Initial guesses of a delay that are this far apart [s], a fraction of a swing, lead to different
# optima.
_DELAY_SPACING = 0.04
# Standard deviation of the disturbances at the first state, in their units: fits begin without.
_NO_DISTURBANCE = 1e-6
# Disturbances are mostly unmodelled friction, which is correlated with the motion and with the
# efforts that cause it. Hence they do not average out: every parameter keeps a relative error of
# about this part of the ratio of disturbance to usual effort, at the joint where that is least.
_LASTING = 0.25
# Standard deviation of the unmodelled effort on a joint during a window, in Coulomb frictions.
_PUSH = 0.4
# A sum of squared residuals this many standard deviations above its mean is not noise at rest.
_CLEARLY = 6.0
# Draws of parameters and random poses by which the spread of the mass matrix is estimated.
_DRAWS, _POSES = 24, 12


@dataclass(frozen=True)
class ProblemOptions:
    """
    Settings of the simulation and of its process noise.

    max_step [s]: longest integration step; position_floor, velocity_floor: process noise of a
    frame, as standard deviations of positions [rad or m] and velocities [per s]; position_sd,
    velocity_sd: standard deviations of the first state about its guess; hidden_time [s]:
    correlation time of the accelerations of prescribed joints; disturbance_time [s]: correlation
    time of efforts of unknown origin, None where there are none.
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
    The estimation problem of a robot; implements `estimation.protocol.Problem`.

    Frames are `records.Frame`. All numbers are NumPy arrays, with the batch last in states and
    parameters and first in derivatives. nuisances: name -> `Prior` of fixed parameters that may
    be wrong and can join the unknowns (`augmented`). late_sensors: name -> row [p] whose product
    with the coordinates is the delay of that sensor's clock, relative to the reference sensor
    where only differences of delays are observable.
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
        nuisances=None,
        torque=None,
        poses=None,
        wrenches=(),
        payload=None,
    ):
        """
        Set up the problem.

        parameters: the model's `Parameters`; sensors: a tuple of AbstractSensor; parametrization:
        the `Parametrization` between the estimator's coordinates and named parameters; noises:
        sensor -> `Prior` of the factor on its noise, for sensors whose noise is unknown;
        accelerations: prescribed joint -> usual size of its acceleration, see `DisturbanceStates`;
        reference: index of the sensor whose clock frames are cut by; nuisances: name -> `Prior`
        of fixed parameters that may be wrong; torque: the `TorqueModel` of a robot with measured
        torques; poses: its `PoseModel`, if motion capture observes it; wrenches: name -> the
        `LinkWrench` of every measured wrench; payload: `PayloadSettings`.
        """
        # 1. The parts, as given.
        self.options = options or ProblemOptions()
        self.parameters, self.model = parameters, parameters.model
        self.sensors, self.parametrization = tuple(sensors), parametrization
        self.torque, self.poses, self.wrenches = torque, poses, dict(wrenches)
        self.payload = payload or PayloadSettings()
        self.noises, self.noise_prior = dict(noises or {}), _noise_prior((noises or {}).values())
        self._given = noises, accelerations, reference
        is_possible = augmented_parametrization(parametrization, nuisances) is not None
        self.nuisances = dict(nuisances) if is_possible else {}
        # The augmented problem with the prior of this one, and that prior.
        self._informed = None
        # 2. The state, what moves it at random, and the simulation of a frame.
        self._expected = {**parametrization.fixed, **_prior_means(parametrization)}
        self._disturbance, self._noise = self._random_forces(accelerations)
        self._state = StateCoordinates(self.model, self._disturbance.size)
        self._linearizer = self._frame_linearizer(reference)
        system, max_step = self._linearizer.system, self.options.max_step
        warn_of_long_steps(self.model, max_step)
        self._timelines = TimelineCache(self.sensors, self._linearizer.known_controls, max_step)
        self._loss = self._trajectory_loss()
        self._mass_spread = MassSpread(system, parametrization, self._disturbance.prescribed)
        self._changes = SimulatedChanges(parameters, parametrization, self.sensors)
        # 3. What estimators read of it.
        self.point_size, self.tangent_size = self._state.point_size, self._state.size
        self.position_count = self.model.velocity_size
        self.labels, self.prior = parametrization.labels, parametrization.prior
        self.names = tuple(parametrization.names)
        self.drifting = drifting(parametrization, self.model)
        share = self._disturbance.disturbance_share
        self.lasting_root = _LASTING * share * parametrization.relative_root
        self.disturbance_size = self._disturbance.disturbance_size
        self.has_unknown_inputs = bool(self._disturbance.prescribed)
        self.late_sensors = self._late_sensors(reference)

    def _random_forces(self, accelerations):
        """Return (`DisturbanceStates`, `ProcessNoise`); accelerations: of prescribed joints."""
        times = self.options.hidden_time, self.options.disturbance_time
        disturbance = DisturbanceStates(self.parameters, times, accelerations, self._expected)
        ratios = FrictionRatios(
            self.parameters, self.parametrization, self._expected, disturbance.disturbed.tolist()
        )
        of_wrenches = (f'wrench {name}' for name in self.wrenches for _ in range(WRENCH_SIZE))
        named = (*self.model.commands, *of_wrenches)
        noise = ProcessNoise(self.parameters, self.options, disturbance, ratios, named)
        return disturbance, noise

    def _frame_linearizer(self, reference):
        """Return the `FrameLinearizer`; reference: index of the sensor frames are cut by."""
        return FrameLinearizer(
            self.parameters,
            self.sensors,
            self.parametrization,
            self._state,
            self._disturbance,
            self.options,
            reference,
            tuple(self.wrenches.values()),
        )

    def _trajectory_loss(self):
        """Return the `TrajectoryLoss`."""
        linearizer, timelines = self._linearizer, self._timelines
        parts = linearizer.system, linearizer.backend, self.parametrization, self.sensors
        return TrajectoryLoss(*parts, linearizer.outputs, timelines)

    @cached_property
    def spacing(self):
        """Largest distance between initial guesses along each coordinate, [p]; see `Problem`."""
        is_delay = np.array([label.endswith('.delay') for label in self.labels], dtype=bool)
        return np.where(is_delay, _DELAY_SPACING, np.inf)

    @cached_property
    def constant_efforts(self):
        """The `ConstantEfforts` of joints during a window, in place of their torque offsets."""
        places, deviations = [], []
        for moving in self.model.moving_joints:
            name = f'{moving.joint.name}.torque_offset'
            if name not in self.labels:
                continue
            places.append(self.labels.index(name))
            friction = self._expected.get(f'{moving.joint.name}.friction', 0.0)
            sd = float(np.sqrt(self.prior.covariance[places[-1], places[-1]]))
            deviations.append(_PUSH * friction if friction else sd)
        return ConstantEfforts(np.array(places, dtype=int), np.array(deviations))

    def least_covariance(self, share):
        """
        Return the covariance [p, p] of parameters that are known to this part of their size.

        The size of a centre of mass or an offset is its distance from zero, or the deviation of
        its prior where that is more.
        """
        inner = self.parametrization.inner
        distances = np.where(inner.signs == 0, np.abs(inner.prior.mean), 0.0)
        sizes = np.maximum(np.diag(inner.relative_root), distances)
        root = share * self.parametrization.combinations * sizes
        return root @ root.T

    @cached_property
    def commanded_velocities(self):
        """The indices of the velocities on which commands act, a list."""
        taking = (m for m in self.model.moving_joints if m.joint.actuator.takes_command)
        return [k for m in taking for k in range(m.velocities.start, m.velocities.stop)]

    @cached_property
    def possible(self):
        """The `PossibleRobots`; None unless the parametrization is linear in bodies."""
        return PossibleRobots.of(self.parameters, self.parametrization)

    def _late_sensors(self, reference):
        """Return `late_sensors`; reference: index of the sensor that is relative to none."""
        rows = np.eye(len(self.labels))
        delays = {sensor.name: f'{sensor.name}.delay' for sensor in self.sensors}
        late = {
            name: rows[self.labels.index(label)]
            for name, label in delays.items()
            if label in self.labels
        }
        if self._linearizer.counts_from_reference:
            first = late[self.sensors[reference].name]
            late = {name: row - first for name, row in late.items()}
        return late

    @property
    def augmented(self):
        """The problem with nuisance parameters among its unknowns, None where there are none."""
        if self._augmented is None:
            return None
        if self._informed is None or self._informed[0] is not self.prior:
            self._informed = self.prior, self._augmented_with_prior()
        return self._informed[1]

    @cached_property
    def _augmented(self):
        """The augmented problem with its own prior, None where nothing is to be freed."""
        if not self.nuisances:
            return None
        parametrization = augmented_parametrization(self.parametrization, self.nuisances)
        options, wrenches = self.options, self.wrenches
        return RobotProblem(
            self.parameters,
            self.sensors,
            parametrization,
            options,
            *self._given,
            wrenches=wrenches,
        )

    def _augmented_with_prior(self):
        """Return the augmented problem with this one's prior of what both have."""
        found, rows = copy.copy(self._augmented), self._places
        mean, root = found.prior.mean.copy(), found.prior.root.copy()
        mean[rows], root[np.ix_(rows, rows)] = self.prior.mean, self.prior.root
        found.prior, found.noise_prior = Gaussian(mean, root), self.noise_prior
        return found

    @cached_property
    def _places(self):
        """The coordinates of the augmented problem that are this one's."""
        return [self._augmented.labels.index(label) for label in self.labels]

    def marginal(self, mixture):
        """Return the marginal of the augmented problem's mixture over this one's unknowns."""
        rows, size = self._places, self.tangent_size
        roots = lower_root(mixture.roots[:, [*range(size), *(size + row for row in rows)]])
        lasting = None if mixture.lasting is None else mixture.lasting[rows]
        return replace(mixture, means=mixture.means[rows], roots=roots, lasting=lasting)

    @property
    def input_count(self):
        """Number of inputs of a frame: the commands, then six numbers of each wrench."""
        return len(self.model.commands) + WRENCH_SIZE * len(self.wrenches)

    def retract(self, points, deltas):
        """Return the points [nx, B] moved by local coordinates [t, B], the inverse of `local`."""
        return self._state.retract(points, deltas)

    def first_state(self, frames):
        """Return (guess [nx] of the state before frames, root [t, t] of its covariance)."""
        nv = self.model.velocity_size
        deviations = [self.options.position_sd] * nv + [self.options.velocity_sd] * nv
        disturbances = self._disturbance.deviations(np.full(1, _NO_DISTURBANCE))[0]
        root = np.diag([*deviations, *disturbances])
        return guess_state(self, frames), root

    def first_trajectory(self, frames):
        """Return states [H + 1, nx] at the bounds of frames, guessed from their samples."""
        return guess_trajectory(self, frames)

    def moves(self, point, frames):
        """Tell whether samples of frames differ among each other by more than noise."""
        frames = [frame for frame in frames if frame.samples]
        if not frames:
            return False
        # Residuals of all frames at one state [nx]: only their spread counts.
        points = np.repeat(point[:, None], len(frames), 1)
        parameters = np.repeat(self.prior.mean[:, None], len(frames), 1)
        residual = self._linearizer.observe(points, parameters, self._timelines.line(frames))[0]
        is_row = residual != 0
        count = is_row.sum(0)
        away = np.where(is_row, residual - residual.sum(0) / np.maximum(count, 1), 0.0)
        return bool(((away**2).sum(0) > count + _CLEARLY * np.sqrt(2 * count)).any())

    @property
    def neutral(self):
        """The state [nx] at rest with every joint at its neutral position, undisturbed."""
        rest = self.model.velocity_size + self._disturbance.size
        return np.array([*self.model.neutral_positions(), *[0.0] * rest])

    def knows_inputs(self, frame):
        """Tell whether all efforts that act during a frame are known."""
        return not self.unknown_efforts(frame)

    def unknown_efforts(self, frame):
        """Return the names of the commands and wrenches that are unknown in part of a frame."""
        return self._noise.unknown_efforts(frame)

    def process_noise(self, frames, disturbances, parameters, states):
        """
        Return the process noise of consecutive frames, standard deviations [H, K, t].

        disturbances: `Disturbances` of K columns; parameters [p, K]; states: H + 1 times
        [nx, K], before and after.
        """
        decay = None
        if self._disturbance.size:
            decay = self._linearizer.decay(self._timelines.line(frames)).T
        return self._noise.of_frames(frames, decay, disturbances, parameters, states)

    def disturbances(self, disturbances, parameters, points):
        """Return the stationary standard deviations [K, d] of `Disturbances` at states [nx, K]."""
        return self._noise.disturbances(disturbances, parameters, points)

    def input_noise(self, frame):
        """Return the input noise of a frame: standard deviations [t] due to unknown efforts."""
        return self._noise.input_noise(frame)

    def impulse(self, frame):
        """Return the standard deviations [t] by which usual efforts move the state in a frame."""
        return self._noise.impulse(frame)

    def model_changes(self, mean):
        """Return the `ModelChange`s that are possible for a robot of coordinates [p]."""
        return self._changes.model_changes(mean)

    def possible_changes(self):
        """Return the `ModelChange`s that are possible for the robot as described."""
        if self.torque is not None:
            return self.torque.model_changes()
        return self.model_changes(self.parametrization.prior.mean)

    def loses_sight(self, frame):
        """Tell whether the state is lost in a frame, so that it has to be guessed anew."""
        return self._noise.loses_sight(frame)

    def local(self, starts, ends):
        """Return the local coordinates [t, B] at `starts` of the points `ends` [nx, B]."""
        return self._state.local(starts, ends)

    def observe(self, points, parameters, frame):
        """Return (residual [B, m], slope [B, m, t]) of a frame's samples as if taken at once."""
        return self._linearizer.observe(points, parameters, self._timelines.line((frame,)))

    def trajectory(self, points, parameters, frames):
        """Return the states [H + 1, nx, K] at the bounds of consecutive frames."""
        durations, controls, bounds = self._integration_steps(parameters, frames)
        ends = 1e-9 * np.array([0, *(frame.end_ns - frames[0].start_ns for frame in frames)])
        disturbances, forcing = points[self.model.state_size :], None
        if self._disturbance.size:
            elapsed = np.repeat(ends[:-1], np.diff(bounds))
            forcing = self._disturbance.decaying_controls(disturbances, elapsed)
        values = self.parametrization.to_named(parameters)
        inputs = self._linearizer.inputs(points, values, durations, controls, forcing)
        states = self._linearizer.backend.rollout_arrays(inputs)[0][bounds]
        if not self._disturbance.size:
            return states
        decayed = self._disturbance.long_term_decay(ends).T[..., None] * disturbances
        return np.concatenate([states, decayed], 1)

    def _integration_steps(self, parameters, frames):
        """Return durations, controls and bounds [H + 1] of the steps of consecutive frames."""
        if not self._linearizer.moves_by_delay:
            chain = self._timelines.chain(frames)
            return chain.durations, chain.controls, chain.bounds
        line = self._side_by_side(frames, parameters.shape[1])
        return self._linearizer.integration_steps(parameters, line)

    def _side_by_side(self, frames, count):
        """Return the `Line` of frames with `count` columns each."""
        return self._timelines.line([frame for frame in frames for _ in range(count)])

    def residuals(self, states, parameters, frames):
        """Return the whitened residuals [K, M] of consecutive frames on a trajectory."""
        count = states.shape[-1]
        begins, ends = (
            np.moveaxis(part, 0, 1).reshape(self.point_size, -1)
            for part in (states[:-1], states[1:])
        )
        line, parameters = self._side_by_side(frames, count), np.tile(parameters, len(frames))
        rows = self._linearizer.residuals(begins, ends, parameters, line)
        return np.moveaxis(rows.reshape(len(frames), count, -1), 0, 1).reshape(count, -1)

    def huber_loss(self, points, parameters, frames, delta):
        """Return (losses [B], gradients [p, B]) of trajectories; see `TrajectoryLoss.huber`."""
        return self._loss.huber(points, parameters, frames, delta)

    def row_noises(self, frames):
        """
        Return each residual row's index in the noise prior, -1 where its noise is known.

        The rows are those of one frame, or of frames side by side.
        """
        known, order = list(self.noises), self._order(frames)
        names = [self.sensors[index].name for index in order]
        return self._by_rows(order, [known.index(n) if n in known else -1 for n in names])

    def row_samples(self, frame):
        """Return the number of the sample that each residual row of a frame belongs to, [m]."""
        order = self._order((frame,))
        return self._by_rows(order, range(len(order)))

    @property
    def channel_count(self):
        """Number of channels; each is one residual row of the samples of one sensor."""
        return sum(sensor.row_size for sensor in self.sensors)

    @property
    def channel_groups(self):
        """The number of the quantity of each channel; axes in space of a sensor are one."""
        keys = [
            (sensor.name, signal.unit if sensor.sees_links else signal.name)
            for sensor in self.sensors
            for signal in sensor.signals
        ]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[key] for key in keys])

    def channel_means(self, frame):
        """
        Return the matrix [C, m] that averages a frame's residual rows by channel.

        The row of a channel without samples is zero.
        """
        sizes = tuple(sensor.row_size for sensor in self.sensors)
        return _channel_means(sizes, tuple(self._order((frame,))))

    def in_rows(self, frame):
        """Return [(index of the sensor, sample)] of a frame, in the order of residual rows."""
        left = [iter([x for x in frame.samples if x.sensor == s.name]) for s in self.sensors]
        return [(index, next(left[index])) for index in self._order((frame,))]

    def _order(self, frames):
        """Return the index of the sensor of every sample, in the order of their rows."""
        return self._linearizer.order(self._timelines.line(frames))

    def _by_rows(self, order, numbers):
        """Return the numbers of samples, each repeated for all its rows; order: of `_order`."""
        sizes = [self.sensors[index].row_size for index in order]
        return np.repeat(np.array(numbers, dtype=int), sizes)

    def linearize(self, points, parameters, frames, disturbances=None):
        """
        Return the `Linearization` of one frame for every column, or of one for all.

        parameters [p, B']: for B' columns that repeat; disturbances: `Disturbances` of B
        columns, None where there are none.
        """
        found = self._linearizer.through(points, parameters, self._timelines.line(frames))
        is_disturbed = disturbances is not None and self.disturbance_size
        if is_disturbed and self._noise.depends_on_speed(disturbances):
            kept = self._noise.lasting_part(disturbances, points)
            found.ends[self.model.state_size :] *= kept.T
            found.transition[:, 2 * self.model.velocity_size :] *= kept[..., None]
        return found

    @property
    def dissipation(self):
        """Names of the estimated parameters of damping and friction."""
        return frozenset(filter(is_dissipation, self.parametrization.names))

    def spread(self, means, roots):
        """Return the relative standard deviation of the mass matrix, for every column."""
        return self._mass_spread.of(means, roots)


@lru_cache(maxsize=64)
def _channel_means(sizes, order):
    """
    Return `RobotProblem.channel_means`, which is the same for all frames of one order of samples.

    sizes: number of rows of each sensor; order: index of the sensor of each sample.
    """
    first = np.cumsum([0, *sizes])
    channels = [c for k in order for c in range(first[k], first[k + 1])]
    is_of = np.arange(first[-1])[:, None] == np.array(channels, dtype=int)
    means = is_of / np.maximum(is_of.sum(1, keepdims=True), 1)
    means.flags.writeable = False
    return means


def _prior_means(parametrization):
    """Return name -> value of every parameter at the prior's mean."""
    values = parametrization.to_named(parametrization.prior.mean[:, None])[:, 0].tolist()
    return dict(zip(parametrization.names, values))


def _noise_prior(priors):
    """Return the `NoiseScales` of `Prior`s of factors on noise, None where there are none."""
    if not priors:
        return None
    means, deviations = zip(*((np.log(prior.mean), prior.sd) for prior in priors))
    return NoiseScales.of_priors(means, deviations)


def augmented_parametrization(parametrization, nuisances):
    """
    Return a direct parametrization with more unknowns, None where it is of another kind.

    nuisances: name -> `Prior` of the others.
    """
    is_timed = isinstance(parametrization, TimedParametrization)
    physical = parametrization.physical if is_timed else parametrization
    if not nuisances or not isinstance(physical, DirectParametrization):
        return None
    own = parametrization.priors if is_timed else {}
    delays = {n: p for n, p in (*own.items(), *nuisances.items()) if is_delay(n)}
    more = {name: prior for name, prior in nuisances.items() if not is_delay(name)}
    straight = physical.straight | linear_dissipation(more)
    inner = DirectParametrization({**physical.priors, **more}, physical.fixed, straight)
    return TimedParametrization(inner, delays) if delays else inner


class MassSpread:
    """
    Relative standard deviation of the mass matrix, by draws of parameters in random poses.

    The block of prescribed joints does not count: their acceleration is part of the state, so no
    prediction depends on it.
    """

    def __init__(self, system, parametrization, prescribed):
        """Take the `System`, the parametrization and the velocities of prescribed joints."""
        self._system, self._parametrization, self._prescribed = system, parametrization, prescribed

    def of(self, means, roots):
        """Return it for every column, [K]; means [p, K], roots [K, p, r] of their covariances."""
        noise = np.random.default_rng(0).standard_normal((_DRAWS, roots.shape[-1]))
        # Poses have a generator of their own, so that they do not depend on the parametrization.
        positions = self._positions(np.random.default_rng(1))
        spreads = []
        for mean, root in zip(means.T, roots):
            draws = np.concatenate([mean[:, None], mean[:, None] + root @ noise.T], 1)
            values = np.tile(self._parametrization.to_named(draws), _POSES)
            matrices = mass_matrices(self._system, values, np.repeat(positions, _DRAWS + 1, 1))
            matrices = matrices.reshape(_POSES, _DRAWS + 1, *matrices.shape[1:])
            spreads.append(_relative_spread(matrices, self._prescribed))
        return np.array(spreads)

    def _positions(self, generator):
        """Return random positions [nq, poses]."""
        model = self._system.model
        parametrization = StateCoordinates(model)
        neutral = np.array([*model.neutral_positions(), *[0.0] * model.velocity_size])
        points = np.repeat(neutral[:, None], _POSES, 1)
        turns = np.zeros((parametrization.size, _POSES))
        turns[: model.velocity_size] = generator.standard_normal((model.velocity_size, _POSES))
        return parametrization.retract(points, turns)[: model.position_size]


def _relative_spread(matrices, left_out):
    """
    Return the largest, over poses, of the rms relative change of mass matrices.

    matrices [poses, 1 + n, nv, nv]: that of the mean, then those of n draws; left_out: velocities
    whose block does not count. Changes are eigenvalues relative to the mean's matrix.
    """
    mean, draws = matrices[:, :1], matrices[:, 1:]
    if not np.isfinite(matrices).all():
        return np.inf
    block = np.ix_(range(draws.shape[0]), range(draws.shape[1]), left_out, left_out)
    draws[block] = np.broadcast_to(mean, draws.shape)[block]
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(mean))
    except np.linalg.LinAlgError:
        return np.inf
    relative = inverse @ draws @ np.swapaxes(inverse, -1, -2)
    change = np.abs(np.linalg.eigvalsh(relative) - 1).max(-1)
    return float(np.sqrt((change**2).mean(-1)).max())
