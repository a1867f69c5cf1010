"""P2 whose elbow a servo drives: the other joint's parameters from the measured motion alone."""

import numpy as np
from problems import driven_elbow

from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.reported_events import Happened

from .free_body import run
from .metrics import judge, Quantities
from .targets import covered, Line, median_error, median_nees, median_width, share, total

TITLE = 'P2 with a servo in the elbow whose torque nobody knows, angles to 1e-3 rad at 100 Hz'
SECONDS = 6.0


def measure(seed):
    """Return the record of one problem."""
    return measured(driven_elbow, seed)


def measured(problems, seed):
    """Return the record of one problem of a module that has a `config` and can `draw`."""
    pipeline = Pipeline.from_config(problems.config())
    values, samples = problems.draw(seed, SECONDS)
    estimates = run(pipeline, samples)
    events = [event for estimate in estimates for event in estimate.report.events]
    mixture = pipeline.estimator.mixture(pipeline.problem, pipeline.state)
    filtered = [e.report for e in estimates if e.report.stage == 'filter']
    return {
        'end': judge(mixture, base_quantities(pipeline.problem.parametrization, values)),
        'handed_over': float(Happened.HANDED_OVER in events),
        'false_alarms': events.count(Happened.CHANGED),
        'nis': sum(r.nis for r in filtered) / max(sum(r.degrees for r in filtered), 1),
    }


def base_quantities(parametrization, values):
    """Return the logarithms of the base parameters as `Quantities`."""

    def logs(x):
        return np.log(
            driven_elbow.base_parameters(
                dict(zip(parametrization.names, parametrization.to_named(x)))
            )
        )

    return Quantities(logs, np.log(driven_elbow.base_parameters(values)))


def lines():
    """
    Return the lines of the table.

    How large accelerations are is only known to be rather too large: the posterior may be wider
    than it has to be.
    """
    width = 'width [%]', median_width('end')
    return [
        Line('filters that begin', share('handed_over'), (0.98, None), 'share'),
        Line('median error [%], 6 s', median_error('end'), (None, 0.3)),
        Line('90 % intervals, 6 s', covered('end', 0.9), (0.85, None), 'share', width),
        Line('median NEES / p, 6 s', median_nees('end'), (None, 1.1)),
        Line('mean NIS per degree', share('nis'), (0.75, 1.1)),
        Line('false alarms of a change', total('false_alarms'), (None, 0)),
    ]
