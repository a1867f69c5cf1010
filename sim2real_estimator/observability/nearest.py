"""The parameters nearest to given ones, among all that respond like others."""

import numpy as np

# Of the points of one call; a few do not settle in whatever number.
_ROUNDS = 40
# As standard deviations of the prior, as are all steps.
_LONGEST_STEP, _SHORTEST_STEP = 1.0, 1e-4
_SETTLED = 1e-6
# So many points move in a round: their slopes then stay in the processor's cache.
_AT_ONCE = 16
# Of earlier steps that a step takes into account.
_MEMORY = 3
_TINY = 1e-10
# Of the equations' slopes: keeps a step short where equations come to depend on one another, yet
# lets what it leaves of them be far less than what counts as settled.
_RIDGE = 1e-14


def nearest(equations, known, wanted, start, pause=None):
    """
    Return (points [B, p], is settled [B]): nearest to the wanted, responding as the known.

    equations: `ResponseEquations`, of whose points all are; start: where the search begins; pause:
    called before every piece of work that takes a while.
    """
    points, left = start.copy(), np.full(len(start), _ROUNDS)
    targets, memory = _targets(equations, known), _Memory(*start.shape)
    while len(moving := np.flatnonzero(left)[:_AT_ONCE]):
        if pause:
            pause()
        at = points[moving]
        values, slopes = equations.sides(at)
        step = _step(slopes, targets[moving] - values, wanted[moving] - at)
        is_last = ~(np.abs(step).max(1) >= _SHORTEST_STEP)
        better = memory.better(moving, at, step)
        step = np.where(is_last[:, None], step, better)
        length = np.abs(step).max(1, keepdims=True)
        points[moving] = at + step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, _TINY))
        left[moving] = np.where(is_last, 0, left[moving] - 1)
    return points, equations.mismatch(points, known) < _SETTLED


def _targets(equations, known):
    """Return the left sides of the equations [B, r] at the known points."""
    parts = range(0, len(known), _AT_ONCE)
    return np.concatenate([equations.sides(known[k : k + _AT_ONCE])[0] for k in parts])


def _step(slopes, missing, away):
    """
    Return the step [B, p] to the wanted points as far as the linear equations let go.

    slopes [B, r, p]; missing [B, r]: of the left sides; away [B, p]: where the wanted points are.
    """
    across = slopes @ slopes.transpose(0, 2, 1)
    across += _RIDGE * np.trace(across, axis1=1, axis2=2)[:, None, None] * np.eye(len(across[0]))
    lacking = missing[..., None] - slopes @ away[..., None]
    along = slopes.transpose(0, 2, 1) @ np.linalg.solve(across, lacking)
    return away + along[..., 0]


class _Memory:
    """
    Makes steps better by those before them (Anderson's acceleration).

    The steps alone come nearer at a constant rate, a slow one where the curves are bent.
    """

    def __init__(self, count, size):
        """Take how many points there are, and of how many parameters."""
        self._moves, self._changes = np.zeros((2, count, _MEMORY, size))
        self._at, self._steps = np.zeros((2, count, size))
        self._number = np.zeros(count, dtype=int)

    def better(self, which, at, step):
        """Return better steps [b, p] than `step` from `at`, for the points of those indices."""
        number = self._number[which]
        old, place = which[number > 0], (number[number > 0] - 1) % _MEMORY
        self._moves[old, place] = at[number > 0] - self._at[old]
        self._changes[old, place] = step[number > 0] - self._steps[old]
        self._at[which], self._steps[which] = at, step
        self._number[which] += 1
        changes = self._changes[which]
        products = changes @ changes.transpose(0, 2, 1)
        ridge = _TINY * np.trace(products, axis1=1, axis2=2) + np.finfo(float).tiny
        products += ridge[:, None, None] * np.eye(_MEMORY)
        shares = np.linalg.solve(products, changes @ step[..., None])
        return step - ((self._moves[which] + changes).transpose(0, 2, 1) @ shares)[..., 0]
