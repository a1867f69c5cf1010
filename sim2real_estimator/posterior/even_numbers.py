"""Whole numbers that grow almost evenly, such as stamps, as bytes that compress well."""

import numpy as np

_BYTES = 8


def packed(numbers):
    """
    Return (first, unit, usual step, uint8 [8 (N - 1)]) of whole numbers [N >= 1] in rising order.

    The bytes are by how many units each step is unlike the usual one, all lowest bytes first,
    then all second ones, and so on: what is above the jitter is zero throughout.
    """
    steps = np.diff(numbers)
    # Many clocks tell whole microseconds only.
    unit = max(int(np.gcd.reduce(steps)), 1)
    steps = steps // unit
    usual = int(np.median(steps)) if len(steps) else 0
    rest = steps - usual
    # Small ones of either sign become small ones without a sign.
    unsigned = ((rest << 1) ^ (rest >> 63)).astype('<i8')
    planes = unsigned.view(np.uint8).reshape(-1, _BYTES).T
    return int(numbers[0]), unit, usual, np.ascontiguousarray(planes).ravel()


def unpacked(first, unit, usual, content):
    """Return the numbers [N] that were `packed`."""
    planes = content.reshape(_BYTES, -1).T
    # No step is so unlike the usual one that the highest bit says anything.
    unsigned = np.ascontiguousarray(planes).view('<i8').ravel().astype(np.int64)
    rest = (unsigned >> 1) ^ -(unsigned & 1)
    return np.cumsum(np.concatenate([[first], (rest + usual) * unit]))
