"""
Rows of torques from samples as they come: how joints move, which samples count, means over blocks.

Motion is that of encoders alone (`motion`). What cannot be used is left out here: samples that are
far off those about them, joints that rest or creep, and blocks of which nobody knows the motion.
"""

from dataclasses import replace

import numpy as np

from .elasticity import Samples
from .joint_motion import learn_motion_noise, smoothed_motion
from .regression import block_rows

# Rows are means over this time.
BLOCK_NS = 20_000_000
# How many samples are looked at to learn how joints move, at most; of those at either end nobody
# knows whether they are far off.
MOST_SAMPLES, _AT_AN_END = 600, 4
# A joint moves where its positions span more than this [rad or m], and more than so many standard
# deviations of its encoder.
_MOVED, _MOVED_SDS = 1e-3, 8.0
# A joint rests that is slow for so long, and is not used for a while after it: friction has not
# settled [s]. Nor is one used that is slower than so many times slow, where joints that stick are
# not what the smoothed sign of Coulomb friction makes of them.
_REST, _AFTER_REST, _CREEP = 0.1, 0.03, 1.5
# With jitter that is so many times as large or small all else is learned anew, too.
_ANOTHER_JITTER = 3.0
# Motion that misses half of its samples by so many deviations does not follow them.
_MISSED_SDS = 2.0
# Samples of encoders and of torques that are so many deviations off are left out.
_OUTLIER_SDS = 8.0
# Where more than this part of the samples about a block is off nobody knows the motion: a clock
# that was set back mixes two of them.
_MOST_OFF = 0.1
# Positions [rad or m], and torques by their limits, beyond this are no measurements, and rows of
# motion that is no motion spoil sums for good from here on.
_MOST, _MOST_OF_ROWS = 1e6, 1e9


def have_moved(positions, encoder_sd):
    """Tell whether any joint has moved within samples [N, n]."""
    low = np.where(np.isfinite(positions), positions, np.inf).min(0)
    high = np.where(np.isfinite(positions), positions, -np.inf).max(0)
    return bool((high - low > np.maximum(_MOVED, _MOVED_SDS * encoder_sd)).any())


def learned_noise(times, positions, encoder_sd, before, is_jitter_known=False):
    """
    Return the `MotionNoise` of the newest samples; before: that of earlier ones, None if none.

    times [N] ns; positions [N, n]; encoder_sd [n]: as the sensors say; is_jitter_known: whether
    that of stamps stays as it was.
    """
    inner = slice(-MOST_SAMPLES, -_AT_AN_END)
    times, positions = times[inner][_AT_AN_END:], positions[inner][_AT_AN_END:]
    seconds = 1e-9 * (times - times[0])
    jitter = 0.0 if before is None else before.jitter
    known = encoder_sd, jitter, is_jitter_known
    noise = learn_motion_noise(seconds, positions, *known)
    sound = _sound(positions, smoothed_motion(seconds, positions, noise)[0])
    if not np.array_equal(sound, positions, equal_nan=True):
        noise = learn_motion_noise(seconds, sound, *known)
    if before is None or not is_alike_jitter(noise.jitter, before.jitter):
        return noise
    # Motion that was slow of late may be fast again.
    return replace(noise, jerk=np.maximum(noise.jerk, before.jerk))


def followed_motion(seconds, positions, noise):
    """
    Return (motion [3, N, n] of a window of samples, `MotionNoise` by which it was smoothed).

    Where the motion does not follow its samples, joints move in another way than was learned.
    """
    motion = smoothed_motion(seconds, positions, noise)
    missed = 1.48 * _median(np.abs(positions - motion[0]) / noise.deviations(seconds, positions))
    is_off = missed > _MISSED_SDS
    if not is_off.any():
        return motion, noise
    new = learn_motion_noise(seconds, _sound(positions, motion[0]), None, noise.jitter, True)
    # How good encoders are is learned from longer times, but soon.
    jerk = np.where(is_off, np.maximum(new.jerk, noise.jerk), noise.jerk)
    noise = replace(noise, jerk=jerk)
    return smoothed_motion(seconds, positions, noise), noise


def without_outliers(seconds, positions, motion, noise, encoder_sd):
    """
    Return (motion without samples that are far off, `away`, whether it is known).

    away [N, n]: positions [N, n] less the motion, zero where there is none. motion [3, N, n]:
    that is smoothed from all positions, at seconds [N].
    """
    usual = np.maximum(noise.deviations(seconds, positions), encoder_sd)
    off = np.abs(positions - motion[0]) > _OUTLIER_SDS * usual
    is_known = not off.mean(0).max() > _MOST_OFF
    if off.any() and is_known:
        motion = smoothed_motion(seconds, np.where(off, np.nan, positions), noise)
    away = np.where(np.isfinite(positions) & ~off, positions - motion[0], 0.0)
    return motion, away, is_known


