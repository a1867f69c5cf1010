"""By how much more friction the joints of a robot have than was expected."""

import numpy as np

from ..parameters.parametrization import DirectParametrization

# What is expected may be wrong by so much; farther off an estimate is not followed.
_LEAST, _MOST = 0.2, 5.0


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
