"""From fits of a window's beginning to a mixture at its end."""

from dataclasses import replace

import numpy as np

from ..disturbances import with_scales
from ..drift import walk
from ..gaussian import log_normalized, predict
from ..linearized import by_frame, linearized_along
from ..mixture import distances, distinct, Mixture


def modes(fits, merge, prune):
    """
    Return the distinct fits of notable evidence, none where all are lost.

    merge: squared distance below which two are the same; prune: least weight.
    """
    order = np.argsort(-fits.log_evidence(), kind='stable')
    fits = fits.pick(np.array(distinct_fits(fits, order, merge), dtype=int))
    if not len(fits.costs):
        return fits
    return fits.pick(log_normalized(fits.log_evidence()) > np.log(prune))


def distinct_fits(fits, order, merge):
    """Return which of the fits, in an order, are sound and not the same as an earlier one."""
    sound = [k for k in order if np.isfinite(fits.costs[k]) and _is_valley(fits.information[k])]
    if not sound:
        return []
    size, kept = len(fits.offsets), fits.pick(sound)
    covariance = np.linalg.inv(kept.information)
    informations = np.linalg.inv(covariance[:, size:, size:])
    found = distinct(range(len(sound)), distances(kept.parameters, informations), merge)
    return [sound[k] for k in found]


def _is_valley(information):
    """Tell whether a curvature [n, n] is positive to the last digits."""
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return False
    return True


def mixture_at_end(problem, window, fits, log_weights, drift, scales=None, noises=None):
    """
    Return the mixture at a window's end from modes at its beginning.

    drift: as of `drift.walk`; scales [K]: of the disturbances that each component reckons with.
    """
    points = problem.retract(np.repeat(window.point[:, None], len(fits.costs), 1), fits.offsets)
    factor = np.linalg.cholesky(fits.information)
    eye = np.broadcast_to(np.eye(factor.shape[-1]), factor.shape)
    roots = np.swapaxes(np.linalg.solve(factor, eye), -1, -2)
    mixture = Mixture(log_weights, points, fits.parameters, roots, scales, noises)
    states = problem.trajectory(points, fits.parameters, window.frames)
    along = linearized_along(problem, states, fits.parameters, window.frames, mixture.scales)
    for begin, frame, found in zip(states, window.frames, by_frame(along, mixture.size)):
        roots = predict(
            roots,
            found.transition,
            problem.floors((frame,), mixture.scales, mixture.means, (begin, found.ends))[0],
            walk(problem, drift, frame.start_ns, frame.end_ns),
        )
    mixture = replace(mixture, points=found.ends, roots=roots)
    return mixture if scales is None else with_scales(problem, mixture)
