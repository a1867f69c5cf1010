"""What moves a robot besides its inputs."""

import numpy as np

from ..estimation.disturbances import are_of_friction
from ..model.robot import realize
from .effort_scales import (
    disturbance_units,
    effort_scales,
    friction_parts,
    usual_accelerations,
)

# So many times the speed at which friction turns round its model of it knows least.
_SLOW = 3.0
# What drives a joint accelerates it so many times as much as a usual effort would: a joint that
# swings fast reaches four and a half. Too much of it costs nothing, too little is taken for a
# change of the robot.
_FASTER = 5.0


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
