"""What happens to the state of a robot besides what is simulated."""

from functools import cached_property

import numpy as np

from ..dynamics.decay_rates import random_pose
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.rnea import inverse_dynamics
from ..estimation.disturbances import are_of_friction
from ..model.robot import realize
from ..parameters.parametrization import DirectParametrization

# So many times the speed at which friction turns round its model of it knows least.
_SLOW = 3.0
# What drives a joint accelerates it so many times as much as a usual effort would: a joint that
# swings fast reaches four and a half. Too much of it costs nothing, too little is taken for a
# change of the robot.
_FASTER = 5.0
_POSES = 20
# Where a joint has dry friction, a disturbance of one is so many times that: of the usual scales
# those of a hundredth to a tenth are then 3 to 30 % of the friction.
_FRICTIONS = 10 / 3
# What is expected may be wrong by so much; farther off an estimate is not followed.
_LEAST, _MOST = 0.2, 5.0


class ProcessNoise:
    """
    Floors that keep a filter open, disturbances, and efforts that nobody knows.

    All are standard deviations of the state in its tangent: positions, velocities, hidden forces.
    """

    def __init__(self, parameters, options, hidden, ratios, names):
        """
        Take the `Parameters`, `ProblemOptions`, `DisturbanceStates` and `FrictionRatios`.

        names: of all inputs of a frame.
        """
        self._parameters, self._options, self._hidden = parameters, options, hidden
        self._ratios = ratios
        model = parameters.model
        self._names = tuple(names)
        self._nv = model.velocity_size
        self._velocities = slice(model.position_size, model.state_size)

    def unknown_efforts(self, frame):
        """Return the names of the inputs that are missing somewhere in a frame."""
        hidden = self._hidden.places
        found = (self._names[k] for k in frame.unknown if k not in hidden)
        return tuple(dict.fromkeys(found))

    def floors(self, frames, left, scales, parameters, states):
        """
        Return what frames add, [H, K, t].

        left [H, k]: which parts of hidden forces they leave, None where there are none; scales
        [K]: of the disturbances of each column; parameters [p, K]: what friction is told from;
        states [H + 1, nx, K]: before and after.
        """
        result = np.empty((len(frames), len(scales), len(self._least)))
        result[:] = self._least
        for added, frame in zip(result, frames):
            added += self.push(frame)
        if left is None:
            return result
        result[..., 2 * self._nv :] += self._added(left, scales, states)
        if scales.any():
            result[..., -self._hidden.disturbance_size :] *= self._ratios.of(parameters)
        return result

    def _added(self, left, scales, states):
        """Return what is added to hidden forces, [H, K, k]; given as above."""
        if not self.depends_on_speed(scales):
            return self._hidden.deviations(scales) * np.sqrt(1 - left**2)[:, None]
        repeated = np.concatenate([scales] * len(left))
        starts, ends = (np.concatenate(each, 1) for each in (states[:-1], states[1:]))
        before, after = (self._of_hidden(repeated, points) for points in (starts, ends))
        kept = np.repeat(left, len(scales), 0) * self.carried_over(repeated, starts) * before
        return np.sqrt(after**2 - kept**2).reshape(len(left), len(scales), -1)

    def disturbances(self, scales, parameters, points):
        """Return those [K, d] of disturbances of scales [K] at states [nx, K]."""
        rest = self._hidden.size - self._hidden.disturbance_size
        return self._of_hidden(scales, points)[:, rest:] * self._ratios.of(parameters)

    def depends_on_speed(self, scales):
        """Tell whether some disturbances of scales [K] are others where joints turn round."""
        return bool(are_of_friction(scales).any())

    def carried_over(self, scales, points):
        """Return which part [K, k] of hidden forces lasts longer than a frame; given as above."""
        return self._hidden.carried_over(scales, points[self._velocities])

    def push(self, frame):
        """
        Return what unknown efforts do in a frame, [t].

        Where one is unknown, velocities may change by all that efforts usually do; an effort on
        one joint moves all that hang together.
        """
        if not self.unknown_efforts(frame):
            return np.zeros(len(self._least))
        return self.impulse(frame)

    def impulse(self, frame):
        """Return what usual efforts do in a frame, [t]."""
        result, length = np.zeros(len(self._least)), 1e-9 * (frame.end_ns - frame.start_ns)
        result[self._nv : 2 * self._nv] = length * self._usual_accelerations
        return result

    def loses_sight(self, frame):
        """Tell whether after a frame the motion may be anywhere: a new guess tells more of it."""
        if frame.after_gap or not self.unknown_efforts(frame):
            return frame.after_gap
        length = 1e-9 * (frame.end_ns - frame.start_ns)
        return bool((length * self.push(frame) > self._options.position_sd).any())

    def _of_hidden(self, scales, points):
        return self._hidden.deviations(scales, points[self._velocities])

    @cached_property
    def _least(self):
        """What every frame adds, [t]."""
        sizes = [self._nv, self._nv, self._hidden.size]
        floors = [self._options.position_floor, self._options.velocity_floor, 0.0]
        return np.repeat(floors, sizes)

    @cached_property
    def _usual_accelerations(self):
        return usual_accelerations(self._parameters)


