"""The drift of parameters: a random walk, which bounds how precisely they can be known."""

from dataclasses import dataclass, replace

import numpy as np

from .gaussian import predict

_NANO = 1e-9
_HOUR = 3600.0
# Correlation time of the rate of drift [s], as of bearings that warm up: parameters drift less
# than a random walk would within seconds.
_SLOW = 120.0
# The same of clocks [s], whose rate persists: the walk follows it without delay. With 120 s the
# delay of a clock is 1.9 times as uncertain. With 2 s errors in the study bad_mocap are a tenth
# smaller, but a clock that is not observed for 10 s is believed to 0.3 ms where it may be off by
# 0.5 ms.
_OF_CLOCKS = 10.0
# The walk takes a step whenever stamps pass a multiple of this [ns].
_STEP_NS = 100_000_000


@dataclass(frozen=True)
class Drift:
    """
    Standard deviations of the drift of parameters in an hour, relative to their size.

    dissipation: of damping and friction, which change as bearings warm up; efforts: of a common
    factor on commanded efforts, as motors warm up; others: of all else. The drift grows in
    proportion to the time for some minutes, then with its square root. clocks: initial rate of
    the sensors' clocks [s in 1 s]. begun_ns: stamp since which parameters are observed, None: for
    long.
    """

    others: float = 0.0
    dissipation: float = 0.0
    efforts: float = 0.0
    clocks: float = 0.0
    begun_ns: int | None = None

    def since(self, begun_ns):
        """Return the drift of parameters that are observed since a stamp."""
        return replace(self, begun_ns=begun_ns)

    @property
    def is_still(self):
        """Whether nothing drifts."""
        return not (self.others or self.dissipation or self.efforts or self.clocks)


STILL = Drift()


def walk(problem, drift, begin_ns, end_ns):
    """
    Return the root [p, r] of the covariance of the parameters' drift between two stamps.

    drift: `Drift`. The walk steps at fixed stamps, so that the drift does not depend on how the
    time is cut into frames. None where no step is in between, or nothing drifts.
    """
    steps = end_ns // _STEP_NS - begin_ns // _STEP_NS
    if steps <= 0 or drift.is_still:
        return None
    time, age = steps * _STEP_NS * _NANO, None
    if drift.begun_ns is not None:
        age = (end_ns // _STEP_NS * _STEP_NS - drift.begun_ns) * _NANO
    slowly = np.sqrt(_equivalent_time(time, age, _SLOW) / _HOUR)
    # The error of a clock is proportional to the time at first.
    sizes = {
        'others': slowly * drift.others,
        'dissipation': slowly * drift.dissipation,
        'efforts': slowly * drift.efforts,
        'clocks': drift.clocks * np.sqrt(2 * _OF_CLOCKS * _equivalent_time(time, age, _OF_CLOCKS)),
    }
    drifting = problem.drifting.items()
    roots = [sizes[kind] * root for kind, root in drifting if getattr(drift, kind)]
    return np.concatenate(roots, 1) if roots else None


def _equivalent_time(time, age, slow):
    """
    Return the time [s] in which a random walk has the variance that a walk gains in its last.

    slow: correlation time [s] of the rate, until which the walk speeds up; age: of the walk [s],
    None: longer than that.
    """
    if age is None:
        return time
    first, last = (
        each - slow / 2 if each >= slow else max(each, 0.0) ** 2 / (2 * slow)
        for each in (age - time, age)
    )
    return last - first


def drifted(problem, mixture, drift, begin_ns, end_ns):
    """Return a mixture after the drift of its parameters between two stamps."""
    steps = walk(problem, drift, begin_ns, end_ns)
    if steps is None:
        return mixture
    size, n = problem.tangent_size, mixture.roots.shape[-1]
    still = np.broadcast_to(np.eye(n)[:size], (mixture.size, size, n))
    return replace(mixture, roots=predict(mixture.roots, still, np.zeros(size), steps))
