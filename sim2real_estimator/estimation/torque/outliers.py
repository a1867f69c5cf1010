"""
Torques that are far off for a moment, after which the robot is what it was.

A torque that is stuck for half a second, a sensor that shows another one's torque, somebody who
leans on the arm: no cause explains such rows, and they are of another robot than the one that is
estimated. Sums are additive, so rows are taken out again once it is known what they were.
"""

from dataclasses import dataclass

import numpy as np

from .regression import Fit, Rows

# A torque is far off whose rows of an update are off by so many deviations (rms) of what is
# predicted, and as usual again from so many on. Torques that are stuck or mixed up are off by 20
# and more; of eight pairs of days of a UR10e two were off by 8, where a joint had begun to move.
_FAR, _USUAL = 8.0, 3.0
# So many updates with rows, an eighth of a second each, are as usual before rows are taken out,
# and so many it takes at most until the last one that is far off, or until that is given up.
_CALM, _MOST, _GIVEN_UP = 8, 25, 80
# Of so much of a block a joint has a row.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Disruption:
    """Torques are far off: known: `Fit` of before; since_ns: end of the last update before."""

    known: Fit
    since_ns: int


def are_far_off(model, fit, rows):
    """Return [J] where `Rows` of one update are far off what is predicted by a `Fit`."""
    squares, _ = _squares(fit, rows)
    is_far = squares > _FAR**2 * fit.noise.variance
    if not (is_far & fit.noise.explained).any():
        return np.zeros(len(is_far), dtype=bool)
    return fit.noise.explained & (_ratios(model, fit, rows) > _FAR**2)


def judge(model, disruption, recent):
    """
    Return (whether it goes on, [N, J] where rows are to be taken out) of a `Disruption`.

    recent: ((end_ns, `Rows`), ...), the newest.
    """
    after = [rows for end_ns, rows in recent if end_ns > disruption.since_ns]
    known, count = disruption.known, len(after)
    ratios = np.array([_ratios(model, known, rows) for rows in after])
    taken = np.zeros((len(recent), ratios.shape[1]), dtype=bool)
    if count > _GIVEN_UP:
        return False, taken
    for joint in np.flatnonzero(known.noise.explained):
        there = np.flatnonzero(np.isfinite(ratios[:, joint]))
        ratio = ratios[there, joint]
        far = np.flatnonzero(ratio > _FAR**2)
        if not len(far):
            continue
        if far[-1] - far[0] > _MOST:
            return False, np.zeros_like(taken)
        calm = ratio[far[-1] + 1 :]
        unusual = np.flatnonzero(calm > _USUAL**2)
        begun = unusual[-1] + 1 if len(unusual) else 0
        if begun > _CALM:
            # What follows is neither far off nor as it was.
            return False, np.zeros_like(taken)
        if len(calm) - begun < _CALM:
            return True, np.zeros_like(taken)
        # Updates at either end are in part of it.
        first, last = there[far[0]] - 1, there[far[-1] + begun] + 1
        place = len(recent) - count
        taken[max(place + first, 0) : place + last + 1, joint] = True
    return False, taken


def without(rows, joints):
    """Return (`Rows` without those of some joints [J], those that were left out)."""
    kept = (~joints).astype(float)
    return _weighted(rows, kept), _weighted(rows, 1.0 - kept)


def _weighted(rows, weights):
    parts = (rows.columns * weights[:, None], rows.torques * weights, rows.shares * weights)
    return Rows(*parts, rows.late * weights[:, None])


def _squares(fit, rows):
    """Return (mean squared residual [J], NaN where a joint has no row, number of rows [J])."""
    number = rows.shares.sum(0)
    squares = (rows.residuals(fit.standard, fit.scales) ** 2).sum(0)
    with np.errstate(invalid='ignore', divide='ignore'):
        return np.where(number > _LEAST_SHARE, squares / number, np.nan), number


def _ratios(model, fit, rows):
    """Return mean squared residuals over what is predicted of them [J]."""
    squares, number = _squares(fit, rows)
    spread = model.standard(fit.mean)[1] @ fit.root
    unsure = fit.scales**2 * ((rows.columns @ spread) ** 2).sum((0, 2))
    return squares / (fit.noise.variance + unsure / np.maximum(number, _LEAST_SHARE))
