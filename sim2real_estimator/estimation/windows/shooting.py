"""
A window of motion, predicted from its first state by forward simulation.

Nobody knows the first state of a window, nor what pushes each joint during it besides what the
model has: both are found with the parameters held fixed, and then eliminated. What is left is how
the misfit of the window depends on the parameters, a quadratic about where they were held.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..factors import solve_triangular

# Steps of Gauss and Newton from a guess; each halves until it helps, so many times at the most.
_STEPS, _HALVINGS = 4, 6
# A guess is made better by these first parts of a window, of so many frames at the least.
_PARTS, _LEAST_FRAMES = (0.25, 0.5), 3
# Steps that change the misfit by less than this part of it are the last.
_SETTLED = 1e-4
# A window that tells nothing of some direction of its first state leaves it where it was guessed:
# part of what is known of others that counts for such a one.
_RIDGE, _TINY = 1e-9, 1e-30


@dataclass(frozen=True)
class Quadratic:
    """What parameters x cost: cost + 2 pull' (x - at) + (x - at)' gram (x - at)."""

    at: np.ndarray
    cost: float
    gram: np.ndarray
    pull: np.ndarray

    def cost_at(self, parameters):
        """Return the cost of parameters [p]."""
        away = parameters - self.at
        return self.cost + 2 * self.pull @ away + away @ self.gram @ away

    def pull_at(self, parameters):
        """Return half the gradient [p] of the cost at parameters [p]."""
        return self.pull + self.gram @ (parameters - self.at)


@dataclass(frozen=True)
class Shot(Quadratic):
    """
    A window of H frames, C channels (rows of a sensor's sample), seen from parameters `at` [p].

    As a `Quadratic`: what parameters nearby cost, first state and pushes eliminated.

    frames; course [H + 1, nx]: states at their bounds; pushes [d]: constant efforts besides [N m
    or N]; left [H, C]: mean of predicted less measured over the samples of a frame, in standard
    deviations of the sensor, NaN where there are none; levels [C]: what these are divided by
    before the cost adds up their squares, and those of pushes in their deviations; step [t + d]:
    of first state and pushes, still to be taken; follow [t + d, p]: how these go along with the
    parameters; end_root [t, t + d]: of the covariance of the state at the end where parameters are
    given; end_slope [t, p]: its derivative.
    """

    frames: tuple
    course: np.ndarray
    pushes: np.ndarray
    left: np.ndarray
    levels: np.ndarray
    step: np.ndarray
    follow: np.ndarray
    end_root: np.ndarray
    end_slope: np.ndarray

    @property
    def is_sound(self):
        """Whether its numbers are finite."""
        parts = self.cost, self.gram, self.pull, self.step, self.end_root, self.end_slope
        return all(np.isfinite(part).all() for part in parts)

    def guess_at(self, problem, parameters):
        """Return (first state, pushes) that go along with parameters [p]."""
        moved = self.step + self.follow @ (parameters - self.at)
        t = problem.tangent_size
        point = problem.retract(self.course[0][:, None], moved[:t, None])[:, 0]
        return point, self.pushes + moved[t:]


@dataclass(frozen=True)
class Pushes:
    """
    Constant efforts that act during a window besides.

    places [d]: coordinates by which they act, those of torque offsets; sd [d]: how large they are.
    """

    places: np.ndarray
    sd: np.ndarray


def shoot(problem, frames, guess, parameters, levels, pushes, steps=_STEPS, is_near=False):
    """
    Return the `Shot` of consecutive frames at parameters [p]; None where it leads nowhere.

    guess: (first state [nx], pushes [d]) to begin with; levels [C]: what residuals are divided by;
    steps: of Gauss and Newton before the last; is_near: whether the guess is from the same window
    at parameters nearby.
    """
    if not is_near:
        # Of a lively motion the end hangs on the first state too much to begin with.
        for part in _PARTS:
            some = frames[: int(part * len(frames))]
            if len(some) >= _LEAST_FRAMES:
                guess = _improved(_Window(problem, some, parameters, levels, pushes), guess)
    trial = _Window(problem, frames, parameters, levels, pushes)
    now = trial.along(*guess)
    for _ in range(steps if now else 0):
        step = now.step()
        better = trial.improved(now, step)
        if better is None:
            break
        gained, now = now.cost - better.cost, better
        if gained < _SETTLED * now.cost:
            break
    found = now.eliminated() if now else None
    return found if found is not None and found.is_sound else None


def _improved(trial, guess):
    """Return (first state, pushes) after a few steps that fit part of a window."""
    now = trial.along(*guess)
    for _ in range(_STEPS // 2 if now else 0):
        now = trial.improved(now, now.step()) or now
    return (now.course[0], now.pushes) if now else guess


class _Window:
    """Frames that are simulated one after the other, from states and pushes."""

    def __init__(self, problem, frames, parameters, levels, pushes):
        self.problem, self.frames, self.levels = problem, frames, levels
        self.parameters, self.pushes = parameters, pushes
        self.means = [problem.channel_means(frame) for frame in frames]
        # Frames without samples of a channel say nothing of it.
        self.told = np.array([means.any(1) for means in self.means])

    def improved(self, now, step):
        """Return the `_Linear` after as much of a step as makes the cost less, None: none does."""
        t = self.problem.tangent_size
        for k in range(_HALVINGS):
            part = 0.5**k * step
            point = self.problem.retract(now.course[0][:, None], part[:t, None])[:, 0]
            found = self.along(point, now.pushes + part[t:])
            if found is not None and found.cost < now.cost:
                return found
        return None

    def along(self, point, given):
        """Return the `_Linear` of the course from a state [nx] with pushes [d]; None: astray."""
        problem, t = self.problem, self.problem.tangent_size
        parameters = self.parameters.copy()
        parameters[self.pushes.places] += given
        state, columns, slope = point[:, None], parameters[:, None], None
        left, by, course = [], [], [point]
        for frame, means in zip(self.frames, self.means):
            found = problem.linearize(state, columns, (frame,))
            if not (np.isfinite(found.ends).all() and np.isfinite(found.transition).all()):
                return None
            rows, transition = found.slope[0], found.transition[0]
            left.append(means @ found.residual[0])
            if slope is None:
                by.append(means @ rows)
                slope = transition
            else:
                moved = rows[:, :t] @ slope
                moved[:, t:] += rows[:, t:]
                by.append(means @ moved)
                onwards = transition[:, :t] @ slope
                onwards[:, t:] += transition[:, t:]
                slope = onwards
            state = found.ends
            course.append(state[:, 0])
        found = _Linear(self, np.array(course), given, np.array(left), np.array(by), slope)
        return found if np.isfinite(found.cost) else None


class _Linear:
    """A course [H + 1, nx] of a `_Window`; left [H, C] and derivatives, by [H, C, t + p]."""

    def __init__(self, window, course, pushes, left, by, slope):
        self.window, self.course, self.pushes = window, course, pushes
        self.left, self._slope = left, slope
        t, places = window.problem.tangent_size, window.pushes.places
        scaled, told = (left / window.levels).ravel(), window.told.ravel()
        self._rows = scaled[told]
        slopes = (by / window.levels[:, None]).reshape(len(scaled), -1)[told]
        # What a window is simulated from: its first state, and the efforts besides.
        self._begin = np.concatenate([slopes[:, :t], slopes[:, t + places]], 1)
        self._by_parameters = slopes[:, t:]
        self._own = np.concatenate([np.zeros(t), 1 / window.pushes.sd**2])
        self._pushed = np.concatenate([np.zeros(t), pushes / window.pushes.sd**2])
        own = ((pushes / window.pushes.sd) ** 2).sum()
        self.cost = float(self._rows @ self._rows + own)

    def _factor(self):
        inner = self._begin.T @ self._begin + np.diag(self._own)
        size = np.diag(inner)
        inner += np.diag(_RIDGE * np.maximum(size, _RIDGE * size.max()) + _TINY)
        # What is not finite has no factor: a LinAlgError, which the pipeline catches.
        return cho_factor(inner, check_finite=False)

    def step(self):
        """Return the step [t + d] of first state and pushes to their optimum."""
        pulled = self._begin.T @ self._rows + self._pushed
        return -cho_solve(self._factor(), pulled, check_finite=False)

    def eliminated(self):
        """Return the `Shot`."""
        window, factor = self.window, self._factor()
        t, places = window.problem.tangent_size, window.pushes.places
        cross = self._begin.T @ self._by_parameters
        pulled = self._begin.T @ self._rows + self._pushed
        follow = -cho_solve(factor, cross, check_finite=False)
        # As a sum of squares it is one, however much rounding leaves of it.
        seen = self._by_parameters + self._begin @ follow
        gram = seen.T @ seen + follow.T @ (self._own[:, None] * follow)
        pull = self._by_parameters.T @ self._rows + follow.T @ pulled
        step = -cho_solve(factor, pulled, check_finite=False)
        # What is left once the step has been taken.
        left = np.full(self.left.size, np.nan)
        left[window.told.ravel()] = self._rows + self._begin @ step
        to_end = np.concatenate([self._slope[:, :t], self._slope[:, t + places]], 1)
        # Of the inverse of U'U.
        root = solve_triangular(factor[0], np.eye(len(follow)))
        return Shot(
            window.parameters,
            self.cost + float(pulled @ step),
            gram,
            pull,
            window.frames,
            self.course,
            self.pushes,
            left.reshape(self.left.shape) * window.levels,
            window.levels,
            step,
            follow,
            to_end @ root,
            self._slope[:, t:] + to_end @ follow,
        )
