"""An arm of seven joints of which nothing is known but its URDF: 91 parameters, by encoders."""

from pathlib import Path
import sys

import numpy as np
from problems import seven_joints
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / 'benchmark'))

from estimation.metrics import coverage, judge  # noqa: E402
from estimation.seven_joints import base_quantities  # noqa: E402

from sim2real_estimator.app.synthetic.synthetic_robot import estimates
from sim2real_estimator.pipeline import Pipeline  # noqa: E402
from sim2real_estimator.reported_events import Happened

pytestmark = pytest.mark.usefixtures('one_thread')

# As far from the URDF as the prior says.
SEED, SECONDS = 3, 4.5


@pytest.fixture(scope='module')
def course():
    """Return [(events, stage, judgement of the base parameters)] after fits and at the end."""
    config = seven_joints.config(simulation__disturbance_time=None)
    robot, pipeline = seven_joints.robot(config, SEED), Pipeline.from_config(config)
    problem = pipeline.problem
    quantities = base_quantities(problem.parametrization, robot.truths[0].values)
    found = []
    for estimate in estimates(pipeline, robot, SECONDS):
        report, is_last = estimate.report, estimate.stamp_ns > 1e9 * (SECONDS - 0.005)
        if report.events or is_last:
            mixture = pipeline.estimator.mixture(problem, pipeline.state)
            found.append((report.events, report.stage, judge(mixture, quantities)))
    return found


def test_first_fits_come_closer_and_the_filter_goes_on(course):
    events = [events for events, *_ in course]
    assert events[:-2] == [(Happened.FITTED,)] * (len(events) - 2) and len(events) >= 8
    assert events[-2:] == [(Happened.HANDED_OVER,), ()] and course[-1][1] == 'filter'
    errors = [np.median(np.abs(said['error'])) for *_, said in course]
    assert errors[-1] < errors[-2] < 0.1 * errors[0]


def test_intervals_are_as_sure_as_they_are_right(course):
    for *_, said in course:
        # They are right or wrong together: the bounds are wide.
        assert coverage(said['rank'], 0.9) > 0.7
        assert 0.4 < said['nees'] < 1.7
    assert coverage(course[-1][-1]['rank'], 0.5) > 0.3
