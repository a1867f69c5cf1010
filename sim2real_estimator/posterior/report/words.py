"""Numbers and times in the words of a report."""

from datetime import datetime, timezone
import math

_NANO = 1e9


def number(value, digits=3):
    """Return a number with some digits that count, without an exponent where that is short."""
    if not math.isfinite(value):
        return 'unknown'
    if value and not 1e-4 <= abs(value) < 1e5:
        return f'{value:.{digits - 1}e}'
    power = math.floor(math.log10(abs(value))) if value else 0
    return f'{value:.{max(0, digits - 1 - power)}f}'


def with_sd(mean, sd):
    """Return a mean and its standard deviation, with the digits that the latter leaves."""
    if not (sd > 0 and math.isfinite(sd) and math.isfinite(mean)):
        return number(mean)
    size = max(abs(mean), sd)
    power = math.floor(math.log10(size)) if size > 0 else 0
    shift = power if power < -3 or power > 4 else 0
    decimals = max(0, 1 - math.floor(math.log10(sd)) + shift)
    text = f'{mean / 10**shift:.{decimals}f} ± {sd / 10**shift:.{decimals}f}'
    return f'({text})e{shift}' if shift else text


def span(low, high):
    """Return an interval, both ends with as many digits as tell them apart."""
    width = high - low
    if not (width > 0 and math.isfinite(width)):
        return number(low)
    digits = 3 + max(0, math.floor(math.log10(max(abs(low), abs(high)) / width)))
    return f'{low:.{digits}g} to {high:.{digits}g}'


def date(stamp_ns):
    """Return when a stamp was; those of a simulation begin in 1970."""
    return f'{datetime.fromtimestamp(stamp_ns / _NANO, timezone.utc):%Y-%m-%d %H:%M:%S} UTC'


def seconds(duration_ns):
    """Return a duration."""
    return f'{duration_ns / _NANO:.2f} s'


def count(size, singular, plural=None):
    """Return a number of things."""
    return f'{size} {singular if size == 1 else plural or singular + "s"}'
