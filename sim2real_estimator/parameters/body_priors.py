"""What the priors of a body's single numbers say of the body about the frame of its link."""

import math

import numpy as np

from ..model.body_numbers import about_frame, are_possible, at_centre, inertias, second_moments

_DRAWS, _SEED = 20000, 11
# Where a smaller share of draws can be built the description is next to an edge, as a rod is, and
# bodies are stretched and sheared from it: what comes of one that can be built can be built.
_FEWEST = 0.05
# Of the second moments of a body that may hang on one, what a direction has at the least.
_LEAST_PART = 1e-3
# Half the distance between these quantiles stands for a standard deviation: centres of bodies that
# may be of no mass have none.
_MIDDLE = (0.1587, 0.8413)
# How many more bodies are drawn than are needed on average.
_SPARE, _AT_LEAST = 1.2, 20


class BodyPrior:
    """
    Bodies whose ten numbers are drawn from priors of their own, as long as they can be built.

    is_slender: whether too few of these can, and the whole inertia is drawn at once; mean [10],
    root [10, 10]: of the numbers of `BodyInertia`, in which torques are linear, and of their
    covariance; means, deviations [10]: of mass, centre of mass and inertia about it.
    """

    def __init__(self, priors, are_checked):
        """Take the ten `Prior`s, and whether bodies have to be such as can be built."""
        self._priors, self._share = tuple(priors), None
        bodies = self._drawn(_DRAWS, np.random.default_rng(_SEED))
        possible = are_possible(bodies)
        share = float(possible.mean())
        self.is_slender = are_checked and share < _FEWEST
        if self.is_slender:
            bodies = self._stretched(_DRAWS, np.random.default_rng(_SEED))
        elif are_checked:
            self._share, bodies = share, bodies[possible]
        self.mean = bodies.mean(0)
        # Of the draws, not of their covariance: a body may be next to a point.
        self.root = np.linalg.qr(bodies - self.mean, mode='r').T / math.sqrt(len(bodies) - 1)
        mass, centre, inertia = at_centre(bodies)
        numbers = np.concatenate([mass[:, None], centre, inertia], 1)
        self.means, self.deviations = numbers.mean(0), numbers.std(0)

    def draw(self, count, generator):
        """Return draws [count, 10] about the link's frame."""
        if self.is_slender:
            return self._stretched(count, generator)
        if self._share is None:
            return self._drawn(count, generator)
        bodies = self._drawn(math.ceil(_SPARE * count / self._share) + _AT_LEAST, generator)
        # Those that cannot be built come last, where there are ever too few of the others.
        return bodies[np.argsort(~are_possible(bodies), kind='stable')[:count]]

    def _drawn(self, count, generator):
        noise = generator.standard_normal((len(self._priors), count))
        numbers = np.stack([drawn(prior, row) for prior, row in zip(self._priors, noise)], 1)
        return about_frame(numbers[:, 0], numbers[:, 1:4], numbers[:, 4:])

    def _stretched(self, count, generator):
        """Return bodies [count, 10] of stretched and sheared inertias, the rest as `_drawn`."""
        bodies = self._drawn(count, generator)
        mass, centre, _ = at_centre(bodies)
        means = np.array([prior.mean for prior in self._priors[4:]])
        moments, axes = np.linalg.eigh(second_moments(means))
        root = axes * np.sqrt(np.maximum(moments, 0.0))
        sd = np.mean([_relative_sd(prior) for prior in self._priors[4:7]])
        # Moments go with the square of a length.
        stretch = np.exp(sd / 2 * generator.standard_normal((count, 3)))
        change = sd / 4 * generator.standard_normal((count, 3, 3))
        change[:, range(3), range(3)] = stretch
        changed = change @ root
        return about_frame(mass, centre, inertias(changed @ np.swapaxes(changed, 1, 2)))


class PseudoInertiaPrior:
    """
    Bodies near a described one: its pseudo-inertia L L' as L (I + E)(I + E)' L', E normal.

    All can be built, however far off. Attributes are those of `BodyPrior`; what is normal has the
    same covariance to first order.
    """

    is_slender = False

    def __init__(self, body, deviation, mass, size):
        """
        Take the body [10] about its link's frame, and the standard deviation of entries of E.

        mass [kg], size [m]: of a ball that may hang on it, so that a body of nothing may be one.
        """
        self.mean = body
        matrix = pseudo_inertia(body) + np.diag([mass * size**2] * 3 + [mass])
        sizes, axes = np.linalg.eigh(matrix)
        self._root = axes * np.sqrt(np.maximum(sizes, _LEAST_PART * mass * size**2))
        self._deviation = deviation
        columns = []
        for i in range(4):
            for j in range(i, 4):
                change = np.zeros((4, 4))
                change[i, j] = change[j, i] = deviation * (2.0 if i == j else math.sqrt(2.0))
                columns.append(numbers_of(self._root @ change @ self._root.T))
        # Lower triangular, as roots are throughout.
        self.root = np.linalg.qr(np.array(columns), mode='r').T
        drawn = self.draw(_DRAWS, np.random.default_rng(_SEED))
        numbers = np.concatenate([part.reshape(_DRAWS, -1) for part in at_centre(drawn)], 1)
        numbers_here = np.concatenate([np.ravel(part) for part in at_centre(body)])
        low, high = np.quantile(numbers, _MIDDLE, axis=0)
        self.means, self.deviations = numbers_here, (high - low) / 2

    def draw(self, count, generator):
        """Return draws [count, 10] about the link's frame, all of which can be built."""
        change = self._deviation * generator.standard_normal((count, 4, 4))
        root = self._root @ (np.eye(4) + change)
        # The square of the change adds to what is expected.
        usual = 1 + 4 * self._deviation**2
        return numbers_of(root @ np.swapaxes(root, 1, 2)) / usual


def pseudo_inertia(body):
    """Return the pseudo-inertia [4, 4] of ten numbers of a body about its link's frame."""
    result = np.empty((4, 4))
    result[:3, :3] = second_moments(body[4:])
    result[:3, 3] = result[3, :3] = body[1:4]
    result[3, 3] = body[0]
    return result


def numbers_of(matrix):
    """Return the ten numbers [..., 10] of bodies of pseudo-inertias [..., 4, 4]."""
    parts = matrix[..., 3:, 3], matrix[..., :3, 3], inertias(matrix[..., :3, :3])
    return np.concatenate(parts, -1)


def _relative_sd(prior):
    return prior.sd if prior.is_log else prior.sd / abs(prior.mean)


def drawn(prior, noise):
    """Return values of a `Prior` from draws of the standard normal distribution."""
    return prior.mean * np.exp(prior.sd * noise) if prior.is_log else prior.mean + prior.sd * noise
