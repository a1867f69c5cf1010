"""The arm of seven joints takes up a load at its hand, and puts it down again."""

import numpy as np
from problems import seven_joints

from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.synthetic.messages import message_of
from sim2real_estimator.synthetic.settings import PayloadConfig

from .metrics import judge
from .p2_change import cause_between
from .seven_joints import base_quantities
from .targets import covered, Line, median_nees, share, total

TITLE = 'arm of seven joints that takes up .5 to 3.5 kg after 6 s and puts it down after 9 s'
MOST = 40
UP, DOWN, END = 6.0, 9.0, 10.0
# When the posterior is looked at [s]: a second after it was taken up, and just before and half a
# second after it was put down.
MARKS = {'later': UP + 1.0, 'much later': DOWN, 'back': DOWN + 0.5}
_LINK, _CAUSE = 'hand', 'mass on hand'
# How far its centre may be from the link's frame [m], and its radius of gyration [m].
_AWAY, _RADIUS = 0.1, 0.04


def measure(seed):
    """Return the record of one problem."""
    generator = np.random.default_rng(seed)
    config = seven_joints.config(simulation__disturbance_time=None)
    mass = float(generator.uniform(0.5, 3.5))
    load = PayloadConfig(
        link=_LINK,
        at=UP,
        until=DOWN,
        mass=mass,
        com=tuple(generator.uniform(-_AWAY, _AWAY, 3).tolist()),
        inertia=(mass * _RADIUS**2,) * 3 + (0.0,) * 3,
    )
    robot = seven_joints.robot(config, int(generator.integers(2**31)), payloads={'load': load})
    pipeline, events, record = Pipeline.from_config(config), [], {}
    for title, until in (*MARKS.items(), ('end', END)):
        events += _fed(pipeline, robot, until)
        if title in MARKS:
            truth = base_quantities(pipeline.problem.chart, robot.truths[-1].values)
            record[title] = judge(pipeline.mixture, truth)
    alarms = [at for at, event in events if event == 'changed']
    noticed = next((at - UP for at in alarms if UP < at <= DOWN), None)
    return record | {
        'false_alarms': sum(at <= UP for at in alarms),
        'delay': noticed,
        'noticed': float(noticed is not None),
        'right_cause': float(cause_between(events, UP, DOWN) == _CAUSE),
        'right_return': float(cause_between(events, DOWN, END) == f'as before: {_CAUSE}'),
    }


def _fed(pipeline, robot, until):
    """Feed a pipeline until a time of the robot [s]; return the events, (time [s], text)."""
    events = []
    for reading in robot.run(until - 1e-9 * robot.time_ns):
        message = message_of(reading)
        for name in robot.readers[reading.topic]:
            pipeline.receive(name, message, robot.arrival_ns(reading))
        for estimate in pipeline.step():
            events += [(1e-9 * estimate.stamp_ns, event) for event in estimate.report.events]
    return events


def _late_delay(records):
    """Return the 90th percentile of the delay [ms]; what was not noticed counts to the end."""
    delays = [1e3 * (DOWN - UP if r['delay'] is None else r['delay']) for r in records]
    return float(np.quantile(delays, 0.9, method='inverted_cdf'))


def lines():
    """Return the lines of the table: what the feasibility study of such arms asks for."""
    found = [
        Line('noticed', share('noticed'), (0.98, None), 'share'),
        Line('noticed after [ms], 90th percentile', _late_delay, (None, 100)),
        Line('false alarms before', total('false_alarms'), (None, 0)),
        Line('put down to what it was', share('right_cause'), (0.9, None), 'share'),
        Line('return recognised', share('right_return'), (0.9, None), 'share'),
    ]
    whens = {'later': '1 s after', 'much later': '3 s after', 'back': '0.5 s after the return'}
    for mark, when in whens.items():
        found += [
            Line(f'90 % intervals, {when}', covered(mark, 0.9), (0.8, 0.97), 'share'),
            Line(f'median NEES / p, {when}', median_nees(mark), (0.5, 1.1)),
        ]
    return found
