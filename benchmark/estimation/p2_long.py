"""P2 for half an hour, in which nothing is quite as the model has it; and as it has it."""

from functools import cache

import numpy as np
from problems import p2
from problems.common import log_normal_draw, STEP, TRUTH_STEP

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.prediction.robot_problem import ProblemOptions
from sim2real_estimator.reported_events import Happened

from .metrics import judge, Quantities
from .p2 import base_quantities
from .slow_changes import SlowPlant, watch
from .targets import an_hour, covered, Line, median_error, median_width, share, total

TITLE = (
    'P2 for 30 minutes: unknown dry friction of 0.02 N m, torques that wander by 1 %, samples '
    '0.1 ms off their stamps, encoders of 14 bits'
)
MOST = 16
# Seconds after which it is judged, and those that are besides on the picture.
MARKS = (60, 300, 1800)
SHOWN = (3, 5, 10, 20, 40, *range(60, 1801, 30))
SECONDS, CLEAN = 1801, 121
FRICTION, JITTER, QUANTUM = 0.02, 1e-4, 2 * np.pi / 2**14
# Torques are as said in the beginning, and wander as a sine of that period [s], by so much from
# their least to their most.
_PERIOD, _RANGE = 1800.0, 0.01
# How many inertial ones there are among the base parameters; they come first.
_INERTIAL = 5


def measure(seed):
    """Return the record of one problem."""
    rng = np.random.default_rng(seed)
    values, phase = log_normal_draw(p2.priors(), rng), rng.uniform(0, 2 * np.pi)

    def gain_at(times):
        wave = np.sin(2 * np.pi * times / _PERIOD + phase)
        return 1 + 0.5 * _RANGE * (wave - np.sin(phase))

    problem, estimator = _problem(), ESTIMATORS['gaussian_sum']()
    plant = SlowPlant(_rough(), lambda _: values, gain_at, JITTER, QUANTUM)
    found = watch(problem, estimator, plant, rng, SECONDS, SHOWN)
    record = {'times': list(SHOWN), 'nis': found.nis[-1], 'frame_ms': found.frame_ms}
    for seconds in SHOWN:
        mixture, gain = found.mixtures[seconds], gain_at(np.array(seconds))
        # Torques that are stronger than said move a robot as if it were lighter.
        record[str(seconds)] = judge(mixture, _inertial(problem, values, np.log(gain)))
        record[f'{seconds} as built'] = judge(mixture, _inertial(problem, values, 0.0))
    record['events'] = found.notable_events
    record['alarms'] = found.count(Happened.CHANGED)
    clean = SlowPlant(p2.simulator(), lambda _: values)
    found = watch(problem, estimator, clean, rng, CLEAN, MARKS[:1])
    record['clean_alarms'] = found.count(Happened.CHANGED)
    return record


def _inertial(problem, values, log_gain):
    """Return the inertial base parameters as torques that are that much stronger show them."""
    whole = base_quantities(problem, values)
    return Quantities(lambda x: whole.function(x)[:_INERTIAL], whole.truth[:_INERTIAL] - log_gain)


@cache
def _problem():
    options = ProblemOptions(max_step=STEP, disturbance_time=0.2)
    return p2.make_problem(options, stamp_sd=JITTER)


@cache
def _rough():
    """Return the simulator of what the model does not know."""
    values = {f'{joint}.friction': FRICTION for joint in p2.JOINTS}
    return Simulator(p2.model(), p2.NAMES, max_step=TRUTH_STEP, values=values)


def lines():
    """Return the lines of the table."""
    found = []
    for seconds in MARKS:
        mark, when = str(seconds), f'{seconds // 60} min'
        width = 'width [%]', median_width(mark)
        found += [
            Line(f'median error [%], {when}', median_error(mark), (None, 0.5)),
            Line(f'50 % intervals, {when}', covered(mark, 0.5), (0.4, None), 'share', width),
            Line(f'90 % intervals, {when}', covered(mark, 0.9), (0.85, None), 'share', width),
            Line(
                f'90 % intervals, {when}, of what torques as said would show',
                covered(f'{mark} as built', 0.9),
                (0.75, None),
                'share',
                width,
            ),
        ]
    return [
        *found,
        Line('false alarms an hour', an_hour('alarms', SECONDS), (None, 1)),
        Line('false alarms, 2 min as the model has it', total('clean_alarms'), (None, 0)),
        Line('mean NIS per degree, last minute', share('nis'), (None, 1.5)),
        Line('processor time of a frame [ms]', share('frame_ms'), (None, 2)),
    ]
