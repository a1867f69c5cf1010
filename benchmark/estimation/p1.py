"""P1: three lengths from motion capture at 25 Hz, the first state unknown."""

from functools import cache

import numpy as np
from problems import p1

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.reported_events import Happened

from .course import follow
from .metrics import bounds, efficiency_ratios, judge, Quantities
from .targets import coverage_lines, efficient, Line, median_error, median_nees

TITLE = 'P1, three point masses on ball joints, 25 Hz, 0.1 deg'
# Frames after the first, and the wanted median error [%].
MARKS = {10: 0.5, 25: 0.1, 50: 0.04, 125: 0.02}
# Batches of a fraction of a second, as many frames a second are few; and no longer than two,
# after which a lively chain is too chaotic for one fit.
SETTINGS = {'starts': 4, 'horizons': (6, 11, 16, 21, 26), 'longest': 51}


def measure(seed, noise=p1.NOISE, marks=MARKS):
    """Return the record of one problem."""
    problem = _problem(noise)
    truth, frames = p1.draw(seed, count=max(marks), noise=noise)
    logs = np.log([truth.values[name] for name in p1.NAMES])
    quantities = Quantities(lambda x: x, logs)
    least = bounds(problem, truth.states, logs, frames, marks)
    course = follow(problem, ESTIMATORS['gaussian_sum'](**SETTINGS), frames, marks)
    record = {'handed_over': course.when(Happened.HANDED_OVER)}
    for k in marks:
        said = judge(course.mixtures[k], quantities)
        record[str(k)] = said | {'ratios': efficiency_ratios(said['error'], least[k])}
    return record


@cache
def _problem(noise):
    return p1.make_problem(noise=noise)


def lines():
    """Return the lines of the table."""
    found = []
    for count, error in MARKS.items():
        mark, when = str(count), f'N={count}'
        beside = 'efficiency', efficient(mark)
        found.append(Line(f'median error [%], {when}', median_error(mark), (None, error)))
        if count >= 25:
            found.append(Line(f'efficiency, {when}', efficient(mark), (0.8, None)))
        found += coverage_lines(when, mark, beside)
    found.append(Line('median NEES / p, N=125', median_nees('125'), (0.75, 1.1)))
    return found
