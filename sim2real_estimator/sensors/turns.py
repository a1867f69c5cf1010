"""Rotations in arrays, one for each of a batch: quaternions are w, x, y, z."""

import numpy as np


def quaternion_matrices(q):
    """Return rotation matrices [B, 3, 3] of quaternions [B, 4] (w, x, y, z) of any length."""
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
        ],
        -2,
    )


def rotation_vectors(matrices):
    """Return the rotation vectors [B, 3] of rotation matrices [B, 3, 3], at most half a turn."""
    skew = 0.5 * np.stack(
        [
            matrices[:, 2, 1] - matrices[:, 1, 2],
            matrices[:, 0, 2] - matrices[:, 2, 0],
            matrices[:, 1, 0] - matrices[:, 0, 1],
        ],
        -1,
    )
    sine = np.linalg.norm(skew, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(matrices, axis1=1, axis2=2) - 1))
    scale = np.where(sine > 1e-9, angle / np.maximum(sine, 1e-300), 1.0)
    return skew * scale[:, None]


def inverse_right_jacobians(vectors):
    """Return the derivatives [B, 3, 3] of log(R exp(d)) by d at d = 0, for log(R) = vectors."""
    angle = np.linalg.norm(vectors, axis=1)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    factor = np.where(
        small, 1 / 12 + angle**2 / 720, 1 / safe**2 - 1 / (2 * safe * np.tan(safe / 2))
    )
    zero = np.zeros_like(angle)
    x, y, z = vectors.T
    skew = np.stack(
        [np.stack([zero, -z, y], -1), np.stack([z, zero, -x], -1), np.stack([-y, x, zero], -1)], -2
    )
    return np.eye(3) + 0.5 * skew + factor[:, None, None] * (skew @ skew)


def quaternion_turns(starts, ends):
    """
    Return the turns from quaternions [B, 4] to others, in the frames of the former.

    As rotation vectors [B, 3], at most half a turn: q and -q are the same.
    """
    real = (starts * ends).sum(1)
    imaginary = (
        starts[:, :1] * ends[:, 1:]
        - ends[:, :1] * starts[:, 1:]
        - np.cross(starts[:, 1:], ends[:, 1:])
    )
    sine = np.linalg.norm(imaginary, axis=1)
    scale = np.where(sine > 1e-9, 2 * np.arctan2(sine, np.abs(real)) / np.maximum(sine, 1e-300), 2)
    return imaginary * (scale * np.where(real < 0, -1.0, 1.0))[:, None]


def turns_of_quaternions(q):
    """Return what small changes of unit quaternions [B, 4] turn them by, in their frames."""
    w, x, y, z = 2 * q.T
    return np.stack(
        [
            np.stack([-x, w, z, -y], -1),
            np.stack([-y, -z, w, x], -1),
            np.stack([-z, y, -x, w], -1),
        ],
        -2,
    )