class DisturbanceStates:
    """
    The numbers of a state that follow q and v: each acts on one velocity, and fades.

    First those that are always there: the accelerations of driven joints. They are smooth: each
    has a rate, by which it changes, and only the rate does as it likes from frame to frame. The
    rates come second.
    Then, where they are reckoned with, efforts of unknown origin on all other velocities: the
    disturbances, constant during a frame, fading at its end. All in units of what is usual, see
    `effort_scales`.

    Friction is known least near reversal: disturbances that are said to be of friction may be as
    large as it there, besides, and this part is another in every frame.

    size: of them all; standing: velocities of driven joints; disturbance_size: of the last part;
    disturbance_share: what a disturbance of one is of the usual effort of the joint that it
    disturbs least; disturbed [d]: velocities that they act on; places: the commands, as places
    among the model's, of driven joints.
    """

    def __init__(self, parameters, times, accelerations=None, values=None):
        """
        Take what is hidden.

        times: correlation times [s] of the two parts, the second None where no disturbances are
        reckoned with; accelerations: name of a driven joint -> how large its accelerations are
        [rad/s^2 or m/s^2], where that is known; values: name of a parameter -> what it is about,
        if not what the robot description says.
        """
        self._velocity_size = parameters.model.velocity_size
        standing = sorted(realize(parameters, {}).driven_velocities)
        commands = _commands_by_velocity(parameters.model)
        others = [k for k in range(self._velocity_size) if k not in standing]
        disturbed = [] if times[1] is None else others
        self.places = frozenset(commands[k] for k in standing if k in commands)
        self.standing, self.disturbance_size = tuple(standing), len(disturbed)
        self.size = 2 * len(standing) + len(disturbed)
        self._split = len(standing)
        targets = [*standing, *disturbed]
        units = _units(parameters, standing, accelerations or {})
        units[disturbed] = disturbance_units(parameters, values or {})[disturbed]
        shares = units[disturbed] / effort_scales(parameters)[disturbed]
        self.disturbance_share = float(shares.min()) if disturbed else 0.0
        self._units = units[targets]
        # All in their order are taken faster as such than one by one.
        is_all = targets == list(range(self._velocity_size))
        self._targets = slice(None) if is_all else np.array(targets, dtype=int)
        frictions, speeds = friction_parts(parameters, values or {})
        self.disturbed, self._frictions = np.array(disturbed, dtype=int), frictions[disturbed]
        self._slow = _SLOW * speeds[disturbed]
        self._rates = slice(len(standing), 2 * len(standing))
        self._by_value, self._by_rate = np.zeros((2, self._velocity_size, self.size))
        for unit, velocity, value in zip(self._units, targets, self._acting(np.arange(self.size))):
            self._by_value[velocity, value] = unit
        for velocity, rate in zip(standing, range(*self._rates.indices(self.size))):
            self._by_rate[velocity, rate] = units[velocity]
        self._time = times[0]
        entries = [np.inf, times[0], times[1] or np.inf]
        repeats = [len(standing), len(standing), len(disturbed)]
        self._times = np.repeat(entries, repeats)[:, None]

    @property
    def control_size(self):
        """How many controls of the simulation they become: one for every velocity, or none."""
        return self._velocity_size if self.size else 0

    def controls(self, values, durations):
        """Return the controls [S, nv, B] of values [k, B] in steps [S, B] since they held."""
        acting = np.repeat(self._acting(values)[None], len(durations), 0)
        if self._split:
            acting[:, : self._split] += values[self._rates] * _middles(durations)[:, None]
        return self._placed(acting)

    def fading_controls(self, values, elapsed):
        """Return the controls [S, nv, B] that values [k, B] let expect after times [S], on end."""
        return self._placed(
            self._acting(values) * self._acting(self.expected(elapsed)).T[..., None]
        )

    def _acting(self, values):
        """Return the rows of values [k, B] that act, not those that say how others change."""
        if not self._split:
            return values
        return np.concatenate([values[: self._split], values[2 * self._split :]])

    def _placed(self, acting):
        result = np.zeros((len(acting), self._velocity_size, acting.shape[-1]))
        result[:, self._targets] = self._units[:, None] * acting
        return result

    def pushed(self, by_controls, durations):
        """
        Return derivatives [B, n, k] by the values from those by controls [B, n, S, nu].

        durations [S, B]: of the steps since the values held.
        """
        by_force = by_controls[..., -self._velocity_size :][..., self._targets] * self._units
        whole, split = by_force.sum(2), self._split
        if not split:
            return whole
        by_rate = np.einsum('bnsk,sb->bnk', by_force[..., :split], _middles(durations))
        return np.concatenate([whole[..., :split], by_rate, whole[..., split:]], -1)

    def slopes_of_controls(self, durations):
        """Return derivatives [S, nv, k] of the controls by the values, in steps [S, 1]."""
        return self._by_value + _middles(durations)[:, :, None] * self._by_rate

    def pushed_later(self, by_controls, values, slopes):
        """
        Return derivatives [B, n] by what durations change by as slopes [S, B] say.

        values [k, B]: whose rates then have had another time to act.
        """
        by_force = by_controls[..., -self._velocity_size :][..., self._targets] * self._units
        standing = by_force[..., : self._split]
        return np.einsum('bnsk,kb,sb->bn', standing, values[self._rates], _middles(slopes))

    def grown(self, values, lengths):
        """Return values [k, B] after times [B] in which the rates have had their effect."""
        split = self._split
        if not split:
            return values
        values = values.copy()
        values[:split] += values[self._rates] * lengths
        return values

    def growth(self, lengths):
        """Return the derivative [B, k, k] of the values after times [B] by those before."""
        result, split = np.zeros((len(lengths), self.size, self.size)), self._split
        np.einsum('bii->bi', result)[:] = 1.0
        np.einsum('bii->bi', result[:, :split, split : 2 * split])[:] = lengths[:, None]
        return result

    def left(self, lengths):
        """Return which part of each is left after times [B] [s], [k, B]."""
        return np.exp(-lengths / self._times)

    def expected(self, lengths):
        """Return which part of each is to be expected after long times [B] [s], [k, B]."""
        return np.exp(-lengths / np.minimum(self._times, self._time))

    def deviations(self, scales, velocities=None):
        """
        Return the standard deviations [K, k].

        scales [K]: those of disturbances that last; velocities [nv, K]: with what comes besides
        near reversal; None: without.
        """
        result = np.ones((len(scales), self.size))
        result[:, self._rates] = 1 / self._time
        result[:, 2 * self._split :] = scales[:, None]
        if velocities is not None:
            at_reversal = self._at_reversal(scales, velocities)
            result[:, 2 * self._split :] = np.hypot(scales[:, None], at_reversal)
        return result

    def carried_over(self, scales, velocities):
        """Return which part [K, k] of each lasts longer than a frame; arguments as above."""
        result = np.ones((len(scales), self.size))
        # Where nothing disturbs, nothing has to fade.
        lasting = np.where(scales > 0, scales, 1.0)[:, None] ** 2
        at_reversal = self._at_reversal(scales, velocities)
        result[:, 2 * self._split :] = lasting / (lasting + at_reversal**2)
        return result

    def _at_reversal(self, scales, velocities):
        """Return the standard deviations [K, d] of what comes besides near reversal."""
        speeds = velocities[self.disturbed].T / self._slow
        of_friction = are_of_friction(scales)[:, None]
        return np.where(of_friction, self._frictions / (1 + speeds**2), 0.0)


