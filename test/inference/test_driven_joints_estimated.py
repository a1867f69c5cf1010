"""
A joint that a servo moves and a joint of unknown effort: the rest is known from the motion.

Beside a joint of unknown effort intervals are too narrow (docs/estimation.md): only where it is
said to be driven they are asked to hold.
"""

from pathlib import Path
import sys

import numpy as np
from problems import driven_elbow, p2
import pytest
from scipy.stats import chi2

sys.path.append(str(Path(__file__).resolve().parents[2] / 'benchmark'))

from estimation.driven_elbow import base_quantities  # noqa: E402
from estimation.metrics import judge  # noqa: E402

from sim2real_estimator.config import with_values  # noqa: E402
from sim2real_estimator.pipeline import Pipeline  # noqa: E402
from sim2real_estimator.records import Sample  # noqa: E402

pytestmark = pytest.mark.usefixtures('one_thread')

SEEDS, SECONDS = (19,), 4.0
CHANCE = 0.001
# Of an elbow that swings freely [rad/s^2], rather too large.
ACCELERATION = 60.0
# As much as was not known before [%].
PRIOR_SPREAD = 0.3


def servo(seed, seconds):
    """Return (config, true values, samples) of a robot with a servo in its elbow."""
    return driven_elbow.config(), *driven_elbow.draw(seed, seconds)


def silent_motor(seed, seconds):
    """Return the same of one whose motor in the elbow nobody reports about."""
    truth, frames = p2.draw(seed, seconds)
    samples = [sample for frame in frames for sample in frame.samples]
    samples += [
        Sample('measured_efforts', at, values[:1])
        for frame in frames
        for at, values in frame.inputs
    ]
    changes = {
        'joints.elbow.effort': 'unknown',
        'joints.elbow.acceleration': None,
        'sensors.encoders.sd': float(p2.NOISE),
    }
    config = with_values(driven_elbow.config(), changes)
    return config, truth.values, sorted(samples, key=lambda s: (s.stamp_ns, s.sensor))


def silent_motor_called_driven(seed, seconds):
    """Return the same, where the config says that only the joint's motion counts."""
    config, *rest = silent_motor(seed, seconds)
    driven = {'joints.elbow.effort': 'driven', 'joints.elbow.acceleration': ACCELERATION}
    return with_values(config, driven), *rest


KINDS = [servo, silent_motor, silent_motor_called_driven]


@pytest.fixture(scope='module', params=KINDS, ids=lambda f: f.__name__)
def courses(request):
    """Return [(config, values, samples of more time, pipeline, events)] of a robot."""
    found = []
    for seed in SEEDS:
        config, values, samples = request.param(seed, SECONDS + 0.2)
        pipeline, events = Pipeline.from_config(config), []
        for sample in samples:
            if sample.stamp_ns < SECONDS * 1e9:
                pipeline.push(sample)
                events += [e for estimate in pipeline.step() for e in estimate.report.events]
        found.append((config, values, samples, pipeline, events))
    return found


def test_the_filter_takes_over_and_sees_no_change(courses):
    for *_, events in courses:
        assert 'handed over' in events and 'changed' not in events
        assert 'efforts unknown' not in events


def test_what_the_motion_tells_is_found_with_an_uncertainty_to_believe(courses):
    for config, values, _, pipeline, _ in courses:
        if config.joints['elbow'].effort == 'unknown':
            continue
        mixture = pipeline.estimator.mixture(pipeline.problem, pipeline.state)
        judged = judge(mixture, base_quantities(pipeline.problem.chart, values))
        assert judged['nees'] < chi2.ppf(1 - CHANCE, len(judged['sd']))
        assert np.median(judged['sd']) < 0.05 * PRIOR_SPREAD


def test_the_filter_looks_back_and_its_file_goes_on_where_it_stopped(courses, tmp_path):
    config, _, samples, pipeline, _ = courses[0]
    pipeline.save(tmp_path / 'posterior.npz')
    other = Pipeline.from_config(config)
    other.load(tmp_path / 'posterior.npz')
    for each in (pipeline, other):
        for sample in samples:
            if sample.stamp_ns >= SECONDS * 1e9:
                each.push(sample)
        assert len(each.step()) > 10
    ours, theirs = (each.state.mixture for each in (pipeline, other))
    np.testing.assert_array_equal(ours.means, theirs.means)
    np.testing.assert_array_equal(ours.roots, theirs.roots)


def test_nothing_inside_a_driven_joint_is_estimated():
    problem = Pipeline.from_config(driven_elbow.config()).problem
    assert not any(name.startswith('elbow.damping') for name in problem.chart.names)
    assert 'shoulder.damping' in problem.chart.names
    assert p2.JOINTS == ('shoulder', 'elbow')
