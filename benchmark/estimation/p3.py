"""P3: the two modes of a pendulum that swings freely, the first state known."""

from functools import cache

import numpy as np
from problems import p3

from sim2real_estimator.estimation.estimators import ESTIMATORS

from .course import follow
from .metrics import bounds, judge, Quantities
from .reference import exact_posterior
from .targets import coverage_lines, Line, median_width, share

TITLE = 'P3, mirrored pendulum, first state known, 50 frames at 25 Hz'
SETTINGS = {'starts': 16}
SECONDS = 2.0
# Modes count as two where they are this many standard deviations apart and the lighter one has
# at least this weight: of others nobody could say how many there are.
APART, NOTABLE = 12.0, 0.01
# A mode is kept where a component stands within so many of its standard deviations.
NEAR = 5.0


def measure(seed):
    """Return the record of one problem."""
    problem = shared_problem()
    truth, frames = p3.draw(seed, seconds=SECONDS, is_start_known=True)
    modes = Modes(problem, truth, frames)
    last = len(frames) - 1
    course = follow(problem, ESTIMATORS['gaussian_sum'](**SETTINGS), frames, [last])
    mixture = course.mixtures[last]
    grid = exact_posterior(truth, frames, modes.deviations)
    exact = grid.side_weights()
    record = {'end': judge(mixture, Quantities(lambda x: x, modes.true))}
    record['divergence'] = grid.divergence(mixture)
    record['bimodal'] = modes.are_two
    record['kept'] = modes.kept_by(mixture) if modes.are_two else None
    record['weight_error'] = abs(modes.side_weight(mixture) - exact[0]) if modes.are_two else None
    return record


class Modes:
    """
    The two modes that a problem has.

    true, mirrored [2]: (log c, log b); deviations: of log c and of log(b / c) about a mode.
    """

    def __init__(self, problem, truth, frames):
        """Find them from the truth and the information of the frames."""
        self.true = p3.logs_of(truth.values)
        self.mirrored = p3.mirrored(self.true)
        last = len(frames) - 1
        least = bounds(problem, truth.states, self.true, frames, (last,))[last]
        along = np.array([[1.0, 0.0], [-1.0, 1.0]])
        self.deviations = np.sqrt(np.diag(along @ least @ along.T))
        heights = [_prior_height(problem, mode) for mode in (self.true, self.mirrored)]
        lighter = 1 / (1 + np.exp(abs(heights[0] - heights[1])))
        apart = abs(self.true[0] - self.mirrored[0]) / self.deviations[0]
        self.are_two = bool(apart > APART and lighter > NOTABLE)

    def kept_by(self, mixture):
        """Return whether a mixture has a component at both modes."""
        deviations = np.sqrt(mixture.parameter_covariances()[:, 0, 0])
        return float(
            all(
                (np.abs(mixture.means[0] - mode[0]) < NEAR * deviations).any()
                for mode in (self.true, self.mirrored)
            )
        )

    def side_weight(self, mixture):
        """Return the weight of the components of a small distance c."""
        middle = 0.5 * (self.true[0] + self.mirrored[0])
        return float(mixture.weights[mixture.means[0] < middle].sum())

    def true_weight(self, mixture):
        """Return the weight of the components on the side of the truth."""
        small = self.side_weight(mixture)
        return small if self.true[0] < self.mirrored[0] else 1 - small


def _prior_height(problem, logs):
    away = np.linalg.solve(problem.prior.root, logs - problem.prior.mean)
    return -0.5 * away @ away


@cache
def shared_problem():
    """Return the problem, set up once per process."""
    return p3.make_problem()


def median_divergence(records):
    """Return the median KL divergence from the exact posterior."""
    return float(np.median([r['divergence'] for r in records]))


def lines():
    """Return the lines of the table."""
    return [
        Line('both modes kept', share('kept'), (0.97, None), 'share'),
        Line('mean error of a weight', share('weight_error'), (None, 0.02)),
        Line('median KL(exact || estimate)', median_divergence, (None, 0.05)),
        *coverage_lines('2 s', 'end', ('width [%]', median_width('end'))),
    ]