def rows_between(model, known, torques, window, bounds, late):
    """
    Return ((`Rows` of the torques of some time, motion [3, K, n] at them), `Samples`).

    None instead of either where there are none. model: `TorqueModel`; known: (`Fit` by which loads
    are known, geometry); torques: (stamps [M], torques [M, J], known wrenches [M, W]) of that
    time; late [M, J, lags]: later torques; window: (stamps [N], how far positions [N, n] are from
    the motion, motion [3, N, n]); bounds: when that time begins and ends.
    """
    (fit, geometry), (times, away, motion), (from_ns, until_ns) = known, window, bounds
    stamps, torques, wrenches = torques
    if not len(stamps):
        return None, None
    origin = times[0]
    seconds = 1e-9 * (times - origin)
    at = motion_at(1e-9 * (stamps - origin), seconds, motion)
    if wrenches.shape[1]:
        # Whoever pushes the robot saves its motors as much.
        pushes = fit.scales * model.pushes(at[0], wrenches)
        torques, late = torques + pushes, late + pushes[..., None]
    moves = are_moving(seconds, motion[1][:, model.velocities], model.slowest)
    nearest = np.searchsorted(seconds, 1e-9 * (stamps - origin)).clip(0, len(seconds) - 1)
    usable = np.isfinite(torques) & moves[nearest]
    usable[stamps < times[0]] = False
    if not usable.any():
        return None, None
    columns = model.columns(*at, fit.standard, geometry)
    left = torques - fit.scales * (columns @ fit.standard)
    usable &= ~_outliers(left, usable, model.limits)
    numbers = np.searchsorted(stamps, np.arange(from_ns, until_ns, BLOCK_NS))
    blocks = np.unique(np.append(numbers, len(stamps)))
    sizes = np.diff(blocks)[:, None]
    visited = np.stack([np.add.reduceat(part, blocks[:-1], axis=0) / sizes for part in at])
    new = (times >= from_ns) & (times < until_ns)
    samples = Samples(times[new], away[new], motion[1, new], stamps, left, usable, at[0], at[2])
    return (block_rows(columns, torques, usable, blocks, late), visited), samples


def motion_at(times, samples, motion):
    """
    Return positions, velocities, accelerations [3, M, n] at times [M] between samples [N].

    motion [3, N, n]: at the samples. Accelerations are straight between them.
    """
    before = np.clip(np.searchsorted(samples, times, side='right') - 1, 0, len(samples) - 2)
    step = samples[before + 1] - samples[before]
    since = (times - samples[before])[:, None]
    q, v, a = (part[before] for part in motion)
    jerk = (motion[2][before + 1] - a) / step[:, None]
    return np.stack(
        [
            q + since * (v + since * (a / 2 + since * jerk / 6)),
            v + since * (a + since * jerk / 2),
            a + since * jerk,
        ]
    )


def are_moving(samples, speeds, slowest):
    """
    Return [N, J] where a joint moves, at samples [N] s with speeds [N, J].

    Whoever turns round is slow for a moment only. Who is slow for longer may stick, and so may who
    has just begun to move.
    """
    is_slow = np.abs(speeds) < slowest
    since = np.where(is_slow, np.inf, samples[:, None])
    before = np.where(is_slow, -np.inf, samples[:, None])
    # The last instant of motion before each sample, and the first one after it.
    before = np.maximum.accumulate(before, 0)
    after = np.minimum.accumulate(since[::-1], 0)[::-1]
    before = np.maximum(before, samples[0])
    rests = is_slow & (np.minimum(after, samples[-1]) - before > _REST)
    last_rest = np.maximum.accumulate(np.where(rests, samples[:, None], -np.inf), 0)
    return (samples[:, None] - last_rest > _AFTER_REST) & (np.abs(speeds) > _CREEP * slowest)


def is_alike_jitter(jitter, before):
    """Tell whether the jitter of stamps is about what it was before."""
    return max(jitter, before) < _ANOTHER_JITTER * min(jitter, before) or jitter == before


def _sound(positions, smoothed):
    """Return positions [N, n] with NaN where one is far off what is smoothed, beside others."""
    away = np.abs(positions - smoothed)
    usual = 1.48 * _median(away)
    with np.errstate(invalid='ignore'):
        return np.where((away > _OUTLIER_SDS * usual) & (usual > 0), np.nan, positions)


def _median(values):
    """Return the medians of columns, zero of one without a number."""
    if np.isfinite(values).all():
        return np.median(values, 0)
    is_any = np.isfinite(values).any(0)
    result = np.zeros(values.shape[1])
    result[is_any] = np.nanmedian(values[:, is_any], 0)
    return result


def _outliers(residuals, usable, limits):
    """Return [M, J] where a torque is far off from all others about it."""
    # What is not usable is sorted to the end.
    order, middle = np.where(usable, residuals, np.inf), np.maximum(usable.sum(0) - 1, 0) // 2
    joints = np.arange(len(limits))
    with np.errstate(invalid='ignore'):
        centre = np.sort(order, 0)[middle, joints]
        spread = 1.48 * np.sort(np.abs(order - centre), 0)[middle, joints]
        return np.abs(residuals - centre) > _OUTLIER_SDS * np.maximum(spread, 5e-3 * limits)


def sound_reading(model, reading):
    """
    Return (`Reading` without numbers that nothing can be computed with, whether there were any).

    What is not a number is missing, and no fault; what is infinite or beyond all sizes is.
    """
    refused = False

    def checked(entries, most):
        nonlocal refused
        found = []
        for stamp_ns, values in entries:
            beyond = np.abs(values) > most
            if beyond.any():
                refused, values = True, np.where(beyond, np.nan, values)
            found.append((stamp_ns, values))
        return tuple(found)

    positions = checked(reading.positions, _MOST)
    # Behind the torques of joints come the numbers of wrenches, which have no limits of their own.
    torques = checked(reading.torques, _MOST * model.limits.max())
    return replace(reading, positions=positions, torques=torques), refused


def sound_rows(rows):
    """Tell whether all numbers of `Rows` are such that sums of their squares are of use."""
    parts = rows.columns, rows.torques, rows.shares
    return all((np.abs(part) < _MOST_OF_ROWS).all() for part in parts)
