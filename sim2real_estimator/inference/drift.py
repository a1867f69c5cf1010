"""Parameters that change slowly, however long they have been watched."""

from dataclasses import replace

import numpy as np

from .gaussian import predict

_NANO = 1e-9
_HOUR = 3600.0
# A random walk goes a step whenever the stamps pass a multiple of this.
_STEP_NS = 100_000_000


def walk(problem, drift, begin_ns, end_ns):
    """
    Return the root [p, p] of the covariance of what parameters change by between two stamps.

    drift: relative standard deviation after an hour, which grows with the root of the time. The
    steps of the walk are at fixed stamps, so that however the time is cut into frames, they add
    up to the same. None where there is none in between, or no drift at all.
    """
    steps = end_ns // _STEP_NS - begin_ns // _STEP_NS
    if not drift or steps <= 0:
        return None
    return drift * np.sqrt(steps * _STEP_NS * _NANO / _HOUR) * problem.relative_root


def drifted(problem, mixture, drift, begin_ns, end_ns):
    """Return a mixture whose parameters have drifted while nothing was measured."""
    steps = walk(problem, drift, begin_ns, end_ns)
    if steps is None:
        return mixture
    size, n = problem.tangent_size, mixture.roots.shape[-1]
    still = np.broadcast_to(np.eye(n)[:size], (mixture.size, size, n))
    return replace(mixture, roots=predict(mixture.roots, still, np.zeros(size), steps))