def _middles(durations):
    """Return the times [S, B] of the middle of steps, from the begin of the first."""
    return np.cumsum(durations, 0) - 0.5 * durations


def _units(parameters, driven, accelerations):
    """Return for every velocity what is usual: an effort, or an acceleration where driven."""
    units, usual = effort_scales(parameters), usual_accelerations(parameters)
    for moving in parameters.model.moving_joints:
        for k in range(*moving.velocities.indices(len(units))):
            if k in driven:
                units[k] = accelerations.get(moving.joint.name, _FASTER * usual[k])
    return units


def _commands_by_velocity(model):
    """Return velocity -> the command's place, for all velocities on which a command acts."""
    taking = [
        m for m in model.moving_joints if m.is_independent and m.joint.actuator.takes_command
    ]
    velocities = [k for m in taking for k in range(*m.velocities.indices(model.velocity_size))]
    return dict(zip(velocities, range(len(velocities))))


class FrictionRatios:
    """
    What disturbances of joints are told by: their Coulomb friction, as it is estimated.

    A joint that sticks more than the robot description says is disturbed more, too: what a model
    does not know of it is mostly a part of its friction.
    """

    def __init__(self, parameters, parametrization, values, disturbed):
        """
        Take what is estimated.

        values: name -> friction that is expected; disturbed [d]: velocities.
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
        # No body stands in the way of friction: only its own coordinates are asked.
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
        # A frame asks more than once.
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
    Return for every velocity the effort that a disturbance of one is [N m or N], [nv].

    values: name -> float, of Coulomb friction where it is another than the nominal one. What a
    model does not know of a joint is mostly a part of its friction, be it a wrist that carries
    nothing or a shoulder that carries all. Where there is none, it is a usual effort.
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
    Return (Coulomb friction [nv] in units of disturbances, [nv] the speed at which it turns).

    values: as of `disturbance_units`. Without friction both are such that nothing comes of them.
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
    """Return for every velocity what a usual effort does to it in a second, [nv]."""
    return effort_scales(parameters) / _holding_and_inertia(parameters)[1].mean(0)


def effort_scales(parameters):
    """
    Return for every velocity a usual effort [N m or N], [nv].

    The root mean square, over random poses of the nominal robot, of the effort that holds it
    against gravity, plus the effort for a unit acceleration.
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
