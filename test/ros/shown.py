"""Finding one's way among markers."""

import numpy as np
import pytest
from rclpy import serialization
from transforms3d.quaternions import quat2mat

from sim2real_estimator.records import ParameterFinding


def known(name, mean, sd=0.01, verdict='identified', aliases=()):
    quantiles = (mean - 1.6 * sd, mean, mean + 1.6 * sd)
    return ParameterFinding(name, mean, sd, quantiles, mean, 1.0, sd, verdict, aliases)


def received(message):
    """Return a message as somebody else gets it."""
    return serialization.deserialize_message(
        serialization.serialize_message(message), type(message)
    )


def of(markers, space):
    """Return id -> marker of a namespace."""
    found = [marker for marker in markers if marker.ns == space]
    assert len({marker.id for marker in found}) == len(found)
    return {marker.id: marker for marker in found}


def in_frame(markers, space, frame):
    """Return the only marker of a namespace in a frame."""
    (marker,) = (m for m in of(markers, space).values() if m.header.frame_id == frame)
    return marker


def place(marker):
    at = marker.pose.position
    return np.array([at.x, at.y, at.z])


def sizes(marker):
    return np.array([marker.scale.x, marker.scale.y, marker.scale.z])


def turn(marker):
    q = marker.pose.orientation
    return quat2mat([q.w, q.x, q.y, q.z])


def shape(marker):
    """Return the matrix R diag(radius^2) R' of an ellipsoid."""
    return turn(marker) @ np.diag((sizes(marker) / 2) ** 2) @ turn(marker).T


def rgb(marker):
    return pytest.approx((marker.color.r, marker.color.g, marker.color.b), abs=1e-6)
