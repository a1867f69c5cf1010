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
_CROSS = np.array(
    [
        [0, 0, 0, 0, 0, -1, 0, 1, 0],
        [0, 0, 1, 0, 0, 0, -1, 0, 0],
        [0, -1, 0, 1, 0, 0, 0, 0, 0],
    ],
    dtype=float,
)
# The axes that follow on x, y and z.
_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]
# From the same products: how the sine of a turn, times its axis, and twice its cosine follow from
# the entries of a rotation matrix R, if the quaternion's is M and the turn M' R; [10, 4 * 9].
_OF_TURNS = np.einsum(
    'pkj,aij->paki',
    _OF_PRODUCTS.reshape(10, 3, 3),
    np.concatenate([0.5 * _CROSS.reshape(3, 3, 3).swapaxes(1, 2), np.eye(3)[None]]),
).reshape(10, 36)
# Below this [rad] by the first terms of a series; a sine below that says nothing of the axis.
_SMALL, _NO_AXIS = 1e-3, 1e-9


def turns_from_quaternions(starts, ends):
    """
    Return the turns from quaternions [B, 4] to rotation matrices [B, 9], row after row.

    As rotation vectors [B, 3], at most half a turn, and their derivative [B, 3, 9] by the entries
    of the matrices, as far as these go on being rotations. Quaternions may have any length. The
    derivative loses its digits within a millionth of half a turn, where the turn itself jumps.
    """
    first, second = _PARTS
    products = starts[:, first] * starts[:, second] / _squares(starts)[:, None]
    slope = (products @ _OF_TURNS).reshape(-1, 4, 9)
    found = (slope @ ends[..., None])[..., 0]
    axis, cosine = found[:, :3], 0.5 * (found[:, 3] - 1)
    sine = _lengths(axis)
    angle = np.arctan2(sine, cosine)
    is_small = (angle < _SMALL) | (sine < _NO_AXIS)
    safe, square = np.where(is_small, 1.0, sine), angle * angle
    # The turn is its axis times this factor, which changes with the cosine.
    factor = np.where(is_small, 1 + square / 6, angle / safe)
    bend = np.where(is_small, (1 + 0.4 * square) / -3, (angle * cosine - sine) / safe**3)
    by_entries = factor[:, None, None] * slope[:, :3]
    by_entries += (0.5 * bend[:, None] * axis)[..., None] * slope[:, 3:]
    return axis * factor[:, None], by_entries


def inverse_right_jacobians(vectors):
    """Return the derivatives [B, 3, 3] of log(R exp(d)) by d at d = 0, for log(R) = vectors."""
    angle = _lengths(vectors)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    factor = np.where(
        small, 1 / 12 + angle**2 / 720, 1 / safe**2 - 1 / (2 * safe * np.tan(safe / 2))
    )
    skew = (vectors @ _CROSS).reshape(-1, 3, 3)
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
        - _cross(starts[:, 1:], ends[:, 1:])
    )
    sine = _lengths(imaginary)
    scale = np.where(sine > 1e-9, 2 * np.arctan2(sine, np.abs(real)) / np.maximum(sine, 1e-300), 2)
    return imaginary * (scale * np.where(real < 0, -1.0, 1.0))[:, None]


def turns_of_quaternions(q):
    """Return what small changes of unit quaternions [B, 4] turn them by, in their frames."""
    w, x, y, z = 2 * q.T
    return _filled((-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w))


def _cross(a, b):
    """Return the cross products [B, 3] of vectors [B, 3]; of few in a quarter of NumPy's time."""
    return a[:, _NEXT] * b[:, _AFTER] - a[:, _AFTER] * b[:, _NEXT]


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
