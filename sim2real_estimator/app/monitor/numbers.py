"""Numbers with as many decimals as are known."""

import math

# Beyond these a table gets too wide.
_MOST_DECIMALS, _SMALLEST, _LARGEST = 6, 1e-5, 1e6


def decimals(sd):
    """Return with how many decimals a number is written, of a standard deviation `sd`."""
    if not math.isfinite(sd) or sd <= 0:
        return _MOST_DECIMALS
    return min(max(1 - math.floor(math.log10(sd)), 0), _MOST_DECIMALS)


def written(value, sd):
    """Return a number as text, as precisely as a standard deviation says."""
    if value and not _SMALLEST <= abs(value) < _LARGEST:
        return f'{value:.3g}'
    return f'{value:.{decimals(sd)}f}'
