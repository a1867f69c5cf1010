"""A joint that a servo moves and one of unknown effort: the rest is known from the motion."""

from pathlib import Path
import sys

import numpy as np
from problems import driven_elbow, p2, silent_elbow
import pytest
from scipy.stats import chi2

sys.path.append(str(Path(__file__).resolve().parents[2] / 'benchmark'))

from estimation.driven_elbow import base_quantities  # noqa: E402
from estimation.metrics import judge  # noqa: E402

from sim2real_estimator.pipeline import Pipeline  # noqa: E402
from sim2real_estimator.reported_events import Happened

pytestmark = pytest.mark.usefixtures('one_thread')

SECONDS = 4.0
CHANCE = 0.001
# As much as was not known before [%].
PRIOR_SPREAD = 0.3
# Of these, efforts of the silent motor were once found too small, and all else too surely.
SEEDS = {driven_elbow: (19,), silent_elbow: (903, 909)}


@pytest.fixture(scope='module', params=SEEDS, ids=lambda each: each.__name__)
def trajectories(request):
    """Return [(config, values, samples of more time, pipeline, events)] of a robot."""
    found = []
    for seed in SEEDS[request.param]:
        config = request.param.config()
        values, samples = request.param.draw(seed, SECONDS + 0.2)
        pipeline, events = Pipeline.from_config(config), []
        for sample in samples:
            if sample.stamp_ns < SECONDS * 1e9:
                pipeline.push(sample)
                events += [e for estimate in pipeline.step() for e in estimate.report.events]
        found.append((config, values, samples, pipeline, events))
    return found


def test_the_filter_takes_over_and_sees_no_change(trajectories):
    for *_, events in trajectories:
        assert Happened.HANDED_OVER in events and Happened.CHANGED not in events
        assert Happened.EFFORTS_UNKNOWN not in events


def test_what_the_motion_tells_is_found_with_an_uncertainty_to_believe(trajectories):
    for _, values, _, pipeline, _ in trajectories:
        mixture = pipeline.estimator.mixture(pipeline.problem, pipeline.state)
        judged = judge(mixture, base_quantities(pipeline.problem.parametrization, values))
        count = len(judged['sd'])
        assert count * judged['nees'] < chi2.ppf(1 - CHANCE, count)
        assert np.median(judged['sd']) < 0.05 * PRIOR_SPREAD


def test_the_filter_looks_back_and_its_file_goes_on_where_it_stopped(trajectories, tmp_path):
    config, _, samples, pipeline, _ = trajectories[0]
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
    assert not any(name.startswith('elbow.damping') for name in problem.parametrization.names)
    assert 'shoulder.damping' in problem.parametrization.names
    assert p2.JOINTS == ('shoulder', 'elbow')
