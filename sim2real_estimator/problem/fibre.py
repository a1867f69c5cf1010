"""From what data can tell back to physical parameters, under the prior."""

import numpy as np

_ROUNDS = 12
_LONGEST_STEP = 0.5
_SETTLED = 1e-6
# Steps shorter than this, in standard deviations of the prior, lead nowhere new.
_SHORTEST_STEP = 1e-9
_RANK_TOLERANCE = 1e-5
# Slopes of so many draws times parameters are held in memory at once.
_AT_ONCE = 2000


def straight_draws(chart, coordinates, generator):
    """
    Return draws [P, N] of all parameters, as coordinates of the inner chart, by straight lines.

    coordinates [p, N]: draws of the estimator's coordinates. What data cannot tell is drawn from
    the prior. Exact where responses are linear, and fast.
    """
    return _on_a_straight_line(chart, coordinates, _prior_offsets(chart, coordinates, generator))


def physical_draws(chart, coordinates, generator):
    """
    Return draws [P, N'] of all parameters, as coordinates of the inner chart.

    coordinates [p, N]: draws of the estimator's coordinates. Each is joined with a draw of the
    prior: the parameters nearest to that in the metric of the prior, among all that respond like
    the estimator's. The few that do not settle are left out.
    """
    offsets = _prior_offsets(chart, coordinates, generator)
    current = _on_a_straight_line(chart, coordinates, offsets)
    if chart.responses is None:
        return current
    size = chart.responses.size
    known, prior = chart.embed(coordinates), chart.inner.prior.mean[:, None] + offsets
    step, settled = max(1, _AT_ONCE // size), []
    for first in range(0, current.shape[1], step):
        part = slice(first, first + step)
        current[:size, part], is_settled = _nearest(
            chart, known[:size, part], prior[:size, part], current[:size, part]
        )
        settled.append(is_settled)
    return current[:, np.concatenate(settled)]


def _prior_offsets(chart, coordinates, generator):
    """Return draws [P, N] of the prior of all parameters, less its mean."""
    root = chart.inner.prior.root
    return root @ generator.standard_normal((len(root), coordinates.shape[1]))


def _on_a_straight_line(chart, coordinates, offsets):
    """Return the prior draws, moved to the right combinations as far as a straight line does."""
    return chart.embed(coordinates) + offsets - chart.basis @ (chart.combinations @ offsets)


def _nearest(chart, known, prior, current):
    """
    Return (points [p, B], is settled [B]): nearest to the prior draws, responding as the known.

    current: where the search begins, which is overwritten. All are coordinates of the physical
    parameters in the inner chart.
    """
    responses, size = chart.responses, len(known)
    root = chart.inner.prior.root[:size, :size]
    target = responses.values(known)
    moving = np.arange(current.shape[1])
    for _ in range(_ROUNDS):
        at = current[:, moving]
        values, slopes = responses.slopes(at)
        offset = np.linalg.solve(root, at - prior[:, moving])
        step = _step(slopes @ root, (target[:, moving] - values).T, offset)
        length = np.abs(step).max(0)
        step = step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, 1e-300))
        current[:, moving] = at + root @ step
        moving = moving[length > _SHORTEST_STEP]
        if not moving.size:
            break
    return current, np.abs(target - responses.values(current)).max(0) < _SETTLED


def _step(slopes, missing, offset):
    """Return the step [p, B] to the point nearest to the prior draw of all that lack nothing."""
    left, sizes, right = np.linalg.svd(slopes, full_matrices=False)
    inverse = np.where(sizes > _RANK_TOLERANCE * sizes[:, :1], 1 / np.maximum(sizes, 1e-300), 0.0)
    wanted = missing + (slopes @ offset.T[..., None])[..., 0]
    along = inverse * (np.swapaxes(left, 1, 2) @ wanted[..., None])[..., 0]
    return (np.swapaxes(right, 1, 2) @ along[..., None])[..., 0].T - offset
