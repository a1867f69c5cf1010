"""Hands that push an arm whose torques are measured: it has not changed, and holds no mass."""

from dataclasses import replace

import measured_arms
from measured_arms import (
    away,
    BEGIN_NS,
    EFFORT_SD,
    EFFORTS,
    JOINTS,
    new_pipeline,
    RATE,
    record,
    Recording,
    SD,
    true_torques,
)
import numpy as np
from posteriors import feed
from scipy.interpolate import CubicSpline

from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import Sample
from sim2real_estimator.reported_events import Explained, Happened, kinds_of, TorqueLeftOut

# Of the shoulder and the elbow [N m].
_PUSH = np.array([2.5, 1.5])


def _pushed(samples, since, seconds):
    """Return samples in which a hand has pushed: half a sine wave of effort on both joints."""
    found = []
    for s in samples:
        t = 1e-9 * (s.stamp_ns - BEGIN_NS) - since
        if s.sensor == EFFORTS and 0 < t < seconds:
            push = np.sin(np.pi * t / seconds) * _PUSH
            s = Sample(s.sensor, s.stamp_ns, s.values - push)
        found.append(s)
    return found


def _followed(samples):
    """Return (pipeline, [(time, event), ...]) after some samples."""
    pipeline = new_pipeline()
    found = [
        (1e-9 * (estimate.stamp_ns - BEGIN_NS), event)
        for estimate in feed(pipeline, samples)
        for event in estimate.report.events
    ]
    return pipeline, found


def _resting(arm, since):
    """Return the recording of an arm whose elbow comes to rest within half a second."""
    generator, model = np.random.default_rng(1), measured_arms.pipeline().problem.torque
    left = np.clip((arm.times - since) / 0.5, 0, 1)
    # Time that stands still in the end, with continuous second derivatives.
    speed = 1 - left**3 * (10 - 15 * left + 6 * left**2)
    slowed = CubicSpline(arm.times, arm.motion[0, :, 1])(np.cumsum(speed) / RATE)
    spline, motion = CubicSpline(arm.times, slowed), arm.motion.copy()
    for k in range(3):
        motion[k, :, 1] = spline(arm.times, k)
    noise = EFFORT_SD * model.limits * generator.standard_normal(arm.tau.shape)
    q = motion[0] + SD * generator.standard_normal(arm.q.shape)
    return Recording(arm.truth, arm.times, motion, q, true_torques(arm.truth, motion) + noise)


def test_a_push_is_over_although_a_joint_rests_since_then():
    """A joint at rest has no rows that could say that its torque is as usual again."""
    arm = _resting(record(22.0), since=17.3)
    pipeline, found = _followed(_pushed(arm.samples(), 17.0, 0.8))
    left_out = {event.joint: time for time, event in found if isinstance(event, TorqueLeftOut)}
    assert set(left_out) == set(JOINTS) and max(left_out.values()) < 20.0
    assert Happened.CHANGED not in [event for _, event in found]
    assert pipeline.state.disruption is None and away(pipeline, arm.truth) < 1.4


def test_the_posterior_waits_while_torques_are_far_off():
    arm = record(20.0)
    pipeline, means = new_pipeline(), {}
    for sample in _pushed(arm.samples(), 17.0, 1.0):
        for estimate in feed(pipeline, [sample], to_the_end=False):
            means[1e-9 * (estimate.stamp_ns - BEGIN_NS)] = pipeline.mixture.moments()[0]
    during = [mean for time, mean in means.items() if 17.6 < time < 18.2]
    assert len(during) > 10 and all(np.array_equal(mean, during[0]) for mean in during)
    assert not np.array_equal(list(means.values())[-1], during[0])


def test_a_push_soon_after_a_payload_does_not_become_mass():
    truth = measured_arms.drawn_truth()
    inner = measured_arms.pipeline().problem.parametrization.inner
    heavy = truth.copy()
    heavy[inner.rows[list(inner.links).index('lower')][:10]] += np.array(
        [0.5, 0, 0, -0.075, 0.012, 0.012, 0, 0, 0, 0]
    )
    parts = [record(18.0, 1, truth=truth), record(9.0, 2, truth=heavy, begin=18.0)]
    samples = [s for part in parts for s in part.samples()]
    pipeline, found = _followed(_pushed(samples, 23.0, 0.8))
    causes = [event.cause for _, event in found if isinstance(event, Explained)]
    assert causes[-1] == 'mass on lower'
    assert TorqueLeftOut in kinds_of([event for time, event in found if time > 23.0])
    load = pipeline.findings().payload
    assert abs(load.mass - 0.5) < 3 * load.mass_sd < 0.2


def test_a_payload_is_expected_where_the_user_says_that_it_is_held():
    config = measured_arms.config()
    for link in ('upper', 'lower'):
        held = replace(config, payload=replace(config.payload, link=link))
        changes = Pipeline.from_config(held).problem.torque.model_changes()
        odds = {change.link: change.log_odds for change in changes if change.body is not None}
        assert odds.pop(link) > np.log(100) > 0.0 == max(odds.values())
