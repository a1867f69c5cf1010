"""What has happened, and where the model has the joints, as messages and back."""

import numpy as np
import pytest

from sim2real_estimator.events import Event, input_back, input_lost
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.records import Estimate, UpdateReport

pytest.importorskip('rclpy')

from rclpy import serialization

from sim2real_estimator.ros.publishers import (
    estimate_message,
    events_message,
    predicted_message,
    read_estimate,
    read_events,
)

STAMP_NS = 1_700_000_000_000_000_007
# Two thirds: no decimal number has all its bits but one of seventeen digits.
THIRDS = 2 / 3


def received(message):
    """Return a message as somebody else gets it."""
    return serialization.deserialize_message(
        serialization.serialize_message(message), type(message)
    )


def estimate():
    names, mean, sd = ('elbow.damping', 'lower.mass'), (0.1, THIRDS), (0.01, 1 / 7)
    known = np.array(mean), np.array(sd), ('identified', 'ambiguous'), UpdateReport('filter')
    return Estimate(STAMP_NS, names, *known)


def test_an_estimate_arrives_by_name():
    found = read_estimate(received(estimate_message(estimate())))
    assert found.stamp_ns == STAMP_NS
    assert found.mean == {'elbow.damping': 0.1, 'lower.mass': THIRDS}
    assert found.sd == {'elbow.damping': 0.01, 'lower.mass': 1 / 7}
    assert found.heaviest == {}


def test_events_arrive():
    events = (
        Event('converged', 'the posterior is narrow'),
        input_lost('/joint_states', 2.5),
        input_back('/joint_states'),
    )
    stamp_ns, found = read_events(received(events_message(events, STAMP_NS)))
    assert stamp_ns == STAMP_NS
    assert [event.name for event in found] == ['converged', 'input lost', 'input back']
    assert [event.is_warning for event in found] == [False, True, False]
    assert found[1].values == {'topic': '/joint_states', 'silent for [s]': '2.5'}
    assert 'see whether somebody publishes' in found[1].text


def test_a_prediction_is_of_the_joints_by_name(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf)
    # Two numbers more, as where efforts of unknown origin are reckoned with.
    message = received(predicted_message(model, np.array([0.1, 0.2, -1, 2, 7, 7.0]), STAMP_NS))
    assert message.header.stamp.nanosec == 7
    assert message.name == ['shoulder', 'elbow']
    assert message.position.tolist() == [0.1, 0.2]
    assert message.velocity.tolist() == [-1.0, 2.0]


def test_a_prediction_has_the_joints_that_follow_others(gripper_urdf):
    message = predicted_message(load_urdf(gripper_urdf), np.array([0.02, 0.5]), STAMP_NS)
    assert message.name == ['left', 'right']
    assert message.position.tolist() == pytest.approx([0.02, -0.019])
    assert message.velocity.tolist() == pytest.approx([0.5, -0.5])


def test_a_prediction_leaves_out_what_has_no_place_in_joint_states(double_pendulum_urdf):
    model = load_urdf(double_pendulum_urdf, joint_types={'shoulder': 'spherical'})
    message = predicted_message(model, np.array([1, 0, 0, 0, 0.3, 9, 9, 9, 0.4]), STAMP_NS)
    assert message.name == ['elbow']
    assert (message.position[0], message.velocity[0]) == (0.3, 0.4)
