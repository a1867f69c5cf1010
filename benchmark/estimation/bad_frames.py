"""Bad frames, a thousand a problem, fed to every estimator in every stage: no error comes out."""

from collections import Counter
from functools import cache
import logging

import numpy as np
from problems.bad_data import CASES

from sim2real_estimator.reported_events import Happened

from .targets import Line, total

TITLE = 'Random bad frames, 1000 a problem, to every estimator in every stage'
MOST = 100
# Frames of a problem by stage; those that take long are fewer.
FRAMES = {
    'gaussian_sum': {'batch': 120, 'late batch': 120, 'filter': 160, 'suspicion': 20},
    'measured_torque': {'beginning': 170, 'noise learned': 170, 'posterior': 216},
    'gumbel_mixture': {'beginning': 12, 'later': 12},
}


def measure(seed):
    """Return the record of one problem."""
    # That is what is counted here.
    logging.getLogger('sim2real_estimator').setLevel(logging.CRITICAL)
    record = {'exceptions': 0, 'first': ''}
    for number, (name, stages) in enumerate(FRAMES.items()):
        words, case = Counter(), _case(name)
        for k, (stage, count) in enumerate(stages.items()):
            rng = np.random.default_rng([*seed, number, k])
            try:
                words += case.feed(rng, stage, count)
            except Exception as error:
                case.pipeline.waiting.clear()
                record['exceptions'] += 1
                record['first'] = record['first'] or f'{name}, {stage}: {error!r}'
        record[name] = sum(stages.values())
        record[f'{name} refused'] = words[Happened.UPDATE_REFUSED]
        record[f'{name} not finite'] = words['not finite']
    return record


@cache
def _case(name):
    return CASES[name]()


def lines():
    """Return the lines of the table."""

    def fed(records):
        return sum(record[name] for record in records for name in FRAMES)

    frames = 'frames', fed
    return [
        Line('errors that left a pipeline', total('exceptions'), (None, 0), beside=frames),
        *(
            Line(f'estimates that are no numbers, {name}', total(f'{name} not finite'), (None, 0))
            for name in FRAMES
        ),
    ]
