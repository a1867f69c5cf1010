"""What happens to the state of a robot besides what is simulated."""

from functools import cached_property

import numpy as np

from ..estimation.disturbances import are_of_friction
from .effort_scales import usual_accelerations


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
