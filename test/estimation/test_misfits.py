"""What speaks against all that is found: how far from the prior, how pushed, how lost it is."""

from dataclasses import replace

import numpy as np
from posteriors import pipeline_of
import pytest
from simulated import config, record

from sim2real_estimator.estimation.disturbances import bank, Disturbances
from sim2real_estimator.estimation.misfits import (
    far_from_prior,
    LARGEST_DISTURBANCE,
    too_noisy,
)
from sim2real_estimator.estimation.protocol import Gaussian
from sim2real_estimator.events import EventDescriber
from sim2real_estimator.observability.findings import Assessment
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Frame, Sample, UpdateReport
from sim2real_estimator.reported_events import (
    DisturbancesTooLarge,
    FarFromPrior,
    Happened,
    Misfit,
    MisfitOver,
    MisfitTest,
    MotionNotExplained,
    SensorTooNoisy,
)

SECOND = 10**9
FILTER, BATCH = UpdateReport('filter'), UpdateReport('batch')
LOST = UpdateReport('batch', events=(Happened.FITTED, Happened.POOR_FIT))


def test_one_coordinate_or_all_together_may_be_far():
    prior = Gaussian(np.zeros(20), 2.0 * np.eye(20))
    one, all_of_them = np.zeros(20), np.full(20, 3.4)
    one[3] = 12.0
    assert far_from_prior(prior, one) == (3, 6.0)
    assert far_from_prior(prior, all_of_them) is None
    assert far_from_prior(prior, 1.1 * all_of_them) is not None
    # What was said holds until it is clearly over.
    assert far_from_prior(prior, all_of_them, True) is not None
    drawn = np.random.default_rng(0).standard_normal((20, 10_000))
    assert not any(far_from_prior(prior, 2.0 * draw) for draw in drawn.T)


def test_a_signal_that_is_too_noisy_is_so_until_it_clearly_fits():
    assert too_noisy(np.array([1.0, 2.9])) is None
    assert too_noisy(np.array([4.0, 5.0])) == 1
    assert too_noisy(np.array([2.7, 1.0]), 1) == 0
    assert too_noisy(np.array([2.4, 1.0]), 1) is None


@pytest.fixture
def begun():
    pipeline = pipeline_of()
    return pipeline.problem, pipeline.mixture


def led_on(begun, course):
    """Return (events, last `Assessment`) of (report, function of the mixture, seconds), ...."""
    problem, mixture = begun
    assessment, events, now_ns = Assessment.begun(problem, mixture), [], 0
    for report, change, seconds in course:
        for _ in range(round(2 * seconds)):
            now_ns += SECOND // 2
            frame = Frame(now_ns - SECOND // 2, now_ns, ())
            before = assessment
            assessment = assessment.after(problem, change(mixture), frame, report)
            events += assessment.events_since(before)
    return events, assessment


def same(mixture):
    return mixture


def pushed(mixture):
    each = bank((LARGEST_DISTURBANCE,)) * mixture.size
    return replace(mixture, disturbances=Disturbances.of(each))


def far(mixture):
    return replace(mixture, means=mixture.means + 100.0)


def test_it_is_said_when_it_has_lasted_and_when_it_is_over(begun):
    events, _ = led_on(begun, [(FILTER, same, 2), (FILTER, pushed, 4), (FILTER, same, 2)])
    assert events == [DisturbancesTooLarge(), MisfitOver(MisfitTest.EFFORTS)]
    assert led_on(begun, [(FILTER, pushed, 0.5), (FILTER, same, 3)])[0] == []
    (event,), assessment = led_on(begun, [(FILTER, far, 3)])
    assert isinstance(event, FarFromPrior) and event.coordinate in begun[0].labels
    assert event.deviations > 5.0
    assert 'identified' not in assessment.latest.verdicts


def test_first_fits_may_be_poor_for_a_while(begun):
    def fits(report, number, change=same):
        return [(report, change, 1), (BATCH, change, number - 1)]

    assert led_on(begun, fits(LOST, 3))[0] == []
    assert led_on(begun, fits(LOST, 8))[0] == [MotionNotExplained()]
    found = led_on(
        begun, [*fits(LOST, 8), (UpdateReport('batch', events=(Happened.FITTED,)), same, 2)]
    )
    assert found[0] == [MotionNotExplained(), MisfitOver(MisfitTest.MOTION)]


def test_what_has_changed_may_be_anywhere(begun):
    changed = UpdateReport('filter', events=(Happened.CHANGED,))
    events, _ = led_on(begun, [(changed, same, 1), (FILTER, far, 4)])
    assert events == []


def test_events_name_what_is_wrong_and_what_may_repair_it():
    pipeline = pipeline_of()
    estimate = pipeline.estimate()
    misfits = (
        DisturbancesTooLarge(),
        MotionNotExplained(),
        FarFromPrior('lower.mass', 5.1),
        SensorTooNoisy('hand body', 'position', 8.7),
    )
    events = EventDescriber().describe(misfits, estimate)
    assert [event.values['about'] for event in events] == ['efforts', 'motion', 'prior', 'noise']
    assert 'lower.mass is 5.1 standard deviations' in events[2].text
    assert 'the position of hand body is 8.7 times' in events[3].text
    assert all('; ' in event.text and event.is_warning for event in events)
    over = EventDescriber().describe((MisfitOver(MisfitTest.PRIOR),), estimate)
    assert [(event.name, event.values) for event in over] == [('fits again', {'about': 'prior'})]


@pytest.mark.usefixtures('one_thread')
@pytest.mark.parametrize('estimator', ['gaussian_sum', 'multiple_shooting'])
@pytest.mark.parametrize('factor', [1.0, 10.0])
def test_efforts_in_another_unit_are_never_silent(estimator, factor):
    known = config()
    known = replace(known, estimator=replace(known.estimator, name=estimator))
    pipeline, recording, events = Pipeline.from_config(known), record(6.0, 1), []
    for stamp, angles, torques in zip(recording.stamps, recording.angles, recording.torques):
        pipeline.push(Sample('encoders', int(stamp), angles))
        pipeline.push(Sample('commanded_efforts', int(stamp), factor * torques))
        events += [event for each in pipeline.step() for event in each.report.events]
    misfits = [event for event in events if isinstance(event, (Misfit, MisfitOver))]
    verdicts = pipeline.findings(exact=False).verdicts
    if factor == 1:
        assert not misfits and 'identified' in verdicts
    else:
        assert misfits and 'identified' not in verdicts
