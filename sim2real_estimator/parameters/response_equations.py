"""What all parameters have in common that respond alike, in as few equations as can be."""

import numpy as np

from .compiled_responses import CompiledResponses

# Slopes of fewer points times parameters than this are there before a program is built.
_WORTH_A_PROGRAM = 40
# How many more responses than equations are looked at, where they can be many.
_SPARE = 2
_RANK_TOLERANCE = 1e-5


class ResponseEquations:
    """
    As many equations as data can tell combinations.

    Points are parameters as standard deviations of the prior off its mean, [B, p]. At the mean
    the slopes are orthonormal, so the equations hardly depend on one another anywhere near.
    """

    def __init__(self, responses, rank, is_compiled):
        """Take the `Responses`, how many combinations data can tell, and how to evaluate."""
        self._parametrization, size = responses.parametrization, responses.size
        at_mean = responses.slopes(self._parametrization.prior.mean[:, None])[1][0]
        at_mean = self._parametrization.by_whitened(at_mean)
        kinds = len(responses.scale) // responses.situations.count
        # [kinds, situations, p]
        at_mean = at_mean.reshape(kinds, -1, size)
        if is_compiled:
            moving = responses.system.model.velocity_size
            is_observed = bool(at_mean[moving:].any())
            responses = CompiledResponses(responses, is_observed)
            at_mean = at_mean[: responses.kinds]
            self._slopes, situations = responses.slopes, _enough(at_mean, rank)
            at_mean, self._how = at_mean[:, :situations], (situations,)
        else:
            self._slopes, self._how = responses.slopes, ()
        self._values = responses.values
        left, sizes, _ = np.linalg.svd(at_mean.reshape(-1, size), full_matrices=False)
        self._reduction = (left[:, :rank] / sizes[:rank]).T

    def point(self, coordinates):
        """Return the points [B, p] of coordinates [p, B]."""
        return self._parametrization.whitened(coordinates)

    def coordinates(self, points):
        """Return the coordinates [p, B] of points [B, p]."""
        return self._parametrization.unwhitened(points)

    def sides(self, points):
        """Return the left sides [B, r] of the equations and their slopes [B, r, p]."""
        values, slopes = self._slopes(self.coordinates(points), *self._how)
        slopes = self._parametrization.by_whitened(self._reduction @ slopes)
        return values.T @ self._reduction.T, slopes

    def mismatch(self, points, others):
        """Return by how much [B] the responses of points differ at most from those of others."""
        here, there = (self._values(self.coordinates(each)) for each in (points, others))
        return np.abs(here - there).max(0)


def _enough(slopes, rank):
    """Return how many situations, the first ones, tell all that slopes [kinds, S, p] tell."""
    kinds, all_of_them, size = slopes.shape
    for count in range(-(-_SPARE * rank // kinds), all_of_them):
        sizes = np.linalg.svd(slopes[:, :count].reshape(-1, size), compute_uv=False)
        if len(sizes) >= rank and sizes[rank - 1] > _RANK_TOLERANCE * sizes[0]:
            return count
    return all_of_them


def is_worth_a_program(size, points):
    """Tell whether equations of so many parameters and points are better compiled."""
    return size * points > _WORTH_A_PROGRAM
