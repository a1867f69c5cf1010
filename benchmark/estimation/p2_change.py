"""P2 whose lower link takes up a load as heavy as itself."""

import numpy as np
from problems import p2
from problems.common import log_normal_draw, roll, states_of
import torch

from sim2real_estimator.inference.estimators import ESTIMATORS

from .course import follow
from .metrics import judge
from .p2 import base_quantities, frame_at, shared_problem
from .targets import covered, Line, median_error, median_width, share, total

TITLE = 'P2, the mass of the lower link doubles after 4 s'
CHANGE, SECONDS = 4.0, 6.0
# How long after the detection the new robot has to be known [s].
LATER = 1.0


def measure(seed):
    """Return the record of one problem."""
    problem, rng = shared_problem(), np.random.default_rng(seed)
    before = log_normal_draw(p2.priors(), rng)
    after = before | {'lower.mass': 2 * before['lower.mass']}
    state, torques = p2.draw_motion(rng, SECONDS)
    frames = p2.observed(rng, _simulate(state, torques, before, after), torques)
    estimator, change = ESTIMATORS['gaussian_sum'](), frame_at(CHANGE)
    first = follow(problem, estimator, frames, [len(frames) - 1])
    alarms = [k for k, text in first.events if text == 'changed']
    noticed = next((k for k in alarms if k > change), None)
    record = {
        'false_alarms': sum(k <= change for k in alarms),
        'delay': None if noticed is None else (noticed - change) / p2.RATE,
        'noticed': float(noticed is not None),
        'later': None,
    }
    if noticed is not None and noticed + frame_at(LATER) < len(frames):
        mark = noticed + frame_at(LATER)
        course = follow(problem, estimator, frames, [mark])
        record['later'] = judge(course.mixtures[mark], base_quantities(problem, after))
    return record


def _simulate(state, torques, before, after):
    """Return the states [H + 1, 4]; one set of values after the other."""
    change, controls = frame_at(CHANGE), torch.from_numpy(torques)
    first = states_of(roll(p2.simulator(), state, p2.RATE, change, before, controls[:change]))
    second = states_of(
        roll(p2.simulator(), first[-1], p2.RATE, len(torques) - change, after, controls[change:])
    )
    return np.concatenate([first, second[1:]])


def late_delay(records):
    """Return the 90th percentile of the delay [ms]; what was not noticed counts to the end."""
    end = SECONDS - CHANGE
    delays = [1000 * (end if r['delay'] is None else r['delay']) for r in records]
    return float(np.quantile(delays, 0.9, method='inverted_cdf'))


def lines():
    """Return the lines of the table."""
    when = '1 s after'
    width = 'width [%]', median_width('later')
    return [
        Line('noticed', share('noticed'), (0.98, None), 'share'),
        Line('noticed after [ms], 90th percentile', late_delay, (None, 100)),
        Line('false alarms before', total('false_alarms'), (None, 0)),
        Line(f'median error [%], {when}', median_error('later'), (None, 0.6)),
        Line(f'90 % intervals, {when}', covered('later', 0.9), (0.83, None), 'share', width),
    ]
