"""The arm of seven joints in which something changes after some seconds, and changes back."""

import numpy as np

from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Happened

from .arm_course import ArmCourse
from .metrics import judge
from .p2_change import cause_between
from .seven_joints import base_quantities
from .targets import covered, Line, median_nees, share, total

MOST = 40
# When something changes [s], how long that lasts, and how long it is looked at afterwards.
UP, LASTS, _LOOKS = 6.0, 3.0, 1.0
# When the posterior is looked at, since the change [s]: before it, one second and three after it,
# and half a second after all is as before.
_MARKS = {'before': 0.0, 'later': 1.0, 'much later': LASTS, 'back': LASTS + 0.5}


def followed(config, robot, cause, up=UP, judged=None):
    """
    Return the record of a robot that changes for a cause, and back.

    up [s]: when; judged: function of (mark, `Pipeline`) -> more of the record.
    """
    pipeline, course, record = Pipeline.from_config(config), ArmCourse(), {}
    for title, since in _MARKS.items():
        course.follow(pipeline, robot, up + since)
        truth = base_quantities(pipeline.problem.parametrization, robot.truths[-1].values)
        record[title] = judge(pipeline.mixture, truth)
        record |= judged(title, pipeline) if judged else {}
    down, end = up + LASTS, up + LASTS + _LOOKS
    course.follow(pipeline, robot, end)
    events = course.events
    alarms = [at for at, event in events if event == Happened.CHANGED]
    noticed = next((at - up for at in alarms if up < at <= down), None)
    return record | {
        'false_alarms': sum(at <= up for at in alarms),
        'delay': noticed,
        'noticed': float(noticed is not None),
        'right_cause': float(cause_between(events, up, down) == cause),
        'right_return': float(cause_between(events, down, end) == f'as before: {cause}'),
    }


def _late_delay(records):
    """Return the 90th percentile of the delay [ms]; what was not noticed counts to the end."""
    delays = [1e3 * (LASTS if r['delay'] is None else r['delay']) for r in records]
    return float(np.quantile(delays, 0.9, method='inverted_cdf'))


def noticing(delay):
    """Return the lines on noticing and explaining; delay [ms]: the largest."""
    return [
        Line('noticed', share('noticed'), (0.98, None), 'share'),
        Line('noticed after [ms], 90th percentile', _late_delay, (None, delay)),
        Line('false alarms before', total('false_alarms'), (None, 0)),
        Line('put down to what it was', share('right_cause'), (0.9, None), 'share'),
        Line('return recognised', share('right_return'), (0.9, None), 'share'),
    ]


def knowing():
    """Return the lines on the posterior."""
    whens = {'later': '1 s after', 'much later': '3 s after', 'back': '0.5 s after the return'}
    return [
        line
        for mark, when in whens.items()
        for line in (
            Line(f'90 % intervals, {when}', covered(mark, 0.9), (0.8, 0.97), 'share'),
            Line(f'median NEES / p, {when}', median_nees(mark), (0.5, 1.1)),
        )
    ]
