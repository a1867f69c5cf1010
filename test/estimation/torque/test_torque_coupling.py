"""A motor that two joints share, found in what is left of their torques."""

from dataclasses import replace

from measured_arms import EFFORT_SD, events_of, new_pipeline, record
import numpy as np
from posteriors import feed

from sim2real_estimator.reported_events import CoupledJoints


def shared(arm, inertia, friction, sign=1.0):
    """Return a recording whose joints share one more motor, at the sum of their speeds."""
    _, v, a = arm.motion * np.array([1.0, sign])
    motor = inertia * a.sum(1) + friction * np.tanh(v.sum(1) / 0.02)
    return replace(arm, tau=arm.tau + motor[:, None])


def reported(arm):
    pipeline = new_pipeline()
    events = events_of(feed(pipeline, arm.samples()))
    return [event for event in events if isinstance(event, CoupledJoints)]


def test_a_shared_motor_is_reported_once():
    assert reported(shared(record(6.0, rate=125.0), 0.3, 3.0)) == [
        CoupledJoints('elbow', 'shoulder')
    ]


def test_friction_of_single_joints_and_noise_are_no_shared_motor():
    arm = record(6.0, rate=125.0)
    single = 3.0 * np.tanh(arm.motion[1] / 0.02)
    assert reported(replace(arm, tau=arm.tau + single)) == []
    assert reported(record(6.0, rate=125.0, effort_sd=40 * EFFORT_SD)) == []
