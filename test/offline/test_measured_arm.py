"""The ready arm, its torques measured: a bag of it is identified with the settings as shipped."""

from pathlib import Path

import numpy as np
import pytest

from sim2real_estimator.app.synthetic.bag import record
from sim2real_estimator.app.synthetic.settings import load_synthetic
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.config import load_config
from sim2real_estimator.offline.identification.run import identify

CONFIG = Path(__file__).resolve().parents[2] / 'config'
ARM, ROBOT = CONFIG / 'seven_joint_arm.yaml', CONFIG / 'synthetic' / 'seven_joint_arm.yaml'
SECONDS = 5.0

pytestmark = pytest.mark.usefixtures('one_thread')


def test_a_bag_of_the_ready_arm_is_identified(tmp_path):
    robot = SyntheticRobot(load_synthetic(ROBOT), config=load_config(ARM))
    record(tmp_path / 'bag', robot, SECONDS)
    found = identify(tmp_path / 'bag', ARM, tmp_path / 'result')
    assert (tmp_path / 'result' / 'robot.urdf').exists()
    assert (tmp_path / 'result' / 'report.html').exists()
    truth, parametrization = robot.truths[0].values, found.problem.parametrization
    mean, covariance = found.posterior.mixture.moments()
    values = parametrization.to_named(mean[:, None])[:, 0]
    beforehand = parametrization.to_named(found.problem.prior.mean[:, None])[:, 0]
    named, before = (
        dict(zip(parametrization.names, values)),
        dict(zip(parametrization.names, beforehand)),
    )
    # What is well told after some seconds; offsets and gains of this robot are none.
    told = [f'{joint}.damping' for joint in found.problem.torque.joints]
    off = [abs(np.log(named[name] / truth[name])) for name in told]
    was = [abs(np.log(before[name] / truth[name])) for name in told]
    assert np.median(off) < 0.5 * np.median(was)
    assert not {'changed', 'forgotten'} & {event.name for event in found.events}
    assert (np.sqrt(np.diag(covariance)) > 0).all()
