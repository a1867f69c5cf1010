"""P2: seven base parameters of a double pendulum from two encoders at 100 Hz."""

from functools import cache

import numpy as np
from problems import p2
from scipy.stats import chi2

from sim2real_estimator.inference.estimators import ESTIMATORS

from .metrics import ASTRAY, bounds, efficiency_ratios, judge, matching_point, Quantities
from .targets import coverage_lines, efficient, Line, median_error, median_nees, share

TITLE = 'P2, double pendulum, torques and encoders at 100 Hz, 0.1 deg'
# Seconds, and the wanted median error [%].
MARKS = {1: 0.5, 2: 0.1, 5: 0.04, 10: 0.025}
# Frames whose squared innovations are looked at together.
GROUP = 5


def measure(seed):
    """Return the record of one problem."""
    problem = shared_problem()
    truth, frames = p2.draw(seed, seconds=max(MARKS))
    quantities = base_quantities(problem, truth.values)
    marks = {round(t * p2.RATE): str(t) for t in MARKS}
    point = matching_point(quantities, problem.prior.mean)
    least = bounds(problem, truth.states, point, frames, marks)
    estimator = ESTIMATORS['gaussian_sum']()
    state, record, innovations = estimator.init(problem), {'handed_over': None}, []
    for k, frame in enumerate(frames):
        state, report = estimator.update(problem, state, frame)
        if 'handed over' in report.events:
            record['handed_over'] = k / p2.RATE
        if report.stage == 'filter':
            innovations.append((report.nis, report.degrees))
        if k in marks:
            said = judge(estimator.mixture(problem, state), quantities)
            spread = quantities.slope(point) @ least[k] @ quantities.slope(point).T
            record[marks[k]] = said | {'ratios': efficiency_ratios(said['error'], spread)}
    return record | {'arrived': arrived(record), **innovation_record(innovations)}


def arrived(record):
    """Return whether a record tells of a filter that began, and in the right place."""
    near = np.abs(record['2']['ratios']) < ASTRAY
    return float(record['handed_over'] is not None and near.all())


def innovation_record(innovations):
    """Return mean and grouped means of squared innovations per degree of freedom."""
    whole = np.array(innovations[: len(innovations) // GROUP * GROUP])
    grouped = whole.reshape(-1, GROUP, 2).sum(1)
    return {
        'nis': float(whole[:, 0].sum() / whole[:, 1].sum()),
        'nis_groups': np.round(grouped[:, 0] / grouped[:, 1], 3).tolist(),
    }


def base_quantities(problem, values):
    """Return the logarithms of the base parameters as `Quantities`."""
    true = np.log(p2.base_parameters(np.array([values[name] for name in p2.NAMES])))
    return Quantities(lambda x: np.log(p2.base_parameters(problem.chart.to_named(x))), true)


@cache
def shared_problem():
    """Return the problem, set up once per process."""
    return p2.make_problem()


def extreme_innovation(records):
    """Return the 99.9 % quantile of five-frame means, relative to that of chi-squared."""
    groups = np.concatenate([r['nis_groups'] for r in records])
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
    found += [
        Line('median NEES / p, 10 s', median_nees('10'), (0.75, 1.1)),
        Line('mean NIS per degree', share('nis'), (0.9, 1.1)),
        Line('NIS of 5 frames, 99.9 %, / chi2', extreme_innovation, (0.85, 1.15)),
    ]
    return found
