"""
Neighbouring joints that seem to share a motor, by the residuals of their torques.

In many wrists one motor turns two joints, at the sum of their velocities. Its inertia and friction
act on both, which no column of a single joint describes. Where much of a joint's torque is
unexplained, the columns of such a motor are added to the regression on the newest rows. A pair is
found if the log Bayes factor against none is large and residuals become much smaller. It is only
reported: the model of the robot has such a motor if its config says so.
"""

from dataclasses import replace

import numpy as np

from ...reported_events import CoupledJoints
from ..factors import solve_triangular
from .regression import ROWS_TO_JUDGE, TorqueNoise

# Residual over signal (root mean squares) of a joint from which on a pair is tried.
_UNEXPLAINED = 0.25
# Log Bayes factor from which on a pair is accepted, and the part to which squared residuals of one
# of its joints, an unexplained one, have to fall.
_EVIDENCE, _REMAINS = 20.0, 0.5


def with_coupled_pairs(model, state, rows, report):
    """Return the `TorqueState` with joints that seem to share a motor, each reported once."""
    prior = state.branches[0].prior
    found = coupled_pairs(model, prior, state.fit, state.sums, rows, ROWS_TO_JUDGE)
    new = tuple(pair for pair in found[:1] if pair not in state.coupled)
    for pair in new:
        report.events += (CoupledJoints(*(model.joints[row] for row in pair)),)
    return replace(state, coupled=(*state.coupled, *new))


def coupled_pairs(model, prior, fit, sums, rows, least):
    """
    Return numbers (row, row) of pairs of joints that seem to share a motor, the likeliest first.

    model: with `pairs`, as `TorqueModel` has them; prior, fit: as of `regression.fit`; sums:
    `Sums` of all rows; rows: the newest `Rows`; least: number of rows to judge a joint by.
    """
    unexplained = sums.squares_left(fit.standard, fit.scales)
    is_unexplained = (unexplained > _UNEXPLAINED**2 * sums.square) & (sums.number >= least)
    tried = [pair for pair in model.pairs if is_unexplained[list(pair.rows)].any()]
    if not tried:
        return ()
    # Unexplained joints are the ones to be explained: their rows count as usual, and correlation
    # of their residuals is not taken for noise.
    inflation = TorqueNoise.prior(model.limits).inflation
    weights = np.sqrt(1 / (fit.noise.variance * inflation))
    whitened = model.standard(fit.mean)[1] @ prior.root
    columns = (weights * fit.scales)[:, None] * (rows.columns @ whitened)
    residuals = weights * rows.residuals(fit.standard, fit.scales)
    away = solve_triangular(prior.root, fit.mean - prior.mean, lower=True)
    flat = columns.reshape(-1, columns.shape[-1])
    information = flat.T @ flat
    information[np.diag_indices_from(information)] += 1.0
    factor = np.linalg.cholesky(information)
    gradient = flat.T @ residuals.ravel() - away
    side = solve_triangular(factor, gradient, lower=True)
    alone = residuals - columns @ solve_triangular(factor, side, lower=True, trans='T')
    found = []
    for pair in tried:
        joints = list(pair.rows)
        extra = weights[joints, None] * pair.columns(rows)
        across = solve_triangular(
            factor, np.einsum('kjp,kje->pe', columns[:, joints], extra), lower=True
        )
        matrix = np.einsum('kje,kjf->ef', extra, extra) - across.T @ across
        matrix[np.diag_indices_from(matrix)] += 1.0
        root = np.linalg.cholesky(matrix)
        gradient_of_pair = np.einsum('kje,kj->e', extra, residuals[:, joints]) - across.T @ side
        moved = solve_triangular(root, gradient_of_pair, lower=True)
        evidence = moved @ moved / 2 - np.log(np.diag(root)).sum()
        size = solve_triangular(root, moved, lower=True, trans='T')
        rest = solve_triangular(factor, side - across @ size, lower=True, trans='T')
        then = residuals[:, joints] - columns[:, joints] @ rest - extra @ size
        falls = (then**2).sum(0) < _REMAINS * (alone[:, joints] ** 2).sum(0)
        if evidence > _EVIDENCE and (falls & is_unexplained[joints]).any():
            found.append((evidence, pair.rows))
    return tuple(rows for _, rows in sorted(found, reverse=True))


class Pair:
    """Two neighbouring joints, and the columns of a motor that turns both at once."""

    def __init__(self, rows, places, width, deviations):
        """
        Take two joints; the motor turns at the sum of their speeds.

        rows: their numbers; places: ((of the column of viscous friction, of the rotor), ...) of
        either; width: speed over which friction changes its sign; deviations [3]: prior ones of
        the motor's inertia, viscous and Coulomb friction.
        """
        self.rows, self._places, self._width = rows, places, width
        self._deviations = np.array(deviations)

    def columns(self, rows):
        """Return both torques [K, 2, 3] for one standard deviation of each parameter."""
        roots = np.sqrt(rows.shares[:, list(self.rows)])
        # A joint without a row is at rest, or nearly.
        safe = np.where(roots > 0, roots, 1.0)
        speed, spin_up = (
            sum(
                rows.columns[:, row, places[kind]] / safe[:, k]
                for k, (row, places) in enumerate(zip(self.rows, self._places))
            )
            for kind in (0, 1)
        )
        motor = np.stack([spin_up, speed, np.tanh(speed / self._width)], -1)
        return roots[..., None] * (self._deviations * motor)[:, None]
