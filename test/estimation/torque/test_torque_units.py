"""Units, signs and mounts that are wrong, found in the first seconds of measured torques."""

from dataclasses import replace

from measured_arms import away, events_of, JOINTS, new_pipeline, pipeline, record
import numpy as np
from posteriors import feed
import pytest
from seen_arms import pipeline as seven_joints

from sim2real_estimator.estimation.torque.units import event_of, MisfitHypothesis, MisfitWatch
from sim2real_estimator.observability.findings import Assessment
from sim2real_estimator.records import Frame, UpdateReport
from sim2real_estimator.reported_events import (
    Happened,
    Misfit,
    MisfitOver,
    MisfitTest,
    PositionsInDegrees,
    WrongMount,
    WrongSign,
    WrongUnit,
)


@pytest.fixture(scope='module')
def arm():
    return record(5.0, rate=125.0)


def turned(arm, upward):
    """Return a recording of the arm mounted so that this is upwards [3] in its description."""
    model = pipeline().problem.torque
    weights = model.weights(arm.motion[0]) @ model.standard(arm.truth)[0]
    return replace(arm, tau=arm.tau - weights[2] + np.tensordot(upward, weights, 1))


def reported(arm):
    """Return (the pipeline, its events of misfits)."""
    used = new_pipeline()
    events = events_of(feed(used, arm.samples()))
    return used, [event for event in events if isinstance(event, (Misfit, MisfitOver))]


def verdicts(used):
    return {each.verdict for each in used.findings(exact=False).parameters}


def test_what_fits_is_no_misfit(arm):
    used, events = reported(arm)
    assert events == []
    assert 'identified' in verdicts(used)
    assert away(used, arm.truth) < 3.0


@pytest.mark.parametrize(
    ('factors', 'kind', 'joint'),
    [
        ((0.02, 0.02), WrongUnit, None),
        ((12.0, 12.0), WrongUnit, None),
        ((1.0, -1.0), WrongSign, 'elbow'),
        ((-1.0, 1.0), WrongSign, 'shoulder'),
        ((1.0, 8.0), WrongUnit, 'elbow'),
    ],
)
def test_a_wrong_unit_or_sign_is_reported_once_and_nothing_is_identified(
    arm, factors, kind, joint
):
    used, (event,) = reported(replace(arm, tau=arm.tau * factors))
    assert (type(event), event.joint) == (kind, joint)
    expected_factor = factors[0] if joint is None else factors[JOINTS.index(joint)]
    assert 0.6 < event.factor / expected_factor < 1.7
    assert 'identified' not in verdicts(used)
    assert 'misfit' in verdicts(used)


def test_positions_in_degrees_are_reported(arm):
    assert reported(replace(arm, q=np.degrees(arm.q)))[1] == [PositionsInDegrees()]


@pytest.mark.parametrize('upward', [(0.0, 0.0, -1.0), (-1.0, 0.0, 0.0)])
def test_another_mount_is_reported_with_its_direction(arm, upward):
    _, (event,) = reported(turned(arm, upward))
    assert isinstance(event, WrongMount)
    # A turn about the axis of both joints is unobservable.
    assert np.dot(event.upward, upward) > 0.9


def test_weights_turn_with_the_base_and_are_part_of_columns():
    model = seven_joints().problem.torque
    standard = model.standard(seven_joints().problem.prior.mean)[0]
    standard = np.where(model.is_friction, 0.0, standard)
    generator = np.random.default_rng(0)
    q, rest = generator.normal(size=(5, 7)), np.zeros((5, 7))
    weights = model.weights(q) @ standard
    still, zero = model.columns(q, rest, rest, standard) @ standard, 1e-9
    assert np.abs(weights[2] - still).max() < zero
    # The first joint turns about z, the second about y: a base turned by as much is the same.
    angle = 0.7
    cosine, sine = np.cos(angle), np.sin(angle)
    other = q.copy()
    other[:, 0] -= angle
    assert (
        np.abs(cosine * weights[0] + sine * weights[1] - (model.weights(other) @ standard)[0])[
            :, 1:
        ].max()
        < zero
    )
    level = q.copy()
    level[:, 0] = 0.0
    other = level.copy()
    other[:, 1] -= angle
    weights = model.weights(level) @ standard
    assert (
        np.abs(cosine * weights[2] + sine * weights[0] - (model.weights(other) @ standard)[2])[
            :, 2:
        ].max()
        < zero
    )


def test_a_misfit_is_taken_back_when_it_is_none_any_more():
    watch, found = MisfitWatch(), MisfitHypothesis('unit', 1, 2.0, evidence=11.0)
    watch, is_news = watch.after(replace(found, evidence=5.0), 0.5)
    assert (watch.misfit, is_news) == (None, False)
    watch, is_news = watch.after(found, 0.8)
    assert (watch.misfit, is_news) == (found, True)
    weaker = replace(found, evidence=4.0)
    watch, is_news = watch.after(weaker, 1.2)
    assert (watch.misfit, is_news) == (weaker, False)
    watch, is_news = watch.after(MisfitHypothesis('sign', 1, -1.0, evidence=4.0), 1.8)
    assert (watch.misfit, is_news) == (None, True)
    assert event_of(found, JOINTS) == WrongUnit(2.0, 'elbow')


def test_until_a_misfit_is_over_nothing_is_identified():
    used, frame = pipeline(), Frame(0, 10**9, ())
    begun = Assessment.begun(used.problem, used.mixture)

    def after(assessment, *events):
        report = UpdateReport('filter', events=events)
        return assessment.after(used.problem, used.mixture, frame, report)

    wrong = after(begun, PositionsInDegrees())
    assert [each.is_misfit for each in (wrong, after(wrong, Happened.FITTED))] == [True, True]
    assert not after(wrong, MisfitOver(MisfitTest.TORQUES)).is_misfit
