"""
The mass of the chain, found by Levenberg-Marquardt from observed positions.

The experiment of "End-to-End Differentiable Physics for Learning and Control" (de Avila
Belbute-Peres et al., 2018): positions of chain and ball are observed for ten seconds, in which the
ball hits the chain several times. What is observed is made by exact steps at velocity level, as
there, and fitted by a simulation of our own. Beyond the paper: noise, and an interval of the mass.
"""

from dataclasses import dataclass
import time

import numpy as np

from ....estimation.damped_gauss_newton import Descents, Expansion, Rules
from .chain_by_lcp import positions_by_lcp
from .chain_model import CHAIN_MASS
from .chain_simulation import RATE, SECONDS, SEEN

STARTS = (0.5, 1.0, 2.0, 4.0, 12.0, 20.0)  # [kg]
ITERATIONS = 10
# Steps of the exact simulation [s]: half as long ones move the mass that is found by .001 kg.
LCP_STEP = 1 / 240
# Noise of observed positions [m]: five of the pixels of the demo.
NOISE = 0.05
# Deviation [m] that positions without noise are taken to have; it sets the units of the cost.
_EXACT = 1e-3
# Of the logarithm of the mass, in one step.
_LONGEST_STEP = 1.0
# A two-sided interval of a normal distribution.
_NINETY_PERCENT = 1.6449


def observations():
    """Return the positions [301, 22] of centres [m] that are to be explained."""
    return positions_by_lcp(CHAIN_MASS, LCP_STEP, SECONDS, RATE)


@dataclass(frozen=True)
class Course:
    """
    One descent: masses [kg] at its start and after each step that was tried.

    evaluations: of the loss; curvature, cost: where it ended, by the logarithm of the mass.
    """

    masses: np.ndarray
    evaluations: int
    cost: float
    curvature: float

    def iterations_to(self, error):
        """Return after how many iterations the mass stays within `error` [kg], or None."""
        is_outside = abs(self.masses - CHAIN_MASS) > error
        if is_outside[-1]:
            return None
        return int(np.flatnonzero(is_outside).max(initial=-1)) + 1


@dataclass(frozen=True)
class Interval:
    """A mass [kg] found from noisy positions, and its 90 % interval [kg]."""

    mass: float
    low: float
    high: float

    @property
    def holds(self):
        """Whether the true mass lies inside."""
        return self.low <= CHAIN_MASS <= self.high


@dataclass(frozen=True)
class ChainResult:
    """
    Courses from every start, intervals from every seed.

    milliseconds: of one loss with its gradient, by start; observed [301, 22] [m].
    """

    courses: tuple
    intervals: tuple
    milliseconds: tuple
    observed: np.ndarray


class PositionMisfit:
    """Half of the summed squares of deviations, as a function of the logarithm of the mass."""

    def __init__(self, simulation, observed, deviation):
        """Take positions [T + 1, 22] [m] and what they usually deviate by [m]."""
        self._simulation, self._observed, self._deviation = simulation, observed, deviation

    def costs(self, points):
        """Return the costs [K] of logarithms of masses [1, K]."""
        return np.array([0.5 * (self._residual(p, False)[0] ** 2).sum() for p in points[0]])

    def expand(self, points, costs=None):
        """Return the `Expansion` at points [1, K]."""
        found = [self._residual(point) for point in points[0]]
        costs = np.array([0.5 * (residual**2).sum() for residual, _ in found])
        gradient = np.array([[(residual * slope).sum()] for residual, slope in found])
        curvature = np.array([[[(slope**2).sum()]] for _, slope in found])
        return Expansion(costs, gradient, curvature, curvature)

    @staticmethod
    def shortened(step):
        """Return steps [1, K] that are not longer than may be trusted."""
        return np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)

    def _residual(self, point, derivatives=True):
        """Return deviations and their derivatives by the logarithm of the mass, both scaled."""
        mass = float(np.exp(point))
        motion = self._simulation.motion(mass, derivatives)
        deviation = (motion.positions - self._observed) / self._deviation
        return deviation, motion.slopes * mass / self._deviation


def descend(simulation, observed, start, deviation=_EXACT):
    """Return the `Course` from a start [kg]; observed [T + 1, 22] [m], with its deviation [m]."""
    misfit = PositionMisfit(simulation, observed, deviation)
    rules = Rules(iterations=ITERATIONS, tolerance=1e-6)
    descents = Descents(misfit, np.log([[start]]), rules)
    masses = [start]
    descents.run(lambda points, _: masses.append(float(np.exp(points[0, 0]))))
    state = descents.state
    return Course(
        np.array(masses),
        int(descents.evaluations[0]),
        float(state.costs[0]),
        float(state.curvature[0, 0, 0]),
    )


def interval(simulation, exact, seed, start=2.0):
    """
    Return the `Interval` from positions with noise, whose size is taken from the residuals.

    exact [T + 1, 22] [m]: the positions without noise.
    """
    rng = np.random.default_rng(seed)
    observed = exact + NOISE * rng.standard_normal(exact.shape)
    course = descend(simulation, observed, start, NOISE)
    sd = np.sqrt(2 * course.cost / (exact.size - 1) / course.curvature)
    mass = course.masses[-1]
    return Interval(mass, *(mass * np.exp(s * _NINETY_PERCENT * sd) for s in (-1, 1)))


def milliseconds(simulation, mass, repetitions=20):
    """Return the median time [ms] of one loss with its gradient at a mass [kg]."""
    misfit, times = PositionMisfit(simulation, np.zeros((1, SEEN)), 1.0), []
    for _ in range(repetitions):
        began = time.perf_counter()
        misfit.expand(np.log([[mass]]))
        times.append(time.perf_counter() - began)
    return 1e3 * float(np.median(times))


def run_chain(simulation, observed, seeds, on_step):
    """
    Return the `ChainResult` of a `ChainSimulation`.

    seeds: of the noise; on_step(text): called after every descent.
    """
    courses, intervals = [], []
    for start in STARTS:
        courses.append(descend(simulation, observed, start))
        on_step(f'{start:g} kg: {courses[-1].masses[-1]:.4f} kg')
    times = tuple(milliseconds(simulation, start) for start in STARTS)
    for seed in seeds:
        intervals.append(interval(simulation, observed, seed))
        on_step(f'{sum(i.holds for i in intervals)} of {len(intervals)} intervals hold')
    return ChainResult(tuple(courses), tuple(intervals), times, observed)
