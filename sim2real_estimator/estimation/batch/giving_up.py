"""Which starts of a fit lead nowhere, once another has come to what explains the frames."""

import numpy as np

# A cost that is this much above another belongs to what would not be kept beside it.
_HOPELESS = 30.0
# After so many steps on end none of which was long enough, a start is given up.
_PATIENCE = 4


class HopelessStarts:
    """
    Tells which starts to give up: those that do not come down in the steps that are left.

    Only what explains the frames as well as noise lets expect is sure to be the best there is, so
    beside anything else all starts go on; so they do where the noise is not known.
    """

    def __init__(self, objective, count):
        """Take the `batch.Objective` and the number of starts."""
        self._objective, self._late = objective, np.zeros(count, dtype=int)
        self._lowest = self._explaining = np.inf

    def note_resting(self, fits):
        """Take notice of `Fits` that move no more."""
        lowest = fits.costs.min(initial=np.inf)
        if lowest < self._lowest and self._objective.knows_noise:
            self._lowest = lowest
            if self._objective.is_explained_by(fits):
                self._explaining = lowest

    def given_up(self, going, before, after, left):
        """
        Return which of all starts are given up.

        going: which have taken a step, from costs before to costs after, of which a higher one
        was refused; left: how many steps more they may take.
        """
        above = np.minimum(before, after) - self._explaining
        is_late = above > np.maximum(_HOPELESS, left * np.maximum(before - after, 0.0))
        self._late[going] = np.where(is_late, self._late[going] + 1, 0)
        return self._late >= _PATIENCE
