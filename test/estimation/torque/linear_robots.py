"""A toy robot whose torques are linear in a few numbers, for tests of least squares on torques."""

from dataclasses import dataclass, field

import numpy as np

from sim2real_estimator.estimation.protocol import Gaussian, ModelChange
from sim2real_estimator.estimation.torque.regression import Rows

JOINTS, SIZE = 2, 4
LIMITS = np.array([50.0, 20.0])
# The numbers are 'mass' and three of joints; the first joint feels the first three, the second
# one the first and the last.
FELT = np.array([[1.0, 1.0, 1.0, 0.0], [0.6, 0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class LinearRobot:
    """
    Torques u_j = c_j Y_j x, of coordinates x [p]: four numbers, and a gain for each joint.

    positive: numbers of coordinates; is_friction: of each of the four numbers; own: numbers of
    what only one joint feels.
    """

    limits: np.ndarray = field(default_factory=lambda: LIMITS)
    positive: np.ndarray = field(default_factory=lambda: np.array([2]))
    is_friction: np.ndarray = field(default_factory=lambda: np.array([False, False, True, False]))
    has_gains: bool = False

    joints = ('first', 'second')
    own = ((1, 2), (3,))

    @property
    def prior(self):
        """What is known beforehand."""
        deviations = np.array([3.0, 3.0, 3.0, 3.0, *[0.02] * (JOINTS * self.has_gains)])
        mean = np.array([1.0, 0.0, 1.0, 0.0, *[1.0] * (JOINTS * self.has_gains)])
        return Gaussian(mean, np.diag(deviations))

    def standard(self, coordinates):
        """Return the four numbers and their slope."""
        return coordinates[:SIZE], np.eye(SIZE, len(coordinates))

    def scales(self, coordinates):
        """Return measured torques over true ones [J] and their slope."""
        slope = np.zeros((JOINTS, len(coordinates)))
        if not self.has_gains:
            return np.ones(JOINTS), slope
        gains = coordinates[SIZE:]
        slope[range(JOINTS), range(SIZE, SIZE + JOINTS)] = -1 / gains**2
        return 1 / gains, slope

    def model_changes(self):
        """Return a body that is picked up, friction of the second joint, and gains."""
        size = len(self.prior.mean)
        body, inside = np.zeros((2, size, 1))
        body[0], inside[3] = 2.0, 2.0
        gains = 0.3 * np.eye(size)[SIZE:, :, None]
        return (
            ModelChange('mass on hand', ('hand.mass',), body, np.ones((10, 1)), 'hand'),
            ModelChange('friction of second', ('second.friction',), inside),
            *(
                ModelChange(f'gain of {joint}', (f'{joint}.gain',), gain)
                for joint, gain in zip(self.joints, gains)
            ),
        )


def rows_of(truth, count, rng, sd=(0.3, 0.1), scales=(1.0, 1.0), memory=0.0):
    """
    Return `Rows` of a robot with true numbers [4]; all joints move all the time.

    sd [J]: of the noise of rows; memory: correlation of the noise of one row with the next.
    """
    columns = FELT * rng.standard_normal((count, JOINTS, SIZE)) * 3.0
    noise = rng.standard_normal((count, JOINTS))
    for k in range(1, count):
        noise[k] = memory * noise[k - 1] + np.sqrt(1 - memory**2) * noise[k]
    torques = np.array(scales) * (columns @ np.asarray(truth)) + np.array(sd) * noise
    return Rows(columns, torques, np.ones((count, JOINTS)))
