"""P2 with one sample in ten off by some degrees: the estimator that expects outliers."""

from dataclasses import replace

import numpy as np
from problems import p2

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.estimation.noise import NOISES
from sim2real_estimator.reported_events import Happened

from .course import follow
from .metrics import judge
from .p2 import base_quantities, frame_at, shared_problem
from .targets import covered, Line, median_error, median_width, total

TITLE = 'P2 with 10 % outliers of 3 deg, 5 s'
SECONDS = 5
SHARE, SIZE = 0.1, np.deg2rad(3.0)


def measure(seed):
    """Return the record of one problem."""
    problem, mark = shared_problem(), frame_at(SECONDS)
    truth, frames = p2.draw(seed, seconds=SECONDS)
    spoiled = _spoiled(frames, np.random.default_rng([*seed, 2]))
    quantities = base_quantities(problem, truth.values)
    robust = ESTIMATORS['gaussian_sum'](noise=NOISES['student']())
    clean = follow(problem, ESTIMATORS['gaussian_sum'](), frames, [mark])
    course = follow(problem, robust, spoiled, [mark])
    return {
        'clean': judge(clean.mixtures[mark], quantities),
        'spoiled': judge(course.mixtures[mark], quantities),
        'false_alarms': sum(event is Happened.CHANGED for _, event in course.events),
    }


def _spoiled(frames, rng):
    """Return the frames with errors of some size in a share of the angles."""
    found = []
    for frame in frames:
        samples = []
        for sample in frame.samples:
            is_off = rng.random(len(sample.values)) < SHARE
            error = SIZE * rng.standard_normal(len(sample.values))
            samples.append(replace(sample, values=sample.values + is_off * error))
        found.append(replace(frame, samples=tuple(samples)))
    return tuple(found)


def lines():
    """Return the lines of the table."""

    def ratio(records):
        return median_error('spoiled')(records) / median_error('clean')(records)

    width = 'width [%]', median_width('spoiled')
    return [
        Line('median error / the same without outliers', ratio, (None, 1.25)),
        Line('90 % intervals', covered('spoiled', 0.9), (0.85, None), 'share', width),
        Line('false alarms of a change', total('false_alarms'), (None, 0)),
    ]
