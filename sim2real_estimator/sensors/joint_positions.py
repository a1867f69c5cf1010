"""Encoders."""

import numpy as np

from ..errors import ConfigError
from .base import AbstractSensor, Rows


class JointPositions(AbstractSensor):
    """
    Measured coordinates of joints with one degree of freedom, and velocities if asked for.

    values: one position a joint, then one velocity a joint where `velocity_sd` is given.
    """

    def __init__(self, name, model, joints, sd, velocity_sd=None):
        """Take the joints' names, and the standard deviations [rad or m, and per s]."""
        self.name = name
        self.joints = tuple(joints)
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
        self.places, self.sd = np.array(places), np.array(deviations, dtype=float)
        self.value_size = self.row_size = len(places)
        self.slope = np.zeros((self.row_size, model.state_size))
        self.slope[range(self.row_size), self.places] = 1 / self.sd

    def observe(self, robot, q, v):
        """Return nothing: the state is what is measured."""
        return []

    def rows(self, states, outputs, values):
        """Return the `Rows`; a NaN leaves its row empty."""
        error = (states[self.places].T - values) / self.sd
        missing = np.isnan(error)
        slope = np.broadcast_to(self.slope, (len(values), *self.slope.shape))
        if missing.any():
            error = np.where(missing, 0.0, error)
            slope = np.where(missing[..., None], 0.0, slope)
        return Rows(error, by_state=slope)
