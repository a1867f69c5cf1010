"""All parameters as linear functions of the estimated coordinates, near the modes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..estimation.factors import root_of
from ..estimation.gaussian import each_times

# Eigenvalues of correlations that are only rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Tangents:
    """
    Linearizations of all P parameters as functions of p estimated coordinates, at A places.

    at [p, A]: the places; points [P, A]: all parameters there, the likeliest under the prior of
    those that are observationally equivalent; slopes [A, P, p]: their derivatives; blind
    [A, P, P]: prior covariance in the null space; metric [p, p]: of distances to places.
    """

    at: np.ndarray
    points: np.ndarray
    slopes: np.ndarray
    blind: np.ndarray
    metric: np.ndarray

    def moments(self, mixture):
        """Return the mean [P] and the covariance [P, P] of all parameters of a mixture."""
        mean, root = self.spread(mixture)
        return mean, root @ root.T

    def spread(self, mixture):
        """Return the mean [P] and a root [P, r] of the covariance of all parameters."""
        weights, nearest = mixture.weights, self._nearest(mixture.means)
        means, shares = self.follow(mixture.means), np.sqrt(weights)
        mean = means @ weights
        roots = mixture.parameter_roots()
        first = roots.shape[-1] - roots.shape[-2]
        if not roots[..., :first].any():
            # Columns that are zero, as in the roots of a filter, are left out.
            roots = roots[..., first:]
        observable = shares[:, None, None] * (self.slopes[nearest] @ roots)
        of_places = np.sqrt(np.bincount(nearest, weights, self.at.shape[1]))
        blind = [share * root for share, root in zip(of_places, self._blind_roots)]
        return mean, np.concatenate([*observable, *blind, shares * (means - mean[:, None])], 1)

    @cached_property
    def _blind_roots(self):
        """Roots [P, r] of the covariance in the null space, r its rank, one for every place."""
        return [root_of(covariance, _ROUNDING) for covariance in self.blind]

    def components(self, mixture):
        """Return (weights [K], means [P, K], covariances [K, P, P]) of a mixture."""
        nearest = self._nearest(mixture.means)
        spreads = self.slopes[nearest] @ mixture.parameter_roots()
        covariances = spreads @ np.swapaxes(spreads, 1, 2) + self.blind[nearest]
        return mixture.weights, self.follow(mixture.means), covariances

    def follow(self, estimates):
        """Return all parameters [P, B] at estimates [p, B]: the likeliest ones."""
        nearest = self._nearest(estimates)
        away = estimates - self.at[:, nearest]
        return self.points[:, nearest] + each_times(self.slopes, nearest, away)

    def draw(self, estimates, generator):
        """Return draws [P, B] of all parameters, from draws [p, B] of estimated coordinates."""
        if self.is_straight:
            return self.follow(estimates)
        # By eigenvalues, since the covariance is singular.
        sizes, directions = np.linalg.eigh(self.blind)
        roots = directions * np.sqrt(sizes.clip(0))[:, None]
        noise = generator.standard_normal((estimates.shape[1], self.blind.shape[-1])).T
        nearest = self._nearest(estimates)
        return self.follow(estimates) + each_times(roots, nearest, noise)

    def reach(self, estimates, distance):
        """Tell whether all of some estimates [p, B], one of each place, are within a distance."""
        return estimates.shape == self.at.shape and bool(
            (np.abs(self.metric @ (estimates - self.at)) < distance).all()
        )

    def hold(self, mixture, distance):
        """Tell whether a mixture's mean is within a distance; true where there are more places."""
        mean = (mixture.means @ mixture.weights)[:, None]
        return self.at.shape[1] > 1 or self.is_straight or self.reach(mean, distance)

    @property
    def is_straight(self):
        """Whether there is no null space that could be curved."""
        return not self.blind.any()

    def _nearest(self, estimates):
        """Return the index [B] of the place that is nearest to each estimate [p, B]."""
        if self.at.shape[1] == 1:
            return np.zeros(estimates.shape[1], dtype=int)
        away = self.metric @ (estimates[:, :, None] - self.at[:, None]).reshape(len(self.at), -1)
        squared = (away**2).sum(0).reshape(estimates.shape[1], -1)
        return squared.argmin(1)
