"""The payload as messages and back, bit for bit."""

import numpy as np
import pytest

from sim2real_estimator.errors import DataError
from sim2real_estimator.records import Payload, PAYLOAD_NUMBERS, PayloadReason

pytest.importorskip('rclpy')

from geometry_msgs.msg import InertiaStamped
from rclpy import serialization
from sensor_msgs.msg import PointCloud2

from sim2real_estimator.ros.publishers import (
    payload_message,
    payload_uncertainty_message,
    read_payload,
    samples_message,
)

STAMP_NS = 1_700_000_000_000_000_007


def payload_of(reason=PayloadReason.NONE, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((10, 10))
    return Payload('hand', 'tool0', STAMP_NS, rng.random(10), root @ root.T, 0.93, reason)


def received(payload):
    """Return the two messages as somebody else gets them."""
    return tuple(
        serialization.deserialize_message(serialization.serialize_message(message), kind)
        for kind, message in (
            (InertiaStamped, payload_message(payload)),
            (PointCloud2, payload_uncertainty_message(payload)),
        )
    )


@pytest.mark.parametrize('reason', PayloadReason)
def test_it_arrives_bit_for_bit(reason):
    sent = payload_of(reason)
    found = read_payload(*received(sent))
    assert found.frame == 'tool0' and found.stamp_ns == STAMP_NS
    assert found.mean.tobytes() == sent.mean.tobytes()
    assert found.covariance.tobytes() == sent.covariance.tobytes()
    assert found.probability == sent.probability and found.reason is reason
    assert found.is_valid == (reason is PayloadReason.NONE)


def test_the_numbers_stand_where_controllers_read_them():
    mean = np.arange(1.0, 11.0)
    inertia = payload_message(Payload('hand', 'hand', 0, mean, np.eye(10))).inertia
    assert (inertia.m, inertia.com.x, inertia.com.y, inertia.com.z) == (1, 2, 3, 4)
    found = [getattr(inertia, f'i{name.rpartition(".")[2]}') for name in PAYLOAD_NUMBERS[4:]]
    assert found == mean[4:].tolist()


def test_two_instants_are_no_payload():
    inertia, cloud = received(payload_of())
    inertia.header.stamp.nanosec += 1
    with pytest.raises(DataError, match='different instants'):
        read_payload(inertia, cloud)


def test_other_fields_are_no_payload():
    inertia, _ = received(payload_of())
    with pytest.raises(DataError, match='payload_uncertainty'):
        read_payload(inertia, samples_message(['hand.mass'], np.zeros((1, 3)), STAMP_NS))


def test_one_that_says_the_same_later_is_equal():
    payload, later = payload_of(), payload_of()
    object.__setattr__(later, 'stamp_ns', STAMP_NS + 1)
    assert payload.says_as(later)
    assert not payload.says_as(None) and not payload.says_as(payload_of(seed=1))
    assert not payload.says_as(payload_of(PayloadReason.MISFIT))
