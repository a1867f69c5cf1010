"""P2 whose encoders are half or twice as noisy as said, which the estimator has to find out."""

from functools import cache

import numpy as np
from problems import p2
from scipy.stats import norm

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.reported_events import Happened

from .course import follow
from .metrics import judge
from .p2 import base_quantities, frame_at
from .targets import coverage_lines, Line, median_width, share, total

TITLE = 'P2 with encoders half or twice as noisy as said, 5 s'
SECONDS = 5
# What is said of the noise is wrong by these factors, in turn.
FACTORS = (0.5, 2.0)
_SENSOR, _SPREAD = 'encoders', 0.5


def measure(seed):
    """Return the record of one problem."""
    factor = FACTORS[seed[-1] % len(FACTORS)]
    problem, mark = _problem(factor), frame_at(SECONDS)
    truth, frames = p2.draw(seed, seconds=SECONDS)
    course = follow(problem, ESTIMATORS['gaussian_sum'](), frames, [mark])
    mixture = course.mixtures[mark]
    means, deviations = (logs[0] for logs in mixture.noises.logs())
    error = float(mixture.weights @ means) - np.log(factor)
    return {
        'end': judge(mixture, base_quantities(problem, truth.values)),
        'factor': {
            'error': [error],
            'sd': [float(mixture.weights @ deviations)],
            'rank': [float(mixture.weights @ norm.cdf((np.log(factor) - means) / deviations))],
        },
        'false_alarms': sum(event is Happened.CHANGED for _, event in course.events),
        'nis': course.innovation_record()['nis'],
    }


@cache
def _problem(factor):
    """Return the problem whose noise is said to be smaller by a factor than it is."""
    prior = Prior(1.0, _SPREAD, True)
    return p2.make_problem(noise=p2.NOISE / factor, noises={_SENSOR: prior})


def lines():
    """Return the lines of the table."""
    width = 'width [%]', median_width('factor')
    return [
        *coverage_lines('the factor', 'factor', width),
        *coverage_lines('5 s', 'end', ('width [%]', median_width('end'))),
        Line('mean NIS per degree', share('nis'), (0.9, 1.1)),
        Line('false alarms of a change', total('false_alarms'), (None, 0)),
    ]
