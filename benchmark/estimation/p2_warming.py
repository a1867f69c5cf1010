"""P2 whose bearings warm up: damping and dry friction, which the model knows of, get less."""

from functools import cache

import numpy as np
from problems import p2
from problems.common import log_normal_draw, STEP, TRUTH_STEP

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.prediction.robot_problem import ProblemOptions
from sim2real_estimator.reported_events import Happened

from .metrics import judge, Quantities
from .slow_changes import SlowPlant, watch
from .targets import an_hour, covered, Line, median_error, median_width, share

TITLE = 'P2, damping and friction fall by 30 % in ten minutes, of which the settings know'
MOST = 16
MARKS = (120, 300, 600)
SECONDS, WARMING, LEFT = 601, 600.0, 0.7
# Losses may change by so much in an hour; `estimator.settings.drift_of_dissipation`.
_DRIFT = 0.15
_FRICTION = Prior(0.02, 0.7, True)
LOSSES = tuple(f'{joint}.{kind}' for kind in ('damping', 'friction') for joint in p2.JOINTS)


def measure(seed):
    """Return the record of one problem."""
    rng = np.random.default_rng(seed)
    cold = log_normal_draw(p2.priors() | _frictions(), rng)

    def values_at(seconds):
        part = LEFT ** (seconds / WARMING)
        return cold | {name: part * cold[name] for name in LOSSES}

    problem, plant = _problem(), SlowPlant(_simulator(), values_at)
    estimator = ESTIMATORS['gaussian_sum'](drift_of_dissipation=_DRIFT)
    found = watch(problem, estimator, plant, rng, SECONDS, MARKS)
    record = {'nis': found.nis[-1], 'frame_ms': found.frame_ms}
    for seconds in MARKS:
        for kind in ('damping', 'friction'):
            quantities = _losses(problem, values_at(seconds), kind)
            record[f'{kind} {seconds}'] = judge(found.mixtures[seconds], quantities)
    record['events'] = found.notable_events
    record['alarms'] = found.count(Happened.CHANGED)
    return record


def _losses(problem, values, kind):
    """Return the logarithms of damping or friction of both joints as `Quantities`."""
    names = [f'{joint}.{kind}' for joint in p2.JOINTS]
    rows = [problem.parametrization.names.index(name) for name in names]
    true = np.log([values[name] for name in names])
    return Quantities(lambda x: np.log(problem.parametrization.to_named(x)[rows]), true)


def _frictions():
    return {f'{joint}.friction': _FRICTION for joint in p2.JOINTS}


@cache
def _problem():
    return p2.make_problem(ProblemOptions(max_step=STEP, disturbance_time=0.2), _frictions())


@cache
def _simulator():
    return Simulator(p2.model(), (*p2.NAMES, *_frictions()), max_step=TRUTH_STEP)


def lines():
    """Return the lines of the table."""
    found = []
    for seconds in MARKS:
        for kind in ('damping', 'friction'):
            mark, when = f'{kind} {seconds}', f'{kind}, {seconds // 60} min'
            width = 'width [%]', median_width(mark)
            found += [
                Line(f'median error [%], {when}', median_error(mark), (None, 5)),
                Line(f'90 % intervals, {when}', covered(mark, 0.9), (0.8, None), 'share', width),
            ]
    return [
        *found,
        Line('changes cried an hour', an_hour('alarms', SECONDS), (None, 1)),
        Line('mean NIS per degree, last minute', share('nis'), (0.9, 1.1)),
        Line('processor time of a frame [ms]', share('frame_ms'), (None, 2)),
    ]
