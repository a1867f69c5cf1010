"""Numbers above zero, which are about their coordinates where these are large."""

import numpy as np


def softplus(coordinates, softness):
    """Return values above zero: softness * log(1 + exp(coordinates / softness))."""
    return softness * np.logaddexp(0.0, coordinates / softness)


def inverse_softplus(values, softness):
    """Return the coordinates of values; NaN where these are not above zero."""
    return values + softness * np.log(-np.expm1(-values / softness))
