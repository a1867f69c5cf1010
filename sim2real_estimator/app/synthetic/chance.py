"""Random numbers: each user has a generator of its own, so that none disturbs another."""

import zlib

import numpy as np


def generator(seed, purpose):
    """Return the NumPy generator of a purpose, such as 'noise of encoders'."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])
