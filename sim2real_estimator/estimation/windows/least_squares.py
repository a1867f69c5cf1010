"""
Least squares on all windows: one set of parameters, with the covariance of what windows ask of it.

The quadratics that windows leave of the parameters are summed and minimised by Gauss and Newton;
windows are simulated again where the parameters have moved. Residuals within a window are
correlated by what the model lacks, so the covariance is the sandwich (White 1982, clustered by
windows as of Liang and Zeger 1986): with the information H of the prior and of all windows, and
the gradient g_w of window w at a fit without it,

    V = factor^2 H^-1 (prior's information + sum_w g_w g_w') H^-1

Where the noise expects outliers, residuals are weighted. Weights overstate the curvature of the
cost, by which g_w is divided (Huber 1973).

How probable a cause of a change is follows from the same fit, by Laplace's method.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..changes.isolation import EarlierModel
from ..factors import lower_root, solve_triangular
from ..protocol import ModelChange
from .shooting import fit_window, Quadratic

# Robots change slowly: of the windows no longer kept about so many count.
_REMEMBERED = 1000.0
# Levels, by which residuals are divided, are so many times their median absolute value: windows
# have more large residuals than small ones suggest. They are this part of the sensor's noise at
# the least.
_LEVEL, _LEAST_LEVEL = 1.5, 0.1
# Between recordings of one robot estimates differ by so much more than within one.
_BETWEEN = 1.75
# The spread of windows is expected to be so many times that of white noise, which counts for so
# many windows.
_USUAL_COLOUR, _USUAL_WINDOWS = 4.0, 4.0
# Clocks, lengths and the form of friction differ from the model: no parameter is known better than
# to this part of its size.
_LEAST_KNOWN = 2e-3
# Leverage of a window on the fit, at the most, when its gradient at a fit without it is computed.
_MOST_LEVERAGE = 0.98
# Gauss-Newton steps of a fit of few windows, and of many of which one is new; a fit has converged
# when a step is so small, in standard deviations of white noise.
_ROUNDS, _FEW_ROUNDS, _CONVERGED = 8, 3, 0.3
# Of fewer windows than this all are simulated again in each step. Of more, the cost is known to
# this part of it only.
_FEW, _INEXACT = 12, 0.05
# Windows are simulated again when parameters have moved by so many deviations of white noise since
# then, or levels by this factor.
_MOVED, _RELEVELLED = 4.0, 1.25
# Part of the information that rounding may take away.
_RIDGE = 1e-12
# Longest step, and distance from the prior's mean, in standard deviations of the prior.
_LONGEST_STEP, _FARTHEST = 1.5, 6.0
# Damping of Marquardt after a step that failed, and its factor.
_DAMPING, _DAMPED_MORE = 1e-3, 10
# A window observes directions about which it has this part of the information known before.
_OBSERVED = 0.05
# Several changes at once are less probable by this power of the number of possible ones.
_SEVERAL = 2.0


@dataclass(frozen=True)
class FoldedWindows(Quadratic):
    """
    The cost of windows that are no longer kept, but for a constant.

    meat [p, p]: sum of the squares of their gradients, for the sandwich; number: of windows.
    """

    meat: np.ndarray
    number: float = 0.0

    @staticmethod
    def none(mean):
        """Return that of no windows."""
        empty = np.zeros((len(mean), len(mean)))
        return FoldedWindows(mean, 0.0, empty, np.zeros(len(mean)), empty)

    def with_window(self, window, meat):
        """Return this with one more `FittedWindow`; meat [p, p]: the square of its gradient."""
        more, kept = window.gradient_at(self.at), 1 - 1 / _REMEMBERED
        return FoldedWindows(
            self.at,
            0.0,
            kept * self.gram + window.gram,
            kept * self.gradient + more,
            kept * self.meat + meat,
            kept * self.number + 1,
        )


def fit_windows(problem, state, most, noise):
    """
    Return the `ShootingState` with mean, root and levels by all of its windows.

    most: number of windows that are kept to be simulated again; older ones are folded; noise:
    distribution of residuals over levels, as in `estimation/noise.py`.
    """
    fit = _Fit(problem, state, noise)
    # With outliers a step may be too long so often that few rounds never find one.
    is_hard = noise.expects_outliers or len(state.windows) < _FEW
    fit.run(_ROUNDS if is_hard else _FEW_ROUNDS)
    return fit.state(most)


def isolate(problem, state, since, noise):
    """
    Return (`EarlierModel`, (mean, root) of the changed robot) by windows since the change.

    Hypotheses: each possible change, all of them at once, or a return to what was known before the
    last change. Windows are fitted anew under each of them, and evidence decides; noise: as of
    `fit_windows`.
    """
    jumps = problem.model_changes(state.mean)
    together = np.concatenate([jump.root for jump in jumps], 1)
    several = -_SEVERAL * np.log(len(jumps))
    each = [(jump, state.mean, np.concatenate([state.root, jump.root], 1)) for jump in jumps]
    every = ModelChange('several things', (), together, log_odds=several)
    each.append((every, state.mean, np.concatenate([state.root, together], 1)))
    before, back = state.model_before_change, None
    if before:
        # The robot that was known then, and may have drifted since.
        back = ModelChange(
            f'as before: {before.name}', before.parameters, np.zeros((len(state.mean), 0))
        )
        each.append((back, before.mean, before.root))
    levels, found = np.sqrt(_USUAL_COLOUR) * state.levels, []
    for jump, mean, wide in each:
        prior = mean, lower_root(wide[None])[0]
        none = FoldedWindows.none(mean)
        trial = replace(state, mean=mean, windows=since, folded=none, prior=prior)
        fit = _Fit(problem, trial, noise, levels)
        fit.run(_ROUNDS)
        found.append((fit.log_evidence() + jump.log_odds, jump, prior))
    _, jump, prior = max(found, key=lambda each: each[0])
    known = jump if jump.root.shape[1] and jump is not every else None
    back = None if back is None or jump is not back else before.mean
    found = EarlierModel(
        jump.name, jump.parameters, state.mean, state.root, known, returns_to=back
    )
    return found, prior


def misfit_of(window, root):
    """
    Return (mean square, degrees of freedom) of the gradient of a `FittedWindow`.

    root [p, p]: of the covariance of the parameters that were known before it, at which it is.
    """
    gram, gradient = root.T @ window.gram @ root, root.T @ window.gradient
    shares, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    shares, gradient = np.maximum(shares, 0.0), vectors.T @ gradient
    observed = shares > _OBSERVED
    if not observed.any():
        return 0.0, 0
    variance = _USUAL_COLOUR * shares[observed] + shares[observed] ** 2
    return float((gradient[observed] ** 2 / variance).sum()), int(observed.sum())


class _Fit:
    """Gauss and Newton, damped, on the cost of all windows."""

    def __init__(self, problem, state, noise, levels=None):
        """Take a `ShootingState`; levels [C]: of residuals, None: by its windows."""
        self._problem, self._state, self._noise = problem, state, noise
        self._expected, self._prior_root = state.prior or (problem.prior.mean, problem.prior.root)
        inverse = np.linalg.inv(self._prior_root)
        self._information = inverse.T @ inverse
        nothing = np.zeros(len(self._expected))
        prior = Quadratic(self._expected, 0.0, self._information, nothing)
        # The cost beside that of the windows kept.
        self._others = prior, state.folded
        self._levels = _levels(problem, state, noise) if levels is None else levels
        self._damping = 0.0
        self._are_few = len(state.windows) < _FEW
        self._slack = 0.0 if self._are_few else _INEXACT
        self.mean, self.windows = state.mean, state.windows
        # The metric in which distances of parameters are judged.
        self._metric = self._gram(state.windows)
        self.windows = self._renewed(self.mean) or state.windows
        self._cost = self._cost_of(self.windows, self.mean)

    def run(self, rounds):
        """Take so many steps, or fewer if the fit converges."""
        for _ in range(rounds):
            if not self._go_on():
                break

    def _go_on(self):
        """Take a step; return whether another is worth it."""
        self._metric = gram = self._gram(self.windows)
        gradient = sum(each.gradient_at(self.mean) for each in (*self._others, *self.windows))
        damped = gram + self._damping * np.diag(np.diag(gram))
        step = -np.linalg.solve(damped, gradient)
        longest = np.abs(np.linalg.solve(self._prior_root, step)).max()
        step = step * min(1.0, _LONGEST_STEP / max(longest, 1e-12))
        mean = self.mean + step
        away = np.abs(np.linalg.solve(self._prior_root, mean - self._expected)).max()
        windows = self._renewed(mean) if away < _FARTHEST else None
        cost = np.inf if windows is None else self._cost_of(windows, mean)
        if not cost <= (1 + self._slack) * self._cost:
            self._damping = max(_DAMPED_MORE * self._damping, _DAMPING)
            # Costs of windows may have been extrapolated from other parameters.
            self.windows = self._renewed(self.mean, are_all=True) or self.windows
            self._cost = self._cost_of(self.windows, self.mean)
            return True
        self.mean, self.windows, self._cost = mean, windows, cost
        self._damping /= _DAMPED_MORE
        return np.sqrt(max(step @ gram @ step, 0.0)) > _CONVERGED

    def state(self, most):
        """Return the `ShootingState` of this fit; as of `fit_windows`."""
        gram, folded, windows = self._gram(self.windows), self._state.folded, self.windows
        squares = _squared_gradients(windows, self.mean, gram)
        meat = folded.meat + sum(squares)
        # A few windows may agree by chance.
        number = len(windows) + folded.number
        usual = _USUAL_COLOUR * _USUAL_WINDOWS / number * (gram - self._information)
        inverse = np.linalg.inv(gram)
        covariance = _BETWEEN**2 * inverse @ (self._information + meat + usual) @ inverse
        covariance += self._problem.least_covariance(_LEAST_KNOWN)
        root = _at_most(self._prior_root, covariance)
        old = max(len(windows) - most, 0)
        for window, square in zip(windows[:old], squares):
            folded = folded.with_window(window, square)
        known = {'mean': self.mean, 'root': root, 'levels': self._levels}
        return replace(self._state, windows=windows[old:], folded=folded, **known)

    def log_evidence(self):
        """Return the log evidence of the windows, up to what does not depend on the prior."""
        gram = self._gram(self.windows) - self._information
        whole = np.eye(len(gram)) + self._prior_root.T @ gram @ self._prior_root
        return -0.5 * (self._cost + np.linalg.slogdet(whole)[1])

    def _gram(self, windows):
        """Return the information [p, p] of prior, folded windows and others, as of white noise."""
        gram = sum(each.gram for each in (*self._others, *windows))
        return gram + _RIDGE * np.diag(np.diag(gram))

    def _renewed(self, mean, are_all=False):
        """
        Return windows simulated again where parameters or levels have moved, None: one diverges.

        are_all: simulate all of them again that were not fitted at this mean.
        """
        found, problem = [], self._problem
        for window in self.windows:
            away = mean - window.at
            moved = np.abs(np.log(self._levels / window.levels)).max()
            far = away.any() if are_all else away @ self._metric @ away > _MOVED**2
            if far or moved > np.log(_RELEVELLED):
                guess = window.guess_at(problem, mean)
                how, steps = (self._levels, problem.constant_efforts), 2 if self._are_few else 0
                window = fit_window(
                    problem, window.frames, guess, mean, *how, steps, True, self._noise
                )
            if window is None:
                return None
            found.append(window)
        return tuple(found)

    def _cost_of(self, windows, mean):
        """Return the sum of squares at a mean."""
        return sum(each.cost_at(mean) for each in (*self._others, *windows))


def _at_most(prior_root, covariance):
    """Return a root [p, p] of a covariance, in no direction wider than that of the prior."""
    whitened = np.linalg.solve(prior_root, np.linalg.solve(prior_root, covariance).T)
    sizes, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
    wide = prior_root @ (vectors * np.sqrt(np.clip(sizes, 0.0, 1.0)))
    return lower_root(wide[None])[0]


def _squared_gradients(windows, mean, gram):
    """Return for every window the square [p, p] of its gradient at a fit without it."""
    factor, found = np.linalg.cholesky(gram), []
    for window in windows:
        whitened = solve_triangular(factor, window.gram, lower=True)
        whitened = solve_triangular(factor, whitened.T, lower=True)
        shares, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
        own = vectors.T @ solve_triangular(factor, window.gradient_at(mean), lower=True)
        own = factor @ vectors @ (own / (1 - np.clip(shares, 0.0, _MOST_LEVERAGE)))
        own = own / window.curvature
        found.append(np.outer(own, own))
    return found


def _levels(problem, state, noise):
    """Return the levels [C] of residuals by the windows kept."""
    left = np.abs(np.concatenate([window.left for window in state.windows]))
    observed = np.isfinite(left).any(0)
    levels = state.levels.copy()
    if noise.expects_outliers:
        # Most residuals are small before an impact, and say nothing of those after it. Axes of one
        # quantity have one level, else that counts most along which the fewest impacts were.
        squares = np.array([np.nanmean(w.left[:, observed] ** 2, 0) for w in state.windows])
        groups = problem.channel_groups[observed]
        together = groups[:, None] == groups
        means = squares @ together / together.sum(0)
        sizes = np.sqrt(np.nanmedian(means, 0))
    else:
        sizes = _LEVEL * np.nanmedian(left[:, observed], 0)
    levels[observed] = np.maximum(sizes, _LEAST_LEVEL)
    # The first fits may be far off, which is no reason to weigh residuals less.
    return np.minimum(levels, 2 * state.levels)
