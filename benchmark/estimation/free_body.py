"""A tumbling brick that only motion capture sees: what its flight tells, and what it cannot."""

import numpy as np
from problems import free_body
from scipy.stats import norm

from sim2real_estimator.observability.verdicts import Verdict
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Happened

from .metrics import judge, Quantities
from .targets import coverage_lines, covered, Line, median_error, median_width, share

TITLE = 'Free body, 1.5 s in the air, poses at 120 Hz, 0.5 mm and 3 mrad, its mass unknown'
_MASS = 'brick.mass'
_MILLI = 1e-3
_NAMED = (0.8, 1.0)


def measure(seed):
    """Return the record of one problem."""
    pipeline = Pipeline.from_config(free_body.config())
    parametrization = pipeline.problem.parametrization
    values, samples = free_body.draw(seed, parametrization.priors)
    events = set()
    for estimate in run(pipeline, samples):
        events |= set(estimate.report.events)
    mixture = pipeline.estimator.mixture(pipeline.problem, pipeline.state)
    last = dict(zip(estimate.names, zip(estimate.mean, estimate.sd, estimate.verdicts)))
    mean, sd, verdict = last[_MASS]
    return {
        'centre': judge(mixture, quantities(parametrization, values, free_body.centre)),
        'ratios': judge(mixture, quantities(parametrization, values, free_body.ratios)),
        'handed_over': float(Happened.HANDED_OVER in events),
        'moments': ranks(last, values, free_body.MOMENTS),
        'products': ranks(last, values, free_body.PRODUCTS),
        'mass': ranks(last, values, (_MASS,)),
        'mass_share': sd / (mean * parametrization.priors[_MASS].sd),
        'prior_only': float(verdict == Verdict.PRIOR_ONLY.value),
    }


def run(pipeline, samples):
    """Return the estimates of a whole flight."""
    estimates = []
    for sample in samples:
        pipeline.push(sample)
        estimates += pipeline.step()
    return [*estimates, *pipeline.finish()]


def ranks(last, values, names):
    """Return where the true values are in normal distributions of the means and sds by name."""
    found = (norm.cdf((values[name] - last[name][0]) / last[name][1]) for name in names)
    return {'rank': [float(rank) for rank in found]}


def quantities(parametrization, values, function):
    """Return what a function of the values by name [..., B] says, as `Quantities`."""
    return Quantities(
        lambda x: function(dict(zip(parametrization.names, parametrization.to_named(x)))),
        function(values),
    )


def median_centre_error(records):
    """Return the median error of the centre of mass, along each axis [mm]."""
    return float(np.median(np.abs([r['centre']['error'] for r in records])) / _MILLI)


def extreme(key, choose):
    """Return the statistic of the least or largest of a number."""
    return lambda records: float(choose([r[key] for r in records]))


def lines():
    """Return the lines of the table."""
    width = 'width [%]', median_width('ratios')
    begun = 'filters that begin in the air'
    least, most = (extreme('mass_share', choose) for choose in (min, max))
    return [
        Line('median error of the centre of mass [mm]', median_centre_error, (None, 0.2)),
        Line('median error of ratios of inertia [%]', median_error('ratios'), (None, 0.5)),
        *coverage_lines('centre of mass', 'centre', width),
        *coverage_lines('ratios of inertia', 'ratios', width),
        # By mean and sd as in ~/estimate. What flies is known but for its size, which is
        # log-normal and, bodies being what they are, less spread than the prior says.
        *(
            Line(f'90 % intervals of ~/estimate, {name}', covered(name, 0.9), _NAMED, 'share')
            for name in ('mass', 'moments', 'products')
        ),
        Line("least sd of the mass / the prior's", least, (0.95, None)),
        Line("largest sd of the mass / the prior's", most, (None, 1.05)),
        Line("mass called 'prior-only'", share('prior_only'), (1.0, None), 'share'),
        Line(begun, share('handed_over'), (0.85, None), 'share'),
    ]
