"""
The topics `~/payload`, an InertiaStamped, and `~/payload_uncertainty`, a PointCloud2 of one point.

The first is what controllers take; the second, of the same stamp, says how well it is known.
"""

import numpy as np

from ...errors import DataError
from ...messages import maker
from ...records import Payload, PAYLOAD_NUMBERS, PayloadReason
from .clouds import cloud_message, read_cloud
from .stamps import header, stamp_ns_of

InertiaStamped = maker('geometry_msgs/msg/InertiaStamped')
_PROBABILITY, _VALID, _REASON = 'probability', 'valid', 'reason'
_MEAN, _COVARIANCE = 'mean/', 'cov/'
_FIELDS = {
    _PROBABILITY,
    _VALID,
    _REASON,
    *(f'{part}{name}' for part in (_MEAN, _COVARIANCE) for name in PAYLOAD_NUMBERS),
}
_REASONS = {reason.number: reason for reason in PayloadReason}


def payload_message(payload):
    """Return a `Payload` as InertiaStamped, in its frame; all zero where nothing is held."""
    message = InertiaStamped(header=header(payload.stamp_ns, payload.frame))
    inertia, numbers = message.inertia, payload.mean.tolist()
    inertia.m, (inertia.com.x, inertia.com.y, inertia.com.z) = numbers[0], numbers[1:4]
    inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz = numbers[4:]
    return message


def payload_uncertainty_message(payload):
    """
    Return how far a `Payload` is known, as PointCloud2 of one point.

    Fields, all FLOAT64: `probability`; `valid`, 1 or 0; `reason`, the number of the
    `PayloadReason`; `mean/<number>` and `cov/<number>`, the row of the covariance, for each of
    the `PAYLOAD_NUMBERS`.
    """
    columns = {
        _PROBABILITY: [payload.probability],
        _VALID: [float(payload.is_valid)],
        _REASON: [float(payload.reason.number)],
    }
    columns |= {f'{_MEAN}{name}': [x] for name, x in zip(PAYLOAD_NUMBERS, payload.mean)}
    rows = payload.covariance[:, None]
    columns |= {f'{_COVARIANCE}{name}': row for name, row in zip(PAYLOAD_NUMBERS, rows)}
    message = cloud_message(columns, payload.stamp_ns)
    message.header.frame_id = payload.frame
    return message


def read_payload(inertia, cloud):
    """
    Return the `Payload` of the messages of `~/payload` and `~/payload_uncertainty`.

    Its `link` is the frame of the messages. A DataError where they are not those of one instant.
    """
    columns, stamp_ns = read_cloud(cloud), stamp_ns_of(inertia)
    if set(columns) != _FIELDS or cloud.width * cloud.height != 1:
        raise DataError(
            f'there are the fields {", ".join(columns) or "of no name"}, which are not those of '
            'a payload; listen to ~/payload_uncertainty'
        )
    if stamp_ns_of(cloud) != stamp_ns or cloud.header.frame_id != inertia.header.frame_id:
        raise DataError(
            'the two messages are of different instants or frames; wait until those of one stamp '
            'are there'
        )
    own = inertia.inertia
    numbers = [own.m, own.com.x, own.com.y, own.com.z]
    numbers += [own.ixx, own.ixy, own.ixz, own.iyy, own.iyz, own.izz]
    frame = inertia.header.frame_id
    reason = _REASONS.get(int(columns[_REASON][0]), PayloadReason.UNKNOWN)
    if columns[_VALID][0] == 1.0:
        reason = PayloadReason.NONE
    elif reason is PayloadReason.NONE:
        reason = PayloadReason.UNKNOWN
    return Payload(
        frame,
        frame,
        stamp_ns,
        np.array(numbers),
        np.concatenate([columns[f'{_COVARIANCE}{name}'] for name in PAYLOAD_NUMBERS]),
        float(columns[_PROBABILITY][0]),
        reason,
    )
