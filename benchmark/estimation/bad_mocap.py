"""
Motion capture that fails again and again: bodies turned by half a turn, swapped, frozen, hidden.

Besides, samples are lost, and its clock is late and runs fast. Nothing of the robot changes.
"""

import numpy as np
from problems import bad_mocap

from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Happened

from .late_mocap import DELAYS, dynamics
from .metrics import judge
from .targets import coverage_lines, Line, median_error, median_width, total

TITLE = (
    'P2 with motion capture that is flipped, swapped or frozen 1 s in 8, hidden for .2-3 s, '
    'loses 5 % and has a clock 50 ppm too fast; 30 s'
)
MOST = 100
# Seconds after which it is judged, the last at the end.
MARKS = (5, 30)
# Clocks are looked at every second from here on.
_FIRST = 3
_SECOND = 10**9
# So many of the clock errors of a problem, and of the problems, have to be as small as is wanted.
_SHARE, _OF_PROBLEMS = 0.95, 0.9
_NUMBERS = ('forgotten', 'changed', 'refused', 'clock_error')


def measure(seed):
    """Return the record of one problem."""
    delay = DELAYS[seed[-1] % len(DELAYS)]
    values, samples, faults = bad_mocap.draw(seed, delay)
    pipeline, events, errors = Pipeline.from_config(bad_mocap.config()), [], []
    found = {str(second): None for second in MARKS}
    try:
        for sample in samples:
            pipeline.push(sample)
            for estimate in pipeline.step():
                events += estimate.report.events
                second, rest = divmod(estimate.stamp_ns, _SECOND)
                if rest < _SECOND // 100 and second >= _FIRST:
                    errors += _clock_errors(pipeline, values, estimate.stamp_ns)
                    if second in MARKS:
                        found[str(second)] = _judged(pipeline, values)
        pipeline.finish()
        found[str(MARKS[-1])] = _judged(pipeline, values)
    except Exception as error:
        # It is what this study counts; the record says what it was.
        return {'exceptions': 1, 'exception': repr(error), **dict.fromkeys(_NUMBERS), **found}
    table = pipeline.counts.table()
    return {
        'exceptions': 0,
        'forgotten': events.count(Happened.FORGOTTEN),
        'changed': events.count(Happened.CHANGED),
        'refused': events.count(Happened.UPDATE_REFUSED),
        'clock_error': 1e3 * float(np.quantile(np.abs(errors), _SHARE)),
        'worst_clock_error': 1e3 * float(np.abs(errors).max()),
        'left_out': sum(table[name].get('sensor wrong', 0) for name in bad_mocap.SENSORS),
        'used': sum(table[name].get('used', 0) for name in bad_mocap.SENSORS),
        'faults': len(faults),
        **found,
    }


def _clock_errors(pipeline, values, stamp_ns):
    """Return by how much the delays of clocks are off at a stamp [s]."""
    return [
        float(pipeline.mixture.along(row)[0]) - bad_mocap.delay_at(values, sensor, stamp_ns)
        for sensor, row in pipeline.problem.late_sensors.items()
    ]


def _judged(pipeline, values):
    """Return what can be said of the dynamics and of the mounts."""
    mixture = pipeline.posterior().mixture
    return judge(mixture, dynamics(pipeline.problem, values))


def lines():
    """Return the lines of the table."""

    def clocks(records):
        errors = [r['clock_error'] for r in records if r['clock_error'] is not None]
        return float(np.quantile(errors, _OF_PROBLEMS)) if errors else np.nan

    found = [
        Line('exceptions', total('exceptions'), (None, 0)),
        Line('forgotten', total('forgotten'), (None, 0)),
        Line('false alarms of a change', total('changed'), (None, 0)),
        Line('clock error [ms], 95 % of seconds, 90 % of problems', clocks, (None, 0.3)),
    ]
    for second in MARKS:
        mark, when = str(second), f'{second} s'
        found.append(Line(f'median error [%], {when}', median_error(mark), (None, 0.6)))
        found += coverage_lines(when, mark, ('width [%]', median_width(mark)))
    return found
