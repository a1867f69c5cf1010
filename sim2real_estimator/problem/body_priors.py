"""What the priors of a body's single numbers say of the body about the frame of its link."""

import math

import numpy as np

from ..model.body_numbers import about_frame, are_possible, at_centre, inertias, second_moments

_DRAWS, _SEED = 20000, 11
# Where a smaller share of draws can be built the description is next to an edge, as a rod is, and
# bodies are stretched and sheared from it: what comes of one that can be built can be built.
_FEWEST = 0.05
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


def _relative_sd(prior):
    return prior.sd if prior.is_log else prior.sd / abs(prior.mean)


def drawn(prior, noise):
    """Return values of a `Prior` from draws of the standard normal distribution."""
    return prior.mean * np.exp(prior.sd * noise) if prior.is_log else prior.mean + prior.sd * noise
