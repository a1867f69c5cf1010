"""P2 whose lower link takes up a load as heavy as itself, and puts it down again."""

import numpy as np
from problems import p2
from problems.common import log_normal_draw, roll, states_of
import torch

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.reported_events import Explained, Happened

from .course import follow
from .metrics import judge
from .p2 import base_quantities, frame_at, shared_problem
from .targets import covered, Line, median_error, median_width, share, total

TITLE = 'P2, the mass of the lower link doubles after 4 s, and is what it was after 7 s'
CHANGE, RETURN, SECONDS = 4.0, 7.0, 9.0
CAUSE = 'mass on lower'
# How long after the detection the new robot has to be known [s], and after the return the old one.
LATER, BACK = 1.0, 0.5


def measure(seed):
    """Return the record of one problem."""
    return changed_and_back(seed, 'lower.mass', 2.0, CAUSE)


def changed_and_back(seed, name, factor, cause):
    """Return the record of a problem one of whose parameters changes, and changes back."""
    problem, rng = shared_problem(), np.random.default_rng(seed)
    before = log_normal_draw(p2.priors(), rng)
    after = before | {name: factor * before[name]}
    state, torques = p2.draw_motion(rng, SECONDS)
    parts = (CHANGE, before), (RETURN - CHANGE, after), (SECONDS - RETURN, before)
    frames = p2.observed(rng, _simulate(state, torques, parts), torques)
    estimator, change, back = ESTIMATORS['gaussian_sum'](), frame_at(CHANGE), frame_at(RETURN)
    first = follow(problem, estimator, frames, [len(frames) - 1])
    alarms = [k for k, event in first.events if event is Happened.CHANGED]
    noticed = next((k for k in alarms if change < k <= back), None)
    returned = next((k for k in alarms if k > back), None)
    returns = cause_between(first.events, back, len(frames))
    record = {
        'false_alarms': sum(k <= change for k in alarms),
        'delay': None if noticed is None else (noticed - change) / p2.RATE,
        'noticed': float(noticed is not None),
        'right_cause': float(cause_between(first.events, change, back) == cause),
        'right_return': float(returns == f'as before: {cause}'),
        'later': None,
        'back': None,
    }
    looks = {'later': (noticed, LATER, after), 'back': (returned, BACK, before)}
    looks = {title: (k and k + frame_at(s), v) for title, (k, s, v) in looks.items()}
    looks = {title: (k, v) for title, (k, v) in looks.items() if k and k < len(frames)}
    if looks:
        course = follow(problem, estimator, frames, [k for k, _ in looks.values()])
        for title, (k, values) in looks.items():
            record[title] = judge(course.mixtures[k], base_quantities(problem, values))
    return record


def cause_between(events, begin, end):
    """
    Return what the first change between two instants was put down to, None for nothing.

    events: (instant, event) in order.
    """
    for at, event in events:
        if begin < at <= end and isinstance(event, Explained):
            return event.cause
    return None


def _simulate(state, torques, parts):
    """Return the states [H + 1, 4]; parts: (seconds, values) one after the other."""
    states, first = [np.asarray(state)[None]], 0
    for seconds, values in parts:
        count = frame_at(seconds)
        controls = torch.from_numpy(torques[first : first + count])
        rolled = roll(p2.simulator(), states[-1][-1], p2.RATE, count, values, controls)
        states.append(states_of(rolled)[1:])
        first += count
    return np.concatenate(states)


def late_delay(records):
    """Return the 90th percentile of the delay [ms]; what was not noticed counts to the return."""
    end = RETURN - CHANGE
    delays = [1000 * (end if r['delay'] is None else r['delay']) for r in records]
    return float(np.quantile(delays, 0.9, method='inverted_cdf'))


def lines():
    """Return the lines of the table."""
    return [*noticing(100), *explaining()]


def noticing(delay):
    """Return the lines on the detector; delay [ms]: the largest."""
    return [
        Line('noticed', share('noticed'), (0.98, None), 'share'),
        Line('noticed after [ms], 90th percentile', late_delay, (None, delay)),
        Line('false alarms before', total('false_alarms'), (None, 0)),
    ]


def explaining():
    """Return the lines on what was made of it."""
    result = [
        Line('put down to what it was', share('right_cause'), (0.9, None), 'share'),
        Line('return recognised', share('right_return'), (0.9, None), 'share'),
    ]
    for title, when in (('later', f'{LATER:g} s after'), ('back', f'{BACK:g} s after the return')):
        width = 'width [%]', median_width(title)
        result += [
            Line(f'median error [%], {when}', median_error(title), (None, 0.6)),
            Line(f'90 % intervals, {when}', covered(title, 0.9), (0.83, None), 'share', width),
        ]
    return result
