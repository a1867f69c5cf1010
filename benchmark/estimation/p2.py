"""P2: seven base parameters of a double pendulum from two encoders at 100 Hz."""

from functools import cache

import numpy as np
from problems import p2
from scipy.stats import chi2

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.reported_events import Happened

from .course import follow, follow_from_prior, GROUP
from .metrics import ASTRAY, bounds, efficiency_ratios, judge, matching_point, Quantities
from .physical import physical_ranks
from .targets import (
    coverage_lines,
    efficient,
    Line,
    median_error,
    median_nees,
    median_width,
    share,
    total,
)

TITLE = 'P2, double pendulum, torques and encoders at 100 Hz, 0.1 deg'
# Seconds, and the wanted median error [%].
MARKS = {1: 0.5, 2: 0.1, 5: 0.04, 10: 0.025}
# The filter that begins with the prior is followed for so many seconds; for the picture.
COLD = 5


def measure(seed):
    """Return the record of one problem."""
    problem = shared_problem()
    truth, frames = p2.draw(seed, seconds=max(MARKS))
    quantities = base_quantities(problem, truth.values)
    marks = [frame_at(t) for t in MARKS]
    point = matching_point(quantities, problem.prior.mean)
    least = bounds(problem, truth.states, point, frames, marks)
    course = follow(problem, ESTIMATORS['gaussian_sum'](), frames, marks)
    slope, record = quantities.slope(point), {}
    for t, k in zip(MARKS, marks):
        said = judge(course.mixtures[k], quantities)
        ratios = efficiency_ratios(said['error'], slope @ least[k] @ slope.T)
        record[str(t)] = said | {'ratios': ratios}
    record['handed_over'] = course.when(Happened.HANDED_OVER)
    record['false_alarms'] = sum(event is Happened.CHANGED for _, event in course.events)
    record['arrived'] = arrived(record)
    record['physical'] = physical_ranks(problem, course.mixtures[marks[-1]], truth.values, seed)
    mark = frame_at(COLD)
    cold = follow_from_prior(problem, frames, [mark])
    record['cold'] = judge(cold.mixtures[mark], quantities)
    return record | course.innovation_record()


def arrived(record):
    """Return whether a record tells of a filter that began, and in the right place."""
    near = np.abs(record['2']['ratios']) < ASTRAY
    return float(record['handed_over'] is not None and near.all())


def frame_at(seconds):
    """Return the index of the frame that ends at a time."""
    return round(seconds * p2.RATE)


def base_quantities(problem, values):
    """Return the logarithms of the base parameters as `Quantities`."""

    def logs(x):
        named = dict(zip(problem.parametrization.names, problem.parametrization.to_named(x)))
        return np.log(p2.base_parameters([named[name] for name in p2.NAMES]))

    true = np.log(p2.base_parameters([values[name] for name in p2.NAMES]))
    return Quantities(logs, true)


@cache
def shared_problem():
    """Return the problem, set up once per process."""
    return p2.make_problem()


def extreme_innovation(records):
    """
    Return the 99.9 % quantile of five-frame means, relative to that of chi-squared.

    A record of an estimator that did not get to filtering says nothing.
    """
    groups = np.concatenate([r['nis_groups'] for r in records])
    if not groups.size:
        return np.nan
    degrees = GROUP * len(p2.JOINTS)
    return float(np.quantile(groups, 0.999) / (chi2.ppf(0.999, degrees) / degrees))


def lines():
    """Return the lines of the table."""
    found = [Line('filters that begin well', share('arrived'), (0.98, None), 'share')]
    for seconds, error in MARKS.items():
        mark, when = str(seconds), f'{seconds} s'
        found.append(Line(f'median error [%], {when}', median_error(mark), (None, error)))
        found.append(Line(f'efficiency, {when}', efficient(mark), (0.8, None)))
        found += coverage_lines(when, mark, ('efficiency', efficient(mark)))
    width = 'width [% of prior]', median_width('physical')
    return [
        *found,
        *coverage_lines('10 physical parameters', 'physical', width),
        Line('median NEES / p, 10 s', median_nees('10'), (0.75, 1.1)),
        Line('mean NIS per degree', share('nis'), (0.9, 1.1)),
        Line('NIS of 5 frames, 99.9 %, / chi2', extreme_innovation, (0.85, 1.15)),
        Line('false alarms of a change', total('false_alarms'), (None, 0)),
    ]
