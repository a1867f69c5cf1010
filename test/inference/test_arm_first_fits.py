"""The ready arm of seven joints, of which nothing is known but its URDF: 91 parameters."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim2real_estimator.config import with_values
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.synthetic.offline import estimates
from sim2real_estimator.synthetic.robot import SyntheticRobot
from sim2real_estimator.synthetic.settings import load_estimator, load_synthetic

pytestmark = pytest.mark.usefixtures('one_thread')

ROBOT = Path(__file__).resolve().parents[2] / 'config' / 'synthetic' / 'seven_joint_arm.yaml'
# As far from the URDF as the prior says.
CHANGES = {'spread': 1.0, 'seed': 2}
SETTINGS = {'sensors.encoders.max_rate': 250.0, 'simulation.disturbance_time': None}


@pytest.fixture(scope='module')
def fits():
    """Return [(events, how wrong responses are in standard deviations, their errors)]."""
    settings = load_synthetic(ROBOT)
    config = with_values(load_estimator(settings), SETTINGS)
    robot = SyntheticRobot(replace(settings, **CHANGES), config=config)
    pipeline, found = Pipeline.from_config(config), []
    judge = Judge(pipeline.problem.chart, robot.truths[0].values)
    for estimate in estimates(pipeline, robot, 1.25):
        if estimate.report.events:
            mixture = pipeline.estimator.mixture(pipeline.problem, pipeline.state)
            found.append((estimate.report.events, *judge(mixture)))
    return found, judge


class Judge:
    """Compares what a mixture says of accelerations in random situations with the truth."""

    def __init__(self, chart, values):
        """Take the chart and the true values by name."""
        inner = chart.inner
        logs = [
            np.log(abs(values[n])) if inner.priors[n].is_log else values[n] for n in chart.names
        ]
        self.chart, self.true = chart, chart.responses.values(np.array(logs)[:, None])[:, 0]
        before = chart.responses.values(inner.prior.mean[:, None])[:, 0]
        self.before = np.sqrt(np.mean((before - self.true) ** 2))

    def __call__(self, mixture):
        """Return (errors in standard deviations, root mean square of the errors)."""
        mean, covariance = mixture.moments()
        values, slopes = self.chart.responses.slopes(self.chart.embed(mean[:, None]))
        slope = slopes[0] @ self.chart.basis
        deviations = np.sqrt(np.einsum('ij,jk,ik->i', slope, covariance, slope))
        away = values[:, 0] - self.true
        told = deviations > 1e-9 * deviations.max()
        return away[told] / deviations[told], np.sqrt(np.mean(away**2))


def test_first_fits_come_closer_and_are_as_sure_as_they_are_right(fits):
    found, judge = fits
    assert [events for events, *_ in found] == [('fitted',)] * len(found) and len(found) >= 4
    for _, away, _ in found:
        # They are right or wrong together: the bounds are wide.
        assert np.mean(np.abs(away) < 1.645) > 0.75
    errors = [error for *_, error in found]
    assert errors[-1] < 0.15 * judge.before
    assert errors[-1] < errors[1] < judge.before
