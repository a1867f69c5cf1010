"""
Torques that are far off for a moment, after which the robot is what it was.

A torque that is stuck for half a second, a sensor that shows another one's torque, somebody who
leans on the arm: no cause of a change explains such rows. Sums are additive, so these rows are
subtracted again once torques are as usual. Torques that stay different are a change instead.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...reported_events import TorqueLeftOut
from .regression import Fit, Rows

# A torque is far off if the residuals of its rows in an update are so many standard deviations of
# the prediction (root mean square), and as usual again below the second number. Torques that are
# stuck or mixed up reach 20 and more; of eight pairs of days of a UR10e two reached 8, where a
# joint had begun to move.
_FAR, _USUAL = 8.0, 3.0
# Updates with rows, an eighth of a second each: so many are as usual before rows are taken out; so
# many lie between the first and the last one that is far off, at the most; and after so many the
# rows stay.
_CALM, _MOST, _MOST_WAITED = 8, 25, 80
# For so long torques may be far off without being a change, if no cause explains them [ns].
_MAY_END_NS = 3_000_000_000
# Seconds of rows after which rows are checked.
_CHECKED_AFTER = 1.0
# Share of a block from which on a joint has a row.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Disruption:
    """Torques are far off since the update after since_ns; known: `Fit` of before."""

    known: Fit
    since_ns: int


def with_rows(model, state, rows, report):
    """
    Return the `TorqueState` with the newest `Rows`, without rows far off for a moment.

    state: whose `recent` rows include the newest ones, whose sums do not yet.
    """
    disruption, is_off, recent = state.disruption, False, state.recent
    if disruption is None and state.used >= _CHECKED_AFTER:
        is_off = are_far_off(model, state.fit, rows).any()
    state = replace(state, sums=state.sums.plus(rows))
    if is_off:
        since_ns = recent[-3][0] if len(recent) > 2 else 0
        return replace(state, disruption=Disruption(state.fit, since_ns))
    if disruption is None:
        return state
    goes_on, taken = outliers_of(model, disruption, recent)
    if goes_on:
        return state
    state = replace(state, disruption=None)
    if not taken.any():
        return state
    sums, kept = state.sums, list(recent)
    for k in np.flatnonzero(taken.any(1)):
        end_ns, all_rows = recent[k]
        rest, left_out = without(all_rows, taken[k])
        sums, kept[k] = sums.less(sums.of((left_out,))), (end_ns, rest)
    report.events += left_out_torques(model, taken)
    snapshots = tuple(s for s in state.snapshots if s.end_ns <= disruption.since_ns)
    return replace(state, sums=sums, recent=tuple(kept), snapshots=snapshots, renewed_ns=None)


def is_recent(disruption, now_ns):
    """Tell whether a `Disruption`, None for none, has begun so late that it may be over soon."""
    return disruption is not None and now_ns - disruption.since_ns < _MAY_END_NS


def left_out_torques(model, taken):
    """Return the event of every joint of which rows [N, J] were taken out."""
    return tuple(TorqueLeftOut(model.joints[joint]) for joint in np.flatnonzero(taken.any(0)))


def are_far_off(model, fit, rows):
    """Return [J] where the `Rows` of one update are far off the prediction of a `Fit`."""
    squares, _ = _squares(fit, rows)
    is_far = squares > _FAR**2 * fit.noise.variance
    if not (is_far & fit.noise.explained).any():
        return np.zeros(len(is_far), dtype=bool)
    return fit.noise.explained & (_ratios(model, fit, rows) > _FAR**2)


def outliers_of(model, disruption, recent):
    """
    Return (whether a `Disruption` goes on, [N, J] where rows are to be taken out).

    recent: ((end_ns, `Rows`), ...), the newest.
    """
    after = [rows for end_ns, rows in recent if end_ns > disruption.since_ns]
    known, count = disruption.known, len(after)
    ratios = np.array([_ratios(model, known, rows) for rows in after])
    taken = np.zeros((len(recent), ratios.shape[1]), dtype=bool)
    if count > _MOST_WAITED:
        return False, taken
    has_rows = np.isfinite(ratios[:, known.noise.explained]).any(1)
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
            # Torques that follow are neither far off nor as before: a change.
            return False, np.zeros_like(taken)
        # A joint that rests by now has no rows: then those of the others tell.
        since = there[far[-1] + begun] + 1
        if has_rows[since:].sum() < _CALM:
            return True, np.zeros_like(taken)
        # The updates before and after may be disturbed in part.
        first, last = there[far[0]] - 1, there[far[-1] + begun] + 1
        place = len(recent) - count
        taken[max(place + first, 0) : place + last + 1, joint] = True
    # A hand pushes all joints: those that it has pushed less are disturbed at the same time.
    span = taken[len(recent) - count :].any(1)
    is_unusual = (ratios[span] > _USUAL**2).any(0) & known.noise.explained
    taken[np.ix_(taken.any(1), is_unusual)] = True
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
    """Return mean squared residuals over their predicted variances [J]."""
    squares, number = _squares(fit, rows)
    spread = model.standard(fit.mean)[1] @ fit.root
    unsure = fit.scales**2 * ((rows.columns @ spread) ** 2).sum((0, 2))
    return squares / (fit.noise.variance + unsure / np.maximum(number, _LEAST_SHARE))
