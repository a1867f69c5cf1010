"""P2 with more and less to see: how much of it the data tell, and what is named as unseen."""

from problems.p2_identifiability import draw, EXPERIMENTS, make_problem

from sim2real_estimator.estimation.estimators import ESTIMATORS
from sim2real_estimator.observability.findings import find

from .course import follow
from .targets import Line, share

TITLE = 'P2 near its nominal values, 3 s: dimensions that data tell'
# What no data tell in each of the experiments, as names that stand together.
_FIBRES = (
    {'upper.mass', 'upper.com.z', 'upper.inertia.yy'},
    {'lower.mass', 'lower.com.z', 'lower.inertia.yy'},
)
_TIP = {'to_tip.origin.z'}
# Without a torque masses, inertias and dampings have a common scale.
_SCALE = {'upper.mass', 'lower.mass', 'shoulder.damping', 'elbow.damping'}


def measure(seed):
    """Return the record of one random motion in every experiment."""
    return {title: _measure(experiment, seed) for title, experiment in EXPERIMENTS.items()}


def _measure(experiment, seed):
    problem, frames = make_problem(experiment), draw(experiment, seed)
    last = len(frames) - 1
    course = follow(problem, ESTIMATORS['gaussian_sum'](), frames, [last])
    found = find(problem, course.mixtures[last], frames[last].end_ns, exact=False)
    expected = [*_FIBRES]
    expected += [] if experiment.has_markers else [_TIP]
    expected += [] if experiment.has_torques else [_SCALE]
    named = [set(direction.split()) for direction in found.null_directions]
    return {
        'counted': float(
            (found.observed, found.unobserved) == (experiment.observed, experiment.unobserved)
        ),
        'named': float(
            len(named) == len(expected)
            and all(any(names <= each for each in named) for names in expected)
        ),
        'nats': found.information,
    }


def lines():
    """Return the lines of the table."""
    found = []
    for title, experiment in EXPERIMENTS.items():
        counts = f'{experiment.observed} observed, {experiment.unobserved} not'
        nats = 'nats', _part(title, 'nats')
        found += [
            Line(f'{title}: {counts}', _part(title, 'counted'), (0.95, None), 'share', nats),
            Line(f'{title}: null directions named', _part(title, 'named'), (0.95, None), 'share'),
        ]
    return found


def _part(title, key):
    """Return the statistic of the mean of a number of one experiment."""
    return lambda records: share(key)([record[title] for record in records])
