"""
Whatever drivers send, no error leaves a pipeline: what cannot be computed is refused and counted.

`make evaluate ARGS='--only estimation --study bad_frames'` feeds 100 000 frames.
"""

from collections import Counter
import logging

import numpy as np
from problems.bad_data import CASES
import pytest

from sim2real_estimator.reported_events import Happened

# How many bad frames are fed from each stage: as many as take some seconds.
FRAMES = {
    ('gaussian_sum', 'batch'): 800,
    ('gaussian_sum', 'late batch'): 1200,
    ('gaussian_sum', 'filter'): 800,
    ('gaussian_sum', 'suspicion'): 40,
    ('measured_torque', 'beginning'): 3000,
    ('measured_torque', 'noise learned'): 3000,
    ('measured_torque', 'posterior'): 3000,
    ('multiple_shooting', 'beginning'): 1000,
    ('multiple_shooting', 'first windows'): 1000,
    ('multiple_shooting', 'many windows'): 1000,
    ('gumbel_mixture', 'beginning'): 16,
    ('gumbel_mixture', 'later'): 16,
}
pytestmark = pytest.mark.usefixtures('one_thread')


@pytest.fixture(scope='module', params=sorted(CASES))
def case(request):
    """Return (name, `Case`)."""
    return request.param, CASES[request.param]()


def test_every_stage_is_fed(case):
    name, case = case
    assert {stage for own, stage in FRAMES if own == name} == set(case.stages)


def test_no_error_leaves_a_pipeline_whatever_is_wrong_with_frames(case, caplog):
    name, case = case
    caplog.set_level(logging.CRITICAL)
    words = Counter()
    for k, stage in enumerate(case.stages):
        words += case.feed(np.random.default_rng([0, k]), stage, FRAMES[name, stage])
    assert words[Happened.UPDATE_REFUSED] and not words['not finite']


class Failing:
    """An estimator that fails at some frames, and says what it was fed."""

    def __init__(self, estimator, errors):
        self._estimator, self._errors, self.fed = estimator, dict(errors), []

    def __getattr__(self, name):
        return getattr(self._estimator, name)

    def update(self, problem, state, frame):
        self.fed.append(frame)
        if frame.samples and (error := self._errors.get(frame.end_ns)):
            raise error
        return self._estimator.update(problem, state, frame)


def failing(monkeypatch, error):
    """Return (pipeline that fails at a frame, frames: the first of them)."""
    case = CASES['measured_torque']()
    pipeline, frames = case.pipeline, case.frames[:5]
    pipeline.progress = case.stages['beginning']
    estimator = Failing(pipeline.estimator, {frames[2].end_ns: error})
    monkeypatch.setattr(pipeline, 'estimator', estimator)
    pipeline.waiting.extend(frames)
    return pipeline, frames


@pytest.mark.parametrize('error', [np.linalg.LinAlgError('singular'), OverflowError('too large')])
def test_a_frame_that_cannot_be_computed_is_refused_counted_and_told(monkeypatch, caplog, error):
    pipeline, frames = failing(monkeypatch, error)
    before = dict(pipeline.counts.table().get('encoders', {}))
    estimates = pipeline.step()
    assert [e.report.events for e in estimates] == [(), (), (Happened.UPDATE_REFUSED,), (), ()]
    # The motion goes on without its samples, and the next frames are taken in as ever.
    fed = pipeline.estimator.fed
    assert [f.end_ns for f in fed] == [frames[k].end_ns for k in (0, 1, 2, 2, 3, 4)]
    assert fed[2].samples and not fed[3].samples
    after = pipeline.counts.table()['encoders']
    assert after['used'] == before.get('used', 0) + 4
    assert after['update refused'] == before.get('update refused', 0) + 1
    (record,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert record.exc_info[1] is error


def test_what_is_known_stays_where_not_even_the_motion_can_be_computed(monkeypatch, caplog):
    case = CASES['gaussian_sum']()
    pipeline, known = case.pipeline, case.stages['filter']
    pipeline.progress = known

    def fail(*_):
        raise np.linalg.LinAlgError('singular')

    with monkeypatch.context() as patched:
        patched.setattr(type(pipeline.estimator), 'update', fail)
        pipeline.waiting.append(case.frames[-1])
        (estimate,) = pipeline.step()
    assert estimate.report.events == (Happened.UPDATE_REFUSED,)
    np.testing.assert_array_equal(estimate.mean, known.estimate.mean)
    np.testing.assert_array_equal(pipeline.state.knowledge.means, known.mixture.means)
    pipeline.waiting.extend(case.frames[-60:])
    events = [event for each in pipeline.step() for event in each.report.events]
    assert events == [Happened.RESUMED]


def test_a_mistake_in_the_program_is_not_taken_for_bad_data(monkeypatch):
    pipeline, _ = failing(monkeypatch, TypeError('a mistake'))
    with pytest.raises(TypeError, match='a mistake'):
        pipeline.step()
