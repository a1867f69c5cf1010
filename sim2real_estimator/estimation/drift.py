"""Parameters that change slowly, however long they have been watched."""

from dataclasses import dataclass, replace

import numpy as np

from .gaussian import predict

_NANO = 1e-9
_HOUR = 3600.0
# What wanders goes on the same way for about so long [s], as bearings warm: within seconds it gets
# nowhere.
_SLOW = 120.0
# The same of clocks, whose rate stays: after so long [s] steps are large enough to follow it, with
# none of the lag; larger ones, as of 120 s, make what is known of a clock 1.9 times as uncertain.
# With 2 s errors of bad_mocap are a tenth less, but a clock that nobody sees for 10 s is thought
# to be .3 ms off where it may be .5.
_OF_CLOCKS = 10.0
# A random walk goes a step whenever the stamps pass a multiple of this.
_STEP_NS = 100_000_000


@dataclass(frozen=True)
class Drift:
    """
    By how much parameters wander off in an hour, as a part of their size.

    losses: damping and friction, which change as bearings warm; efforts: how strong they are that
    commands ask for, as motors warm, all alike; others: all else. Relative standard deviations,
    which grow in proportion to the time for some minutes, then with its root. clocks: by how many
    seconds the clocks of sensors go wrong in one, at first. begun_ns: stamp since which
    parameters are watched; None: for a long time.
    """

    others: float = 0.0
    losses: float = 0.0
    efforts: float = 0.0
    clocks: float = 0.0
    begun_ns: int | None = None

    def since(self, begun_ns):
        """Return the same of parameters that are watched since a stamp."""
        return replace(self, begun_ns=begun_ns)

    @property
    def is_still(self):
        """Whether nothing drifts."""
        return not (self.others or self.losses or self.efforts or self.clocks)


STILL = Drift()


def walk(problem, drift, begin_ns, end_ns):
    """
    Return the root [p, r] of the covariance of what parameters change by between two stamps.

    drift: `Drift`. The steps of the walk are at fixed stamps, so that however the time is cut
    into frames, they add up to the same. None where there is none in between, or no drift at all.
    """
    steps = end_ns // _STEP_NS - begin_ns // _STEP_NS
    if steps <= 0 or drift.is_still:
        return None
    time, age = steps * _STEP_NS * _NANO, None
    if drift.begun_ns is not None:
        age = (end_ns // _STEP_NS * _STEP_NS - drift.begun_ns) * _NANO
    slowly = np.sqrt(_wandered(time, age, _SLOW) / _HOUR)
    # A clock that goes wrong by the second is off in proportion to the time at first.
    sizes = {
        'others': slowly * drift.others,
        'losses': slowly * drift.losses,
        'efforts': slowly * drift.efforts,
        'clocks': drift.clocks * np.sqrt(2 * _OF_CLOCKS * _wandered(time, age, _OF_CLOCKS)),
    }
    drifting = problem.drifting.items()
    roots = [sizes[kind] * root for kind, root in drifting if getattr(drift, kind)]
    return np.concatenate(roots, 1) if roots else None


def _wandered(time, age, slow):
    """
    Return in how long a time [s] at full pace a walk would come as far as in its latest.

    age: of the walk [s], None: it has its full pace, as after the time `slow` [s].
    """
    if age is None:
        return time
    first, last = (
        each - slow / 2 if each >= slow else max(each, 0.0) ** 2 / (2 * slow)
        for each in (age - time, age)
    )
    return last - first


def drifted(problem, mixture, drift, begin_ns, end_ns):
    """Return a mixture whose parameters have drifted while nothing was measured."""
    steps = walk(problem, drift, begin_ns, end_ns)
    if steps is None:
        return mixture
    size, n = problem.tangent_size, mixture.roots.shape[-1]
    still = np.broadcast_to(np.eye(n)[:size], (mixture.size, size, n))
    return replace(mixture, roots=predict(mixture.roots, still, np.zeros(size), steps))
