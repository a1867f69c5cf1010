"""From what data can tell back to physical parameters, under the prior."""

import numpy as np

from .parameter_chart import DirectChart

_ROUNDS = 12
_LONGEST_STEP = 0.5
_SETTLED = 1e-6
_RANK_TOLERANCE = 1e-5


def physical_draws(chart, responses, coordinates, generator):
    """
    Return draws [p_inner, N'] of the physical parameters, as coordinates of the inner chart.

    coordinates [p, N]: draws of the estimator's coordinates. Each is joined with a draw of the
    prior: the parameters nearest to that in the metric of the prior, among all that respond like
    the estimator's. Exact where responses are linear. The few that do not settle are left out.
    """
    if isinstance(chart, DirectChart):
        return coordinates
    inner, count = chart.inner, coordinates.shape[1]
    root, mean = inner.prior.root, inner.prior.mean[:, None]
    prior = mean + root @ generator.standard_normal((len(mean), count))
    known = mean + chart.basis @ coordinates
    target = responses.values(known)
    # The prior draw, moved to the right combinations as far as a straight line does.
    current = prior + chart.basis @ (coordinates - chart.combinations @ (prior - mean))
    for _ in range(_ROUNDS):
        values, slopes = responses.slopes(current)
        left, sizes, right = np.linalg.svd(slopes @ root, full_matrices=False)
        inverse = np.where(
            sizes > _RANK_TOLERANCE * sizes[:, :1], 1 / np.maximum(sizes, 1e-300), 0.0
        )
        offset = np.linalg.solve(root, current - prior)
        wanted = (target - values).T + ((slopes @ root) @ offset.T[..., None])[..., 0]
        along = inverse * (np.swapaxes(left, 1, 2) @ wanted[..., None])[..., 0]
        aim = (np.swapaxes(right, 1, 2) @ along[..., None])[..., 0].T
        step = aim - offset
        length = np.abs(step).max(0)
        step = step * np.minimum(1.0, _LONGEST_STEP / np.maximum(length, 1e-300))
        current = current + root @ step
    missed = np.abs(target - responses.values(current)).max(0)
    return current[:, missed < _SETTLED]
