"""
Process noise of a robot's state: input noise, and disturbances as Gauss-Markov states.

Unmodelled efforts and the accelerations of prescribed joints are part of the state, as
Gauss-Markov processes. `DisturbanceStates` propagates them; `ProcessNoise` has the standard
deviations that a frame adds to the state; the functions below have the units of both, usual
efforts of the robot.
"""

from functools import cached_property

import numpy as np

from ..dynamics.decay_rates import random_pose
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.rnea import inverse_dynamics
from ..model.robot import realize
from ..parameters.parametrization import DirectParametrization

# Below this multiple of the speed over which friction changes sign, its model is least certain.
_SLOW = 3.0
# Usual acceleration of a prescribed joint over that by a usual effort: a joint that swings fast
# reaches four and a half. A larger value costs nothing; a smaller one lets such motions be taken
# for a change of the robot.
_FASTER = 5.0
# Random poses by which usual efforts are averaged.
_POSES = 20
# Unit of disturbances of a joint with Coulomb friction, as a multiple of that: the usual scales of
# a hundredth to a tenth are then 3 to 30 % of the friction.
_FRICTIONS = 10 / 3
# Bounds of the ratio of estimated to expected friction by which disturbances are scaled.
_LEAST, _MOST = 0.2, 5.0


class ProcessNoise:
    """
    Process noise of frames: a floor, the disturbance states', and input noise of unknown efforts.

    All are standard deviations of the state's local coordinates: positions, velocities,
    disturbance states.
    """

    def __init__(self, parameters, options, disturbance, ratios, names):
        """
        Take the `Parameters`, `ProblemOptions`, `DisturbanceStates` and `FrictionRatios`.

        names: of all inputs of a frame.
        """
        self._parameters, self._options, self._disturbance = parameters, options, disturbance
        self._ratios = ratios
        model = parameters.model
        self._names = tuple(names)
        self._nv = model.velocity_size
        self._velocities = slice(model.position_size, model.state_size)

    def unknown_efforts(self, frame):
        """Return the names of the inputs that are unknown during part of a frame."""
        # Commands of prescribed joints are not needed.
        prescribed = self._disturbance.places
        found = (self._names[k] for k in frame.unknown if k not in prescribed)
        return tuple(dict.fromkeys(found))

    def of_frames(self, frames, decay, disturbances, parameters, states):
        """
        Return the process noise of consecutive frames, [H, K, t].

        decay [H, k]: of the disturbance states over each frame, None where there are none;
        disturbances: `Disturbances` of K columns; parameters [p, K]: have the friction; states
        [H + 1, nx, K]: before and after.
        """
        result = np.empty((len(frames), len(disturbances), len(self._least)))
        result[:] = self._least
        for added, frame in zip(result, frames):
            added += self.input_noise(frame)
        if decay is None:
            return result
        result[..., 2 * self._nv :] += self._of_disturbances(decay, disturbances, states)
        if disturbances.sizes.any():
            result[..., -self._disturbance.disturbance_size :] *= self._ratios.of(parameters)
        return result

    def _of_disturbances(self, decay, disturbances, states):
        """
        Return the process noise [H, K, k] of disturbance states; arguments as of `of_frames`.

        It keeps each at its stationary deviation s: q = s sqrt(1 - decay^2), or, where s depends
        on speed, what lacks of s after the frame.
        """
        if not self.depends_on_speed(disturbances):
            return (
                self._disturbance.deviations(disturbances.sizes) * np.sqrt(1 - decay**2)[:, None]
            )
        repeated = disturbances.tiled(len(decay))
        starts, ends = (np.concatenate(each, 1) for each in (states[:-1], states[1:]))
        before, after = (self._deviations(repeated, points) for points in (starts, ends))
        kept = (
            np.repeat(decay, len(disturbances), 0) * self.lasting_part(repeated, starts) * before
        )
        return np.sqrt(after**2 - kept**2).reshape(len(decay), len(disturbances), -1)

    def disturbances(self, disturbances, parameters, points):
        """Return the stationary deviations [K, d] of disturbances at states [nx, K]."""
        rest = self._disturbance.size - self._disturbance.disturbance_size
        return self._deviations(disturbances, points)[:, rest:] * self._ratios.of(parameters)

    def depends_on_speed(self, disturbances):
        """Tell whether some of the `Disturbances` are larger near reversal."""
        return bool(disturbances.of_friction.any())

    def lasting_part(self, disturbances, points):
        """Return the part [K, k] of disturbance states at points that outlasts a frame."""
        return self._disturbance.lasting_part(disturbances, points[self._velocities])

    def input_noise(self, frame):
        """
        Return the noise [t] of a frame with unknown efforts, zero where all are known.

        It is that of usual efforts on all joints, since an effort on one moves the others.
        """
        if not self.unknown_efforts(frame):
            return np.zeros(len(self._least))
        return self.impulse(frame)

    def impulse(self, frame):
        """Return by how much usual efforts change the state in a frame, [t]."""
        result, length = np.zeros(len(self._least)), 1e-9 * (frame.end_ns - frame.start_ns)
        result[self._nv : 2 * self._nv] = length * self._usual_accelerations
        return result

    def loses_sight(self, frame):
        """Tell whether the state is lost in a frame, after a gap or by unknown efforts."""
        if frame.after_gap or not self.unknown_efforts(frame):
            return frame.after_gap
        length = 1e-9 * (frame.end_ns - frame.start_ns)
        return bool((length * self.input_noise(frame) > self._options.position_sd).any())

    def _deviations(self, disturbances, points):
        """Return the stationary deviations [K, k] of disturbance states at points [nx, K]."""
        velocities = points[self._velocities]
        return self._disturbance.deviations_at(disturbances, velocities)

    @cached_property
    def _least(self):
        """The floor of the process noise of every frame, [t]."""
        sizes = [self._nv, self._nv, self._disturbance.size]
        floors = [self._options.position_floor, self._options.velocity_floor, 0.0]
        return np.repeat(floors, sizes)

    @cached_property
    def _usual_accelerations(self):
        return usual_accelerations(self._parameters)


