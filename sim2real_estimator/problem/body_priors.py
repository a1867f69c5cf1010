"""What the priors of a body's single numbers say of the body about the frame of its link."""

import math

import numpy as np

from ..model.body_numbers import about_frame, are_possible, at_centre

_DRAWS, _SEED = 20000, 11
# Where a smaller share of draws can be built, all count: the description itself is at an edge.
_FEWEST = 0.05
# How many more bodies are drawn than are needed on average.
_SPARE, _AT_LEAST = 1.2, 20


class BodyPrior:
    """
    Bodies whose ten numbers are drawn from priors of their own, as long as they can be built.

    mean [10], root [10, 10]: of the numbers of `BodyInertia`, in which torques are linear, and of
    their covariance; means, deviations [10]: of mass, centre of mass and inertia about it.
    """

    def __init__(self, priors, are_checked):
        """Take the ten `Prior`s, and whether bodies have to be such as can be built."""
        self._priors = tuple(priors)
        bodies = self._drawn(_DRAWS, np.random.default_rng(_SEED))
        possible = are_possible(bodies)
        share = float(possible.mean())
        self._share = share if are_checked and share >= _FEWEST else None
        bodies = bodies if self._share is None else bodies[possible]
        self.mean = bodies.mean(0)
        # Of the draws, not of their covariance: a body may be next to a point.
        self.root = np.linalg.qr(bodies - self.mean, mode='r').T / math.sqrt(len(bodies) - 1)
        mass, centre, inertia = at_centre(bodies)
        numbers = np.concatenate([mass[:, None], centre, inertia], 1)
        self.means, self.deviations = numbers.mean(0), numbers.std(0)

    def draw(self, count, generator):
        """Return draws [count, 10] about the link's frame."""
        if self._share is None:
            return self._drawn(count, generator)
        bodies = self._drawn(math.ceil(_SPARE * count / self._share) + _AT_LEAST, generator)
        # Those that cannot be built come last, where there are ever too few of the others.
        return bodies[np.argsort(~are_possible(bodies), kind='stable')[:count]]

    def _drawn(self, count, generator):
        noise = generator.standard_normal((len(self._priors), count))
        numbers = np.stack([drawn(prior, row) for prior, row in zip(self._priors, noise)], 1)
        return about_frame(numbers[:, 0], numbers[:, 1:4], numbers[:, 4:])


def drawn(prior, noise):
    """Return values of a `Prior` from draws of the standard normal distribution."""
    return prior.mean * np.exp(prior.sd * noise) if prior.is_log else prior.mean + prior.sd * noise
