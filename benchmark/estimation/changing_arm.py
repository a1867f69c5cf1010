"""The arm of seven joints in which something changes after some seconds, and changes back."""

import numpy as np

from sim2real_estimator.pipeline import Pipeline

from .arm_course import ArmCourse
from .metrics import judge
from .p2_change import cause_between
from .seven_joints import base_quantities
from .targets import covered, Line, median_nees, share, total

MOST = 40
UP, DOWN, END = 6.0, 9.0, 10.0
# When the posterior is looked at [s]: before the change, one second and three after it, and half a
# second after all is as before.
MARKS = {'before': UP, 'later': UP + 1.0, 'much later': DOWN, 'back': DOWN + 0.5}


def followed(config, robot, cause):
    """Return (the record of a robot that changes for a cause, its `Pipeline`, mark -> mixture)."""
    pipeline, course, record, mixtures = Pipeline.from_config(config), ArmCourse(), {}, {}
    for title, until in (*MARKS.items(), ('end', END)):
        course.follow(pipeline, robot, until)
        if title in MARKS:
            mixtures[title] = pipeline.mixture
            truth = base_quantities(pipeline.problem.chart, robot.truths[-1].values)
            record[title] = judge(pipeline.mixture, truth)
    events = course.events
    alarms = [at for at, event in events if event == 'changed']
    noticed = next((at - UP for at in alarms if UP < at <= DOWN), None)
    return (
        record
        | {
            'false_alarms': sum(at <= UP for at in alarms),
            'delay': noticed,
            'noticed': float(noticed is not None),
            'right_cause': float(cause_between(events, UP, DOWN) == cause),
            'right_return': float(cause_between(events, DOWN, END) == f'as before: {cause}'),
        },
        pipeline,
        mixtures,
    )


def _late_delay(records):
    """Return the 90th percentile of the delay [ms]; what was not noticed counts to the end."""
    delays = [1e3 * (DOWN - UP if r['delay'] is None else r['delay']) for r in records]
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