class DisturbanceStates:
    """
    The entries of a state after q and v: Gauss-Markov processes that each act on one velocity.

    In this order:
    1. The accelerations of prescribed joints. Each is the integral of a rate.
    2. These rates, first-order Gauss-Markov processes (Singer's model of a manoeuvre, one
       derivative higher).
    3. The disturbances, if enabled: efforts of unknown origin on all other velocities, first-order
       Gauss-Markov processes that are constant during a frame and decay at its end.
    All are in units of what is usual, see `effort_scales`.

    A friction model is least certain near reversal. Disturbances of
    that kind therefore have another part there, as large as the friction, that is independent from
    frame to frame.

    size: number of all entries k; prescribed: velocities of prescribed joints; disturbance_size:
    number of disturbances d; disturbance_share: the unit of disturbances over the usual effort,
    the least of all joints; disturbed [d]: velocities that disturbances act on; places: of the
    commands of prescribed joints among the model's commands.
    """

    def __init__(self, parameters, times, accelerations=None, values=None):
        """
        Take the units and correlation times.

        times: correlation times [s] of rates and disturbances, the latter None where there are no
        disturbances; accelerations: prescribed joint -> usual size of its acceleration [rad/s^2 or
        m/s^2], where known; values: name of a parameter -> expected value, where that is not the
        one of the robot description.
        """
        self._velocity_size = parameters.model.velocity_size
        prescribed = sorted(realize(parameters, {}).prescribed_velocities)
        commands = _commands_by_velocity(parameters.model)
        others = [k for k in range(self._velocity_size) if k not in prescribed]
        disturbed = [] if times[1] is None else others
        self.places = frozenset(commands[k] for k in prescribed if k in commands)
        self.prescribed, self.disturbance_size = tuple(prescribed), len(disturbed)
        self.size = 2 * len(prescribed) + len(disturbed)
        self._split = len(prescribed)
        targets = [*prescribed, *disturbed]
        units = _units(parameters, prescribed, accelerations or {})
        units[disturbed] = disturbance_units(parameters, values or {})[disturbed]
        shares = units[disturbed] / effort_scales(parameters)[disturbed]
        self.disturbance_share = float(shares.min()) if disturbed else 0.0
        self._units = units[targets]
        # A slice is faster than an index array.
        is_all = targets == list(range(self._velocity_size))
        self._targets = slice(None) if is_all else np.array(targets, dtype=int)
        frictions, speeds = friction_parts(parameters, values or {})
        self.disturbed, self._frictions = np.array(disturbed, dtype=int), frictions[disturbed]
        self._slow = _SLOW * speeds[disturbed]
        self._rates = slice(len(prescribed), 2 * len(prescribed))
        self._by_value, self._by_rate = np.zeros((2, self._velocity_size, self.size))
        for unit, velocity, value in zip(self._units, targets, self._acting(np.arange(self.size))):
            self._by_value[velocity, value] = unit
        for velocity, rate in zip(prescribed, range(*self._rates.indices(self.size))):
            self._by_rate[velocity, rate] = units[velocity]
        self._time = times[0]
        entries = [np.inf, times[0], times[1] or np.inf]
        repeats = [len(prescribed), len(prescribed), len(disturbed)]
        self._times = np.repeat(entries, repeats)[:, None]

    @property
    def control_size(self):
        """Number of controls of the simulation they become: one for every velocity, or none."""
        return self._velocity_size if self.size else 0

    def controls(self, values, durations):
        """
        Return the controls [S, nv, B] by values [k, B] during the steps that follow.

        durations [S, B]: of these steps.
        """
        acting = np.repeat(self._acting(values)[None], len(durations), 0)
        if self._split:
            acting[:, : self._split] += values[self._rates] * _middles(durations)[:, None]
        return self._placed(acting)

    def decaying_controls(self, values, elapsed):
        """Return the controls [S, nv, B] expected of values [k, B] after times [S] [s]."""
        decay = self._acting(self.long_term_decay(elapsed))
        return self._placed(self._acting(values) * decay.T[..., None])

    def _acting(self, values):
        """Return the rows of values [k, B] that act on velocities: all but the rates."""
        if not self._split:
            return values
        return np.concatenate([values[: self._split], values[2 * self._split :]])

    def _placed(self, acting):
        """Return controls [S, nv, B] in SI units from those that act, [S, ., B]."""
        result = np.zeros((len(acting), self._velocity_size, acting.shape[-1]))
        result[:, self._targets] = self._units[:, None] * acting
        return result

    def by_disturbance(self, by_controls, durations):
        """
        Return derivatives [B, n, k] by the values from those by controls [B, n, S, nu].

        durations [S, B]: of the steps.
        """
        by_force = by_controls[..., -self._velocity_size :][..., self._targets] * self._units
        whole, split = by_force.sum(2), self._split
        if not split:
            return whole
        by_rate = np.einsum('bnsk,sb->bnk', by_force[..., :split], _middles(durations))
        return np.concatenate([whole[..., :split], by_rate, whole[..., split:]], -1)

    def slopes_of_controls(self, durations):
        """Return derivatives [S, nv, k] of `controls` by the values; durations [S, 1]."""
        return self._by_value + _middles(durations)[:, :, None] * self._by_rate

    def by_disturbance_later(self, by_controls, values, slopes):
        """
        Return derivatives [B, n] by a delay, of which slopes [S, B] are those of durations.

        by_controls [B, n, S, nu]; values [k, B]: whose rates act for longer or shorter then.
        """
        by_force = by_controls[..., -self._velocity_size :][..., self._targets] * self._units
        prescribed = by_force[..., : self._split]
        return np.einsum('bnsk,kb,sb->bn', prescribed, values[self._rates], _middles(slopes))

    def propagated(self, values, lengths):
        """Return values [k, B] after times [B] [s]: rates integrated, nothing decayed."""
        split = self._split
        if not split:
            return values
        values = values.copy()
        values[:split] += values[self._rates] * lengths
        return values

    def transition(self, lengths):
        """Return the derivative [B, k, k] of `propagated` by the values; lengths [B] [s]."""
        result, split = np.zeros((len(lengths), self.size, self.size)), self._split
        np.einsum('bii->bi', result)[:] = 1.0
        np.einsum('bii->bi', result[:, :split, split : 2 * split])[:] = lengths[:, None]
        return result

    def decay(self, lengths):
        """Return the factors [k, B] by which they decay in times [B] [s] of one frame."""
        return np.exp(-lengths / self._times)

    def long_term_decay(self, lengths):
        """
        Return the factors [k, B] by which they are expected to decay in times [B] [s].

        Over many frames accelerations of prescribed joints decay as well, which keep within one.
        """
        return np.exp(-lengths / np.minimum(self._times, self._time))

    def deviations(self, sizes):
        """Return the stationary standard deviations [K, k] of disturbances of sizes [K]."""
        result = np.ones((len(sizes), self.size))
        result[:, self._rates] = 1 / self._time
        result[:, 2 * self._split :] = sizes[:, None]
        return result

    def deviations_at(self, disturbances, velocities):
        """Return those of `Disturbances` at velocities [nv, K], with the part near reversal."""
        result = self.deviations(disturbances.sizes)
        at_reversal = self._at_reversal(disturbances, velocities)
        result[:, 2 * self._split :] = np.hypot(disturbances.sizes[:, None], at_reversal)
        return result

    def lasting_part(self, disturbances, velocities):
        """Return the part [K, k] of each that outlasts a frame; arguments as of the last."""
        sizes = disturbances.sizes
        result = np.ones((len(sizes), self.size))
        # Without disturbances nothing has to decay.
        lasting = np.where(sizes > 0, sizes, 1.0)[:, None] ** 2
        at_reversal = self._at_reversal(disturbances, velocities)
        result[:, 2 * self._split :] = lasting / (lasting + at_reversal**2)
        return result

    def _at_reversal(self, disturbances, velocities):
        """Return the standard deviations [K, d] of the part near reversal."""
        speeds = velocities[self.disturbed].T / self._slow
        of_friction = disturbances.of_friction[:, None]
        return np.where(of_friction, self._frictions / (1 + speeds**2), 0.0)


