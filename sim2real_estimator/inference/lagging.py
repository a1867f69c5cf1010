"""A filter that takes frames in for good some time after they came, when more is known of them."""

from dataclasses import dataclass, replace

import numpy as np

from .along import linearized_as_known
from .drift import STILL
from .filtering import is_finite, missed, Step, survivors, unmeasured
from .mixture import Mixture
from .settling import Courses
from .smoother import Smoother


@dataclass(frozen=True)
class Lag:
    """
    The frames that a filter may still see otherwise.

    known: the `Mixture` before them; courses: about which they were linearised last; found: their
    `Linearization`s there, none where the noise of sensors is unknown: then frames have rows for
    what only others measure.
    """

    known: Mixture
    frames: tuple
    courses: Courses
    found: tuple = ()

    def pick(self, which, log_weights):
        """Return some of the components, with log weights [K] of all."""
        known = replace(self.known, log_weights=log_weights).pick(which)
        found = tuple(each.pick(which) for each in self.found)
        return Lag(known, self.frames, self.courses.pick(which), found)


@dataclass(frozen=True)
class LaggedStep(Step):
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
    return Lag(mixture, (), Courses(mixture.points[None], mixture.means))


def take_frame_lagging(problem, lag, frame, noise, depth, drift=STILL):
    """
    Return the `LaggedStep` of a frame, or None where its numbers are not finite.

    Every frame moves the courses through the last `depth` of them, about which all are linearised
    again; the oldest of more than that is then part of what is known.
    """
    frames, known = (*lag.frames, frame), lag.known
    smoother = Smoother(problem, frames, noise, known, drift)
    courses, found = _led_on(problem, lag, frame)
    courses = smoother.moved_once(courses, found)
    found = smoother.linearized(courses)
    steps = smoother.forward(courses, known.noises, is_final=True, found=found)
    weights = known.log_weights + np.cumsum([step.log_evidence for step in steps], 0)
    mixture = smoother.mixture(courses, steps, -1, weights[-1])
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
        known = smoother.mixture(courses, steps, 0, weights[0])
        frames, found = frames[1:], found[1:]
        courses = Courses(courses.points[1:], courses.parameters)
    return LaggedStep(
        mixture,
        float(last.cost[heaviest]),
        int(last.rows[heaviest]),
        *told,
        float(log_evidence),
        Lag(known, frames, courses, tuple(found) if known.noises is None else ()),
    )


def _led_on(problem, lag, frame):
    """
    Return the `Courses` of a lag on to the end of one more frame, and all frames linearised.

    None instead of these where the lag has none of its own frames.
    """
    courses, scales = lag.courses, lag.known.scales
    at = courses.points[-1:], courses.parameters, (frame,), scales
    new = linearized_as_known(problem, *at)
    led = Courses(np.concatenate([courses.points, new.ends[None]]), courses.parameters)
    is_all = lag.known.noises is None and len(lag.found) == len(lag.frames)
    return led, [*lag.found, new] if is_all else None
