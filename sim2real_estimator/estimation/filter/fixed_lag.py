"""A filter that takes frames in for good some time after they came, when more is known of them."""

from dataclasses import dataclass, replace

import numpy as np

from ..drift import STILL
from ..linearized import linearized_as_known
from ..mixture import Mixture
from .settling import Trajectories
from .smoother import Smoother
from .update import is_finite, missed, Step, survivors, unmeasured


@dataclass(frozen=True)
class Lag:
    """
    The frames that a filter may still see otherwise.

    known: the `Mixture` before them; trajectories: about which they were linearised last; steps:
    what a filter over them did there; none where noise is unknown, or not normal: the next frame
    then weighs their rows otherwise.
    """

    known: Mixture
    frames: tuple
    trajectories: Trajectories
    steps: tuple = ()

    def pick(self, which, log_weights):
        """Return some of the components, with log weights [K] of all."""
        known = replace(self.known, log_weights=log_weights).pick(which)
        steps = tuple(step.pick(which) for step in self.steps)
        return Lag(known, self.frames, self.trajectories.pick(which), steps)


@dataclass(frozen=True)
class FixedLagStep(Step):
    """What one frame did, and the `Lag` that the next frame follows."""

    lag: Lag

    def tidied(self, prune, merge):
        """Return this without components that do not survive."""
        kept, log_weights = survivors(self.mixture, prune, merge)
        if len(kept) == self.mixture.size:
            return self
        # Before the window as well, a twin's weight goes to the one that stays.
        gains = log_weights - self.mixture.log_weights
        lag = self.lag.pick(kept, self.lag.known.log_weights + gains)
        mixture = replace(self.mixture, log_weights=log_weights).pick(kept)
        return replace(self, mixture=mixture, lag=lag)


def begun(mixture):
    """Return the `Lag` of a filter that begins with a mixture."""
    return Lag(mixture, (), Trajectories(mixture.points[None], mixture.means))


def fixed_lag_update(problem, lag, frame, noise, depth, drift=STILL):
    """
    Return the `FixedLagStep` of a frame, or None where its numbers are not finite.

    Every frame moves the trajectories through the last `depth` of them, about which all are
    linearised again; the oldest of more than that is then part of what is known.
    """
    frames, known = (*lag.frames, frame), lag.known
    smoother = Smoother(problem, frames, noise, known, drift)
    trajectories = _moved_on(problem, lag, frame, smoother)
    steps = smoother.forward(trajectories, known.noises, is_final=True)
    weights = known.log_weights + np.cumsum([step.log_evidence for step in steps], 0)
    mixture = smoother.mixture(trajectories, steps, -1, weights[-1])
    if not is_finite(mixture):
        return None
    heaviest = mixture.heaviest()
    last, before = steps[-1], steps[-2].root_on if len(steps) > 1 else known.roots
    residual, slope = last.found.residual[heaviest], last.found.slope[heaviest]
    told = missed(problem, residual, slope @ before[heaviest], slope, noise)
    after, earlier = weights[-1], weights[-2] if len(weights) > 1 else known.log_weights
    # Frames side by side have as many rows each as the longest.
    missing = unmeasured(last.is_row, noise)[heaviest]
    log_evidence = np.logaddexp.reduce(after) - np.logaddexp.reduce(earlier) + missing
    if len(frames) > depth:
        known = smoother.mixture(trajectories, steps, 0, weights[0])
        frames, steps = frames[1:], steps[1:]
        trajectories = Trajectories(trajectories.points[1:], trajectories.parameters)
    return FixedLagStep(
        mixture,
        float(last.cost[heaviest]),
        int(last.rows[heaviest]),
        *told,
        float(log_evidence),
        Lag(known, frames, trajectories, tuple(steps) if smoother.is_plain else ()),
    )


def _moved_on(problem, lag, frame, smoother):
    """
    Return the `Trajectories` of a lag on to the end of one more frame, moved once.

    To what a filter about them and a smoother of all these frames find.
    """
    trajectories, known = lag.trajectories, lag.known
    at = trajectories.points[-1:], trajectories.parameters, (frame,), known.scales
    new = linearized_as_known(problem, *at)
    trajectories = Trajectories(
        np.concatenate([trajectories.points, new.ends[None]]), trajectories.parameters
    )
    is_known = smoother.is_plain and len(lag.steps) == len(lag.frames)
    before, found = (lag.steps, [new]) if is_known else ((), None)
    steps = smoother.forward(trajectories, known.noises, before=before, found=found)
    return smoother.moved(trajectories, smoother.backward(steps))
