"""
A window of motion, predicted from its first state by forward simulation: single shooting.

Neither the first state of a window is known nor the efforts that act during it and that the model
lacks. Both are found with the parameters held fixed, by Gauss and Newton, and then eliminated by
the Schur complement. What is left is the cost of the window as a quadratic in the parameters,
about the values at which they were held.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..factors import solve_triangular
from ..noise import NormalNoise

_NORMAL = NormalNoise()
# Gauss-Newton steps from an initial guess; each is halved until it helps, so often at the most.
_STEPS, _HALVINGS = 4, 6
# Where outliers are expected, as after impacts, steps are damped instead (Marquardt), by these.
_DAMPINGS, _STEPS_DAMPED = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0), 8
# An initial guess is improved on these first parts of a window, of so many frames at the least.
_PARTS, _LEAST_FRAMES = (0.25, 0.5), 3
# A step that changes the cost by less than this part of it is the last.
_CONVERGED = 1e-4
# Directions of the first state that are unobservable stay at the initial guess: by this part of
# the information about other directions, which is added to all.
_RIDGE, _TINY = 1e-9, 1e-30
# Least curvature of the cost of a window as a part of the weights of its rows; of residuals that
# are as Student's t expects it is 0.7.
_LEAST_CURVATURE = 0.4


@dataclass(frozen=True)
class ConstantEfforts:
    """
    Constant efforts that act during a window and that the model lacks.

    places [d]: coordinates in whose place they act, those of torque offsets; sd [d]: standard
    deviations of their prior.
    """

    places: np.ndarray
    sd: np.ndarray


@dataclass(frozen=True)
class Quadratic:
    """The cost of parameters x: cost + 2 gradient' (x - at) + (x - at)' gram (x - at)."""

    at: np.ndarray
    cost: float
    gram: np.ndarray
    gradient: np.ndarray

    def cost_at(self, parameters):
        """Return the cost of parameters [p]."""
        away = parameters - self.at
        return self.cost + 2 * self.gradient @ away + away @ self.gram @ away

    def gradient_at(self, parameters):
        """Return half the derivative [p] of the cost at parameters [p]."""
        return self.gradient + self.gram @ (parameters - self.at)


@dataclass(frozen=True)
class FittedWindow(Quadratic):
    """
    A window of H frames, fitted with the parameters held at `at` [p].

    As a `Quadratic`: the cost of parameters nearby, first state and unknown efforts eliminated.
    There are C channels, the rows of the sensors' samples.

    frames; trajectory [H + 1, nx]: states at the bounds of frames; efforts [d]: the unknown ones
    [N m or N]; left [H, C]: mean residual (predicted less measured) over the samples of a frame,
    in standard deviations of the sensor, NaN where there are none; levels [C]: by which residuals
    are divided before their squares are summed; step [t + d]: last step of first state and
    efforts, not taken yet; slope [t + d, p]: derivative of their optimum by the parameters;
    end_root [t, t + d]: root of the covariance of the last state given the parameters; end_slope
    [t, p]: derivative of that state by them; curvature: of the cost of all rows, as a part of the
    sum of their weights.
    """

    frames: tuple
    trajectory: np.ndarray
    efforts: np.ndarray
    left: np.ndarray
    levels: np.ndarray
    step: np.ndarray
    slope: np.ndarray
    end_root: np.ndarray
    end_slope: np.ndarray
    curvature: float = 1.0

    @property
    def is_finite(self):
        """Whether all of its numbers are finite."""
        parts = self.cost, self.gram, self.gradient, self.step, self.end_root, self.end_slope
        return all(np.isfinite(part).all() for part in parts)

    def guess_at(self, problem, parameters):
        """Return (first state [nx], efforts [d]), the likeliest at parameters [p] nearby."""
        moved = self.step + self.slope @ (parameters - self.at)
        t = problem.tangent_size
        point = problem.retract(self.trajectory[0][:, None], moved[:t, None])[:, 0]
        return point, self.efforts + moved[t:]


def fit_window(
    problem,
    frames,
    guess,
    parameters,
    levels,
    unknown,
    steps=_STEPS,
    is_near=False,
    noise=_NORMAL,
):
    """
    Return the `FittedWindow` of consecutive frames at parameters [p], None if a fit diverges.

    guess: initial (first state [nx], efforts [d]); levels [C]: by which residuals are divided;
    unknown: `ConstantEfforts` of the window; steps: of Gauss and Newton before the last; is_near:
    whether the guess is from a fit of the same window at parameters nearby; noise: distribution of
    residuals over levels, as in `estimation/noise.py`.
    """
    how, is_damped = (parameters, levels, unknown), noise.expects_outliers
    if not is_near:
        # The end of a lively motion depends too much on the first state to begin with. Of rows
        # that are far off a noise with outliers has hardly a gradient.
        for part in _PARTS:
            some = frames[: int(part * len(frames))]
            if len(some) >= _LEAST_FRAMES:
                simulator = _Simulator(problem, some, *how, is_damped=is_damped)
                guess = _improved_guess(simulator, guess)
    simulator = _Simulator(problem, frames, *how, noise, is_damped)
    now = simulator.linearized(*guess)
    if is_damped and not is_near:
        steps *= _STEPS_DAMPED // _STEPS
    for _ in range(steps if now else 0):
        better = simulator.improved(now)
        if better is None:
            break
        gained, now = now.cost - better.cost, better
        if gained < _CONVERGED * now.cost:
            break
    found = now.eliminated() if now else None
    return found if found is not None and found.is_finite else None


def _improved_guess(simulator, guess):
    """Return (first state, efforts) after a few steps that fit part of a window."""
    now = simulator.linearized(*guess)
    for _ in range(_STEPS // 2 if now else 0):
        now = simulator.improved(now) or now
    return (now.trajectory[0], now.efforts) if now else guess


class _Simulator:
    """Simulates the frames of a window one after the other, from a state and efforts."""

    def __init__(
        self, problem, frames, parameters, levels, unknown, noise=_NORMAL, is_damped=False
    ):
        self.problem, self.frames, self.levels = problem, frames, levels
        self.parameters, self.unknown = parameters, unknown
        self.noise, self.is_damped = noise, is_damped
        self.means = [problem.channel_means(frame) for frame in frames]
        # Frames without samples of a channel do not observe it.
        self.observed = np.array([means.any(1) for means in self.means])

    def improved(self, now):
        """Return the `_LinearWindow` after a step that lowers the cost, or None."""
        t = self.problem.tangent_size
        for part in self._steps(now):
            point = self.problem.retract(now.trajectory[0][:, None], part[:t, None])[:, 0]
            found = self.linearized(point, now.efforts + part[t:])
            if found is not None and found.cost < now.cost:
                return found
        return None

    def _steps(self, now):
        """Yield steps of first state and efforts [t + d], each shorter than the one before."""
        if self.is_damped:
            yield from (now.step(damping) for damping in _DAMPINGS)
        else:
            step = now.step()
            yield from (0.5**k * step for k in range(_HALVINGS))

    def linearized(self, point, efforts):
        """Return the `_LinearWindow` from a state [nx] with efforts [d], None if it diverges."""
        problem, t = self.problem, self.problem.tangent_size
        parameters = self.parameters.copy()
        parameters[self.unknown.places] += efforts
        state, columns, slope = point[:, None], parameters[:, None], None
        left, by, trajectory = [], [], [point]
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
                # Chain rule, from the window's first state and the parameters.
                moved = rows[:, :t] @ slope
                moved[:, t:] += rows[:, t:]
                by.append(means @ moved)
                onwards = transition[:, :t] @ slope
                onwards[:, t:] += transition[:, t:]
                slope = onwards
            state = found.ends
            trajectory.append(state[:, 0])
        left, by = np.array(left), np.array(by)
        found = _LinearWindow(self, np.array(trajectory), efforts, left, by, slope)
        return found if np.isfinite(found.cost) else None


class _LinearWindow:
    """A window linearized about a trajectory [H + 1, nx] of a `_Simulator`."""

    def __init__(self, simulator, trajectory, efforts, left, by, slope):
        """
        Take a trajectory and efforts [d].

        left [H, C]: mean residuals; by [H, C, t + p]: their derivatives by the first state and the
        parameters; slope [t, t + p]: that of the last state.
        """
        self.simulator, self.trajectory, self.efforts = simulator, trajectory, efforts
        self.left, self._slope = left, slope
        t, unknown = simulator.problem.tangent_size, simulator.unknown
        scaled, observed = (left / simulator.levels).ravel(), simulator.observed.ravel()
        self._rows = scaled[observed]
        slopes = (by / simulator.levels[:, None]).reshape(len(scaled), -1)[observed]
        squares, self._roots, self._curvature = self._rows @ self._rows, None, 1.0
        self._unweighted = self._rows
        if simulator.noise.expects_outliers:
            # Rows of large residuals count less: iteratively reweighted least squares.
            noise, weights = simulator.noise, simulator.noise.weight(self._rows)
            squares, self._roots = 2 * noise.cost(self._rows).sum(), np.sqrt(weights)
            curvature = float(noise.curvature(self._rows).sum() / weights.sum())
            self._curvature = max(curvature, _LEAST_CURVATURE)
            self._rows, slopes = self._roots * self._rows, self._roots[:, None] * slopes
        # By what is eliminated: the first state, and the unknown efforts.
        self._by_begin = np.concatenate([slopes[:, :t], slopes[:, t + unknown.places]], 1)
        self._by_parameters = slopes[:, t:]
        self._prior = np.concatenate([np.zeros(t), 1 / unknown.sd**2])
        self._of_prior = np.concatenate([np.zeros(t), efforts / unknown.sd**2])
        of_prior = ((efforts / unknown.sd) ** 2).sum()
        self.cost = float(squares + of_prior)

    def _factor(self, damping=0.0):
        """Return the Cholesky factor of the information about first state and efforts."""
        inner = self._by_begin.T @ self._by_begin + np.diag(self._prior)
        size = np.diag(inner)
        ridge = _RIDGE + damping
        inner += np.diag(ridge * np.maximum(size, _RIDGE * size.max()) + _TINY)
        # What is not finite has no factor: a LinAlgError, which the pipeline catches.
        return cho_factor(inner, check_finite=False)

    def step(self, damping=0.0):
        """Return the Gauss-Newton step [t + d] of first state and efforts."""
        gradient = self._by_begin.T @ self._rows + self._of_prior
        return -cho_solve(self._factor(damping), gradient, check_finite=False)

    def eliminated(self):
        """Return the `FittedWindow`."""
        simulator, factor = self.simulator, self._factor()
        t, places = simulator.problem.tangent_size, simulator.unknown.places
        cross = self._by_begin.T @ self._by_parameters
        of_begin = self._by_begin.T @ self._rows + self._of_prior
        follow = -cho_solve(factor, cross, check_finite=False)
        # As a sum of squares the Schur complement stays positive, whatever rounding does.
        rows = self._by_parameters + self._by_begin @ follow
        gram = rows.T @ rows + follow.T @ (self._prior[:, None] * follow)
        gradient = self._by_parameters.T @ self._rows + follow.T @ of_begin
        step = -cho_solve(factor, of_begin, check_finite=False)
        # Residuals after the step.
        left = np.full(self.left.size, np.nan)
        after = self._rows + self._by_begin @ step if self._roots is None else self._unweighted
        left[simulator.observed.ravel()] = after
        to_end = np.concatenate([self._slope[:, :t], self._slope[:, t + places]], 1)
        # Of the inverse of U'U.
        root = solve_triangular(factor[0], np.eye(len(follow)))
        # What a last step would gain is counted on where steps are known to be good.
        gain = float(of_begin @ step) if self._roots is None else 0.0
        return FittedWindow(
            simulator.parameters,
            self.cost + gain,
            gram,
            gradient,
            simulator.frames,
            self.trajectory,
            self.efforts,
            left.reshape(self.left.shape) * simulator.levels,
            simulator.levels,
            step,
            follow,
            to_end @ root,
            self._slope[:, t:] + to_end @ follow,
            self._curvature,
        )
