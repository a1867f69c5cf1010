"""Encoders of joints with one degree of freedom."""

import math

import numpy as np

from ..errors import ConfigError
from ..records import Sample, Status
from .base import AbstractSensor, Rows, Signal
from .decoding import checked_type, Decoded, JOINT_STATE, stamp_ns
from .joint_places import JointPlaces

# Largest noise by errors of stamps, in standard deviations of a position. Speeds at which it would
# be larger occur in bad intermediate fits, whose errors must not look small because of it.
_MOST_BY_STAMPS = 3.0


class JointPositions(AbstractSensor):
    """
    Measured coordinates of joints with one degree of freedom, and velocities if asked for.

    values: one position a joint, then one velocity a joint where `velocity_sd` is given.
    """

    message_types = (JOINT_STATE,)
    measures_joints = True

    def __init__(self, name, model, joints, sd, velocity_sd=None, message_type=None, stamp_sd=0.0):
        """
        Set the joints' names, and the standard deviations [rad or m, and per s].

        stamp_sd: standard deviation of stamps [s]; times the speed of a joint it adds to the
        noise of its position.
        """
        self.name, self._stamp_sd = name, stamp_sd
        self.message_type = checked_type(self, message_type)
        self.joints = tuple(joints)
        self._has_velocities = velocity_sd is not None
        self._places = JointPlaces(self.joints, (joint.name for joint in model.joints))
        moving = {m.joint.name: m for m in model.moving_joints}
        for joint in self.joints:
            if joint not in moving or moving[joint].joint.kind.position_size != 1:
                raise ConfigError(
                    f"sensor '{name}': joint '{joint}' has no single coordinate "
                    'an encoder could measure; measure it by mocap instead'
                )
        places = [moving[j].positions.start for j in self.joints]
        deviations = [sd] * len(places)
        if velocity_sd is not None:
            places += [model.position_size + moving[j].velocities.start for j in self.joints]
            deviations += [velocity_sd] * len(self.joints)
        speeds = [model.position_size + moving[j].velocities.start for j in self.joints]
        self._speeds, self._position_sd = np.array(speeds), sd
        self.places, self.sd = np.array(places), np.array(deviations, dtype=float)
        self.value_size = self.row_size = len(places)
        self._units = [
            'rad' if moving[j].joint.kind.groups[0].is_rotation else 'm' for j in joints
        ]
        self.slope = np.zeros((self.row_size, model.state_size))
        self.slope[range(self.row_size), self.places] = 1 / self.sd

    @property
    def scale(self):
        """Standard deviations of the values."""
        return self.sd

    @property
    def signals(self):
        """Positions, then velocities."""
        kinds = [('position', '')] + [('velocity', '/s')] * self._has_velocities
        labels = [
            (f'{joint} {word}', f'{unit}{per}')
            for word, per in kinds
            for joint, unit in zip(self.joints, self._units)
        ]
        return tuple(Signal(*each, sd, k) for k, (each, sd) in enumerate(zip(labels, self.sd)))

    def decode(self, message, arrived_ns=None):
        """Return the `Decoded` of a JointState; one about other joints only has no sample."""
        velocity = (message.velocity,) if self._has_velocities else ()
        fields, layout = (message.position, *velocity), self._places.layout(message)
        if layout.is_malformed(*fields):
            return Decoded(statuses=(Status.MALFORMED,))
        if not layout.has_any:
            return Decoded(statuses=layout.remarks)
        read = [layout.read(field) for field in fields]
        # Missing is also a joint that is named, and for which there is no number.
        missing = sum(any(map(math.isnan, numbers)) for numbers in zip(*read))
        values = np.array([number for numbers in read for number in numbers])
        return Decoded(
            (Sample(self.name, stamp_ns(message, arrived_ns), values),),
            layout.remarks + (Status.MISSING_JOINT,) * missing,
        )

    def observe(self, robot, q, v):
        """Return nothing: the state is what is measured."""
        return []

    def rows(self, states, outputs, values):
        """Return the `Rows`; a NaN leaves its row empty."""
        error, slope = (states[self.places].T - values) / self.sd, self.slope[None]
        if self._stamp_sd:
            share = self._shares_of_noise(states)
            error, slope = error * share, slope * share[..., None]
        missing = np.isnan(error)
        if missing.any():
            slope = np.broadcast_to(slope, (len(values), *slope.shape[1:])).copy()
            error[missing], slope[missing] = 0.0, 0.0
        return Rows(error, by_state=slope)

    def _shares_of_noise(self, states):
        """Return [B, k] what part of all uncertainty of a row is noise; the rest is by stamps."""
        share = np.ones((states.shape[1], self.row_size))
        by_stamps = self._stamp_sd * np.abs(states[self._speeds].T) / self._position_sd
        share[:, : len(self.joints)] = 1 / np.hypot(1, np.minimum(by_stamps, _MOST_BY_STAMPS))
        return share
