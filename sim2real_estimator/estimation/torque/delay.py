"""
How late measured torques are beside the encoders: one delay for all of them, from their rows.

A drive reports a filtered current, some milliseconds late. The torque of a stamp t + l is near to
that of the motion at t - (d - l): where l is not the delay d, what is left of rows contains the
rate at which predicted torques change, times l - d. So the residuals of rows are regressed on the
columns of all unknown parameters and on that rate, for torques taken l later, and d is the l at
which the rate has no part in them. That it is predicted, not measured, keeps noise out of it; that
only a zero is looked for, and no least sum of squares, keeps out what interpolated noise is less.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..factors import solve_triangular
from .regression import BLOCK_NS

# Torques are kept so much later than the motion of their rows [s]: drives are 0 to 30 ms late.
LAGS = 8e-3 * np.arange(-1, 5)
# Between samples that are further apart than this torques are not known [s].
_COARSEST = 0.02
# What is known of a delay beforehand [s], as of that of any clock.
_PRIOR_SD = 0.01
# A joint has to move in all of a row and of those about it.
_WHOLE = 0.99
# Where the rate explains less than this part of what it should, nothing is told.
_LEAST_SLOPE = 0.3
# Rows are made by a delay of more than so much [s], which does no harm, and so many standard
# deviations: fewer for late torques than for early ones, which no drive has. It was off by 2 of
# them at the most in arms of MuJoCo; a UR10e seems 1 to 5 ms early, by 3.2 of them. Once it is
# applied it is followed from so much on.
_MATTERS, _LATE, _EARLY, _REFINED = 4e-3, 3.0, 5.0, 1.5e-3


# The delay is estimated after so many seconds of rows, again whenever there are so many times as
# many, and no more after so many.
_FIRST, _AGAIN, _LAST = 3.0, 1.4, 45.0


@dataclass(frozen=True)
class Delay:
    """
    How late torques are.

    mean, sd: of the posterior [s]; applied: what rows are made by [s]; looked: seconds of rows
    when it was looked at last.
    """

    mean: float = 0.0
    sd: float = _PRIOR_SD
    applied: float = 0.0
    looked: float = 0.0

    def is_due(self, seconds):
        """Tell whether it is time to estimate it, after so many seconds of rows."""
        return max(_FIRST, _AGAIN * self.looked) <= seconds <= _LAST

    def renewed(self, mean, sd, looked):
        """Return this with another posterior, and by what rows are to be made from now on."""
        least = _REFINED if self.applied else max(_MATTERS, (_LATE if mean > 0 else _EARLY) * sd)
        applied = mean if abs(mean - self.applied) > least else self.applied
        return Delay(mean, sd, applied, looked)


def with_delay(model, state, rows, report):
    """
    Return the `TorqueState` with the delay of torques estimated from the newest `Rows`.

    If another delay applies from now on, the newest rows are computed anew and older ones are
    dropped.
    """
    delay = state.delay
    times = [end_ns - BLOCK_NS * np.arange(part.count, 0, -1) for end_ns, part in state.recent]
    times, prior = np.concatenate(times), state.branches[0].prior
    found = estimate(model, prior, state.fit, rows, times, BLOCK_NS)
    if found is None:
        return replace(state, delay=replace(delay, looked=state.used))
    state = replace(state, delay=delay.renewed(*found, state.used))
    if state.delay.applied == delay.applied:
        return state
    report.events += (f'torque late: {1e3 * found[0]:.1f} ms +- {1e3 * found[1]:.1g}',)
    recent = tuple((ns, delayed(part, state.delay.applied)) for ns, part in state.recent)
    sums = state.sums.of(part for _, part in recent)
    # Frequency responses were computed with other torques.
    return replace(state, recent=recent, sums=sums, snapshots=()).without_responses()


def late_torques(stamps, torques, times):
    """
    Return torques [N, J, lags] of `LAGS` after stamps [N] ns, NaN where nobody knows them.

    stamps [M] ns, torques [M, J]: all that are at hand.
    """
    wanted = times[:, None] + np.round(1e9 * LAGS).astype(np.int64)
    if len(stamps) < 2:
        return np.full((len(times), torques.shape[1], len(LAGS)), np.nan)
    after = np.searchsorted(stamps, wanted).clip(1, len(stamps) - 1)
    step = stamps[after] - stamps[after - 1]
    share = (wanted - stamps[after - 1]) / step
    is_known = (share >= 0) & (share <= 1) & (step < _COARSEST * 1e9)
    share = np.where(is_known, share, np.nan)[..., None]
    found = (1 - share) * torques[after - 1] + share * torques[after]
    return found.transpose(0, 2, 1)


def torques_at(late, delay):
    """Return torques [...] of a delay [s] from those of `LAGS` [..., lags], by a cubic."""
    first = int(np.clip(np.searchsorted(LAGS, delay) - 2, 0, len(LAGS) - 4))
    lags = LAGS[first : first + 4]
    weights = [
        np.prod([(delay - other) / (lag - other) for other in lags if other != lag])
        for lag in lags
    ]
    return late[..., first : first + 4] @ np.array(weights)


def delayed(rows, delay):
    """Return `Rows` with the torques of a delay [s]; where they are not known there is no row."""
    torques = torques_at(rows.late, delay)
    is_known = np.isfinite(torques)
    return replace(
        rows,
        columns=np.where(is_known[..., None], rows.columns, 0.0),
        torques=np.where(is_known, torques, 0.0),
        shares=np.where(is_known, rows.shares, 0.0),
    )


def estimate(model, prior, fit, rows, times, period):
    """
    Return (mean, sd) [s] of the delay of torques by `Rows`, None where they do not tell.

    model, prior, fit: as in `torque_regression.fit`; times [K]: of the rows, and period: of rows
    that follow one another, in the same unit.
    """
    known = np.isfinite(rows.late).all(2) & (rows.shares > _WHOLE)
    is_inner = np.zeros_like(known)
    follows = times[2:] - times[:-2] == 2 * period
    is_inner[1:-1] = known[1:-1] & (rows.shares[:-2] > _WHOLE) & (rows.shares[2:] > _WHOLE)
    is_inner[1:-1] &= follows[:, None]
    if not is_inner.any():
        return None
    weights, scales = np.sqrt(fit.noise.weights), fit.scales
    predicted = scales * (rows.columns @ fit.standard)
    rate = np.zeros_like(predicted)
    rate[1:-1] = (predicted[2:] - predicted[:-2]) / (2e-9 * period)
    rate = (weights * rate)[is_inner]
    whitened = model.standard(fit.mean)[1] @ prior.root
    columns = (weights * scales)[:, None] * (rows.columns @ whitened)
    columns = columns[is_inner]
    left = (weights[:, None] * (rows.late - predicted[..., None]))[is_inner]
    information = columns.T @ columns
    information[np.diag_indices_from(information)] += 1.0
    factor = np.linalg.cholesky(information)
    across = solve_triangular(factor, columns.T @ rate, lower=True)
    alone = rate @ rate - across @ across
    away = solve_triangular(prior.root, fit.mean - prior.mean, lower=True)
    moved = solve_triangular(factor, columns.T @ left - away[:, None], lower=True)
    if alone <= 0:
        return None
    ahead = (rate @ left - across @ moved) / alone
    return _crossing(ahead, 1 / np.sqrt(alone))


def _crossing(ahead, sd):
    """
    Return (mean, sd) [s] of where `ahead` [lags], with a standard deviation, is zero.

    Of several places the one nearest to none, with the prior of delays.
    """
    rises = np.flatnonzero((ahead[:-1] <= 0) & (ahead[1:] > 0))
    if not len(rises):
        return None
    slopes = (ahead[rises + 1] - ahead[rises]) / (LAGS[rises + 1] - LAGS[rises])
    found = LAGS[rises] - ahead[rises] / slopes
    nearest = np.argmin(np.abs(found))
    delay, slope = found[nearest], slopes[nearest]
    if slope < _LEAST_SLOPE:
        return None
    variance = (sd / slope) ** 2
    share = _PRIOR_SD**2 / (_PRIOR_SD**2 + variance)
    return float(share * delay), float(np.sqrt(share * variance))
