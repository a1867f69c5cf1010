"""Gaussian mixtures over state and parameters."""

from dataclasses import dataclass

import numpy as np

from .disturbances import Disturbances
from .factors import lower_root
from .gaussian import each_times, log_normalized
from .noise import NoiseScales


@dataclass(frozen=True)
class Mixture:
    """
    K components with log weights [K].

    points [nx, K]: states; means [p, K]: parameters; roots [K, n, n]: of the covariance of z =
    (local state, parameters); disturbances: `Disturbances` that each component assumes, none if
    not given; noises: of sensors whose noise is estimated; lasting [p, r]: root of the covariance
    that disturbances of size one leave in the parameters, however long they are observed, in
    addition to that of `roots`; None: none.
    """

    log_weights: np.ndarray
    points: np.ndarray
    means: np.ndarray
    roots: np.ndarray
    disturbances: Disturbances | None = None
    noises: NoiseScales | None = None
    lasting: np.ndarray | None = None

    def __post_init__(self):
        """Assume no disturbances if not given."""
        if self.disturbances is None:
            none = Disturbances.none(len(self.log_weights))
            object.__setattr__(self, 'disturbances', none)

    @property
    def size(self):
        """Number of components."""
        return len(self.log_weights)

    @property
    def weights(self):
        """The weights [K], which sum to one."""
        return np.exp(self.log_weights)

    def pick(self, which):
        """Return some of the components, with normalized weights."""
        return Mixture(
            log_normalized(self.log_weights[which]),
            self.points[:, which],
            self.means[:, which],
            self.roots[which],
            self.disturbances.pick(which),
            None if self.noises is None else self.noises.pick(which),
            self.lasting,
        )

    def heaviest(self):
        """Return the index of the component of the largest weight."""
        return int(np.argmax(self.log_weights))

    @property
    def is_finite(self):
        """Whether all numbers are."""
        parts = self.points, self.means, self.roots, self.log_weights
        return all(np.isfinite(part).all() for part in parts)

    def parameter_roots(self):
        """Return the roots of the parameters' covariances [K, p, n], or with more columns."""
        roots = self.roots[:, -len(self.means) :]
        if self.lasting is None:
            return roots
        return np.concatenate([roots, self.disturbances.sizes[:, None, None] * self.lasting], -1)

    def parameter_covariances(self):
        """Return the parameters' covariances [K, p, p]."""
        roots = self.parameter_roots()
        return roots @ np.swapaxes(roots, -1, -2)

    def moments(self):
        """Return the mean [p] and the covariance [p, p] of the parameters."""
        mean = self.means @ self.weights
        away = self.means - mean[:, None]
        covariance = np.einsum('k,kij->ij', self.weights, self.parameter_covariances())
        return mean, covariance + (away * self.weights) @ away.T

    def along(self, direction):
        """Return the mean and the variance of a direction [p] times the parameters."""
        means = direction @ self.means
        mean = float(means @ self.weights)
        variances = ((direction @ self.parameter_roots()) ** 2).sum(-1)
        return mean, float(self.weights @ (variances + (means - mean) ** 2))

    def spread(self):
        """Return the mean [p] and a root [p, p] of the covariance of the parameters."""
        mean, shares = self.means @ self.weights, np.sqrt(self.weights)
        away = shares * (self.means - mean[:, None])
        wide = np.concatenate([*(shares[:, None, None] * self.parameter_roots()), away], 1)
        return mean, lower_root(wide[None])[0]

    def draw(self, count, generator):
        """Return draws [p, count] of the parameters."""
        chosen = generator.choice(self.size, count, p=self.weights / self.weights.sum())
        roots = self.parameter_roots()
        noise = generator.standard_normal((count, roots.shape[-1])).T
        return self.means[:, chosen] + each_times(roots, chosen, noise)


def distances(means, informations):
    """Return squared Mahalanobis distances [K, K], from k to j in the metric of k."""
    away = means.T[None] - means.T[:, None]
    return np.einsum('kja,kab,kjb->kj', away, informations, away)


def distinct(order, squared, limit=0.5, comparable=None):
    """
    Return the indices of `order` that are not within a squared distance `limit` of an earlier one.

    squared [K, K]: in the metric of the row, the earlier one; comparable [K, K]: which components
    may be compared.
    """
    is_near = squared < limit
    np.fill_diagonal(is_near, False)
    if comparable is not None:
        is_near &= comparable
    if not is_near.any():
        return [int(index) for index in order]
    kept = []
    for index in order:
        if not is_near[kept, index].any():
            kept.append(int(index))
    return kept