def _middles(durations):
    """Return the times [S, B] of the middle of steps since the start of the first."""
    return np.cumsum(durations, 0) - 0.5 * durations


def _units(parameters, prescribed, accelerations):
    """Return the unit of every velocity [nv]: a usual effort, an acceleration if prescribed."""
    units, usual = effort_scales(parameters), usual_accelerations(parameters)
    for moving in parameters.model.moving_joints:
        for k in range(*moving.velocities.indices(len(units))):
            if k in prescribed:
                units[k] = accelerations.get(moving.joint.name, _FASTER * usual[k])
    return units


def _commands_by_velocity(model):
    """Return {velocity: place of the command that acts on it}."""
    taking = [
        m for m in model.moving_joints if m.is_independent and m.joint.actuator.takes_command
    ]
    velocities = [k for m in taking for k in range(*m.velocities.indices(model.velocity_size))]
    return dict(zip(velocities, range(len(velocities))))


class FrictionRatios:
    """
    Ratios of estimated to expected Coulomb friction, by which disturbances of joints are scaled.

    Most of what a model lacks of a joint is proportional to its friction, so a joint with more
    friction than expected is disturbed more.
    """

    def __init__(self, parameters, parametrization, values, disturbed):
        """
        Take the parameters and their parametrization.

        values: name -> expected value of a parameter; disturbed [d]: velocities with disturbances.
        """
        self._parametrization, apart, found = parametrization, parametrization.inner.apart, {}
        for moving in parameters.model.moving_joints:
            name = f'{moving.joint.name}.friction'
            expected = values.get(name, parameters[name].nominal)
            if name in parametrization.names and expected > 0:
                row = parametrization.names.index(name), expected
                found |= dict.fromkeys(range(moving.velocities.start, moving.velocities.stop), row)
        self._columns = [k for k, velocity in enumerate(disturbed) if velocity in found]
        known = [found[disturbed[k]] for k in self._columns]
        self._rows = [row for row, _ in known]
        # Friction depends on its own coordinates only, so no body has to be evaluated.
        own = {
            parametrization.names[row]: apart.priors[parametrization.names[row]]
            for row in self._rows
        }
        self._frictions = DirectParametrization(own, straight=apart.straight)
        self._expected = np.array([expected for _, expected in known])
        self._size, self._latest = len(disturbed), (None, None)

    def of(self, parameters):
        """Return the ratios [K, d] of coordinates [p, K]; one where friction is not estimated."""
        if not self._columns:
            return np.ones((parameters.shape[1], self._size))
        # A frame asks more than once for the same parameters.
        if self._latest[0] is not parameters:
            result = np.ones((parameters.shape[1], self._size))
            frictions = self._frictions.to_named(
                self._parametrization.embed(parameters)[self._rows]
            )
            result[:, self._columns] = (frictions.T / self._expected).clip(_LEAST, _MOST)
            self._latest = parameters, result
        return self._latest[1]


