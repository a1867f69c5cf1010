"""Rotations in arrays, one for each of a batch: quaternions are w, x, y, z."""

import numpy as np

# A rotation matrix, row after row, as sums of products of the parts of a quaternion: ww, wx, wy,
# wz, xx, xy, xz, yy, yz, zz. One product of small matrices is faster than all sums one by one.
_PARTS = np.triu_indices(4)
_OF_PRODUCTS = np.array(
    [
        [1, 0, 0, 0, 1, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, -2, 0, 2, 0],
        [0, 0, 2, 0, 0, 0, -2, 0, 0],
        [0, -2, 0, 2, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, -1, 0, 0, 0, -1],
        [0, 2, 0, 2, 0, 0, 0, 0, 0],
        [0, 0, 2, 0, 0, 0, 2, 0, 0],
        [-1, 0, 0, 0, 1, 0, 0, 0, -1],
        [0, 0, 0, 0, 0, 2, 0, 2, 0],
        [-1, 0, 0, 0, -1, 0, 0, 0, 1],
    ],
    dtype=float,
)
# The matrix of a cross product by a vector, row after row, for x, y and z.
CROSS = np.array(
    [
        [0, 0, 0, 0, 0, -1, 0, 1, 0],
        [0, 0, 1, 0, 0, 0, -1, 0, 0],
        [0, -1, 0, 1, 0, 0, 0, 0, 0],
    ],
    dtype=float,
)


def quaternion_matrices(q):
    """Return rotation matrices [B, 3, 3] of quaternions [B, 4] (w, x, y, z) of any length."""
    first, second = _PARTS
    matrices = (q[:, first] * q[:, second]) @ _OF_PRODUCTS / _squares(q)[:, None]
    return matrices.reshape(-1, 3, 3)


def rotation_vectors(matrices):
    """Return the rotation vectors [B, 3] of rotation matrices [B, 3, 3], at most half a turn."""
    # Entries (2, 1), (0, 2), (1, 0), less those across the diagonal.
    skew = 0.5 * (matrices.reshape(-1, 9) @ CROSS.T)
    sine = _lengths(skew)
    angle = np.arctan2(sine, 0.5 * (np.einsum('bii->b', matrices) - 1))
    scale = np.where(sine > 1e-9, angle / np.maximum(sine, 1e-300), 1.0)
    return skew * scale[:, None]


def inverse_right_jacobians(vectors):
    """Return the derivatives [B, 3, 3] of log(R exp(d)) by d at d = 0, for log(R) = vectors."""
    angle = _lengths(vectors)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    factor = np.where(
        small, 1 / 12 + angle**2 / 720, 1 / safe**2 - 1 / (2 * safe * np.tan(safe / 2))
    )
    skew = (vectors @ CROSS).reshape(-1, 3, 3)
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
    sine = _lengths(imaginary)
    scale = np.where(sine > 1e-9, 2 * np.arctan2(sine, np.abs(real)) / np.maximum(sine, 1e-300), 2)
    return imaginary * (scale * np.where(real < 0, -1.0, 1.0))[:, None]


def turns_of_quaternions(q):
    """Return what small changes of unit quaternions [B, 4] turn them by, in their frames."""
    w, x, y, z = 2 * q.T
    return _filled((-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w))


def _lengths(vectors):
    """Return the lengths [B] of vectors [B, n]."""
    return np.sqrt(_squares(vectors))


def _squares(vectors):
    """Return the squared lengths [B] of vectors [B, n]."""
    return np.einsum('bi,bi->b', vectors, vectors)


def _filled(*rows):
    """Return matrices [B, m, n] of rows of entries [B]; for few matrices faster than stacking."""
    result = np.empty((len(rows[0][1]), len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            result[:, i, j] = entry
    return result