def disturbance_units(parameters, values):
    """
    Return the unit of disturbances of every velocity [N m or N], [nv].

    It is proportional to the joint's Coulomb friction, as most of what a model lacks is, whether
    of a wrist that carries nothing or of a shoulder that carries all; without friction it is a
    usual effort. values: name -> expected value, where that is not the nominal one.
    """
    units = effort_scales(parameters)
    for moving in parameters.model.moving_joints:
        name = f'{moving.joint.name}.friction'
        friction = values.get(name, parameters[name].nominal)
        if friction > 0:
            units[moving.velocities] = _FRICTIONS * friction
    return units


def friction_parts(parameters, values):
    """
    Return (Coulomb friction [nv] in units of disturbances, speeds [nv] over which it reverses).

    values: as of `disturbance_units`. Joints without friction have zero, and a speed of one.
    """
    nv = parameters.model.velocity_size
    frictions, speeds = np.zeros(nv), np.ones(nv)
    for moving in parameters.model.moving_joints:
        names = (f'{moving.joint.name}.{what}' for what in ('friction', 'friction_velocity'))
        friction, speed = (values.get(name, parameters[name].nominal) for name in names)
        if friction > 0:
            frictions[moving.velocities], speeds[moving.velocities] = 1 / _FRICTIONS, speed
    return frictions, speeds


def usual_accelerations(parameters):
    """Return the acceleration of every velocity by its usual effort, [nv]."""
    return effort_scales(parameters) / _holding_and_inertia(parameters)[1].mean(0)


def effort_scales(parameters):
    """
    Return the usual effort of every velocity [N m or N], [nv].

    Its square is the mean square, over random poses of the nominal robot, of the effort that holds
    it against gravity, plus that of the effort for a unit acceleration.
    """
    holding, inertia = _holding_and_inertia(parameters)
    return np.sqrt((holding**2 + inertia**2).mean(0))


def _holding_and_inertia(parameters):
    """Return holding efforts and diagonals of the mass matrix in random poses, [poses, nv]."""
    model, robot = parameters.model, realize(parameters, {})
    generator = np.random.default_rng(11)
    still, rows = [0.0] * model.velocity_size, []
    for _ in range(_POSES):
        q = random_pose(model, generator)
        matrix = mass_matrix(robot, q)
        diagonal = [matrix[k][k] for k in range(len(matrix))]
        rows.append((inverse_dynamics(robot, q, still, still), diagonal))
    holding, inertia = zip(*rows)
    return np.array(holding, dtype=float), np.array(inertia, dtype=float)
