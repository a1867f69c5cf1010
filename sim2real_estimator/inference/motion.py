"""
The motion of joints from encoders alone: a smoother driven by white jerk.

Each joint is a chain position, velocity, acceleration whose jerk is white noise of an intensity
that is learned together with the encoder's noise, by the likelihood of innovations. What is
smoothed is the mean given samples before and a little after, so what remains of the error is
uncorrelated with the estimate (a Berkson error): regressing torque on it attenuates nothing.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpbsv, dpbtrf, dpbtrs

# Jerk intensity over encoder variance, in units of the spacing of samples: what is looked through.
# Below the least a window of samples is a parabola, and its equations are ill-conditioned.
_RATIOS = tuple(10.0 ** np.arange(-8.0, 6.1, 0.5))
# No encoder is better than this [rad or m].
_LEAST_SD = 2e-7
# What is configured of the noise of encoders is right to about this, a logarithm.
_SD_SPREAD = np.log(10.0)
# Fewer samples tell nothing of how a joint moves, or not even where it is.
_FEWEST, _FEWEST_TO_SMOOTH = 8, 4
# Stamps that are closer than this part of the usual spacing count as so far apart: information
# goes with one over the fifth power of the step; below a twelfth equations are ill-conditioned.
_LEAST_STEP = 0.1
# A sample is far off that differs from the median of so many about it by more than so many times
# what lies about that median, and by more than so many standard deviations of its encoder.
_ABOUT, _SPREADS, _DEVIATIONS = 7, 3.0, 8.0
# Transition of (position, velocity, acceleration) over one unit of time, and the covariance that
# white jerk of unit intensity adds.
_FACTORS = np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
_POWERS = np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
_NOISE = np.array([[1 / 20, 1 / 8, 1 / 6], [1 / 8, 1 / 3, 1 / 2], [1 / 6, 1 / 2, 1.0]])
_NOISE_INVERSE = np.linalg.inv(_NOISE)
_NOISE_ROOT = np.linalg.cholesky(_NOISE_INVERSE).T


@dataclass(frozen=True)
class MotionNoise:
    """
    How joints move and how well their encoders see it.

    jerk [n]: intensity of white jerk [rad^2/s^5 or m^2/s^5]; sd [n]: of encoders [rad or m].
    """

    jerk: np.ndarray
    sd: np.ndarray


def learn_motion_noise(times, positions, expected=None):
    """
    Return the `MotionNoise` of samples in which joints move, by marginal likelihood.

    times [N] s; positions [N, n], NaN where a sample lacks a joint; expected [n]: standard
    deviations of the encoders, give or take a factor of ten; None: any. A joint that stands still
    all the time has the median of the others, which is enough to see that it stands still.
    """
    spacing = float(np.median(np.diff(times)))
    steps = np.maximum(np.diff(times) / spacing, _LEAST_STEP)
    jerk, sd = np.full(positions.shape[1], np.nan), np.full(positions.shape[1], np.nan)
    is_there = np.isfinite(positions)
    origins = positions[is_there.argmax(0), range(positions.shape[1])]
    values = np.where(is_there, positions - origins, 0.0)
    is_moving = (is_there.sum(0) >= _FEWEST) & (np.ptp(values, 0) > 0)
    dynamics, waiting = _dynamics_bands(steps), np.flatnonzero(is_moving)
    while len(waiting):
        # Joints that are seen at the same times have the same equations.
        are_alike = (is_there[:, waiting] == is_there[:, waiting[:1]]).all(0)
        group, waiting = waiting[are_alike], waiting[~are_alike]
        usual = None if expected is None else expected[group]
        ratio, variance = _likeliest(
            steps, dynamics, values[:, group].T, is_there[:, group[0]], usual
        )
        jerk[group], sd[group] = ratio * variance / spacing**5, np.sqrt(variance)
    for values, usual in ((jerk, 1.0), (sd, 1e-5)):
        known = values[np.isfinite(values)]
        values[np.isnan(values)] = np.median(known) if len(known) else usual
    return MotionNoise(jerk, sd)


def _likeliest(steps, dynamics, positions, is_there, expected=None):
    """
    Return (ratios, encoder variances), both [n], of the largest marginal likelihoods.

    Of joints with positions [n, N], seen at some samples [N], all of them at the same ones; steps
    [N - 1]: between them, in units of the spacing; dynamics: `_dynamics_bands` of steps; expected
    [n]: standard deviations of the encoders. The first state may be any.
    """
    joints, count = positions.shape
    degrees = max(int(is_there.sum()) - 3, 1)
    right = np.zeros((joints, 3 * count))
    right[:, ::3] = positions
    found = {}

    def tried(place):
        if place not in found:
            ratio = _RATIOS[place]
            bands = dynamics / ratio
            bands[-1, ::3] += is_there
            root, status = dpbtrf(bands, overwrite_ab=True)
            if status:
                raise np.linalg.LinAlgError(f'no motion of encoders: dpbtrf {status}')
            states = dpbtrs(root, right.T)[0].T.reshape(joints, count, 3)
            missed = (positions - states[:, :, 0]) * is_there
            square = (missed**2).sum(1) + _roughness(steps, states) / ratio
            variance = np.maximum(square / degrees, _LEAST_SD**2)
            volume = 2 * np.log(root[-1]).sum() + 3 * (count - 1) * np.log(ratio)
            score = degrees * np.log(variance) + square / variance + volume
            if expected is not None:
                is_known = np.isfinite(expected)
                usual = np.where(is_known, expected, 1.0)
                away = np.log(variance / usual**2) / (2 * _SD_SPREAD)
                score += np.where(is_known, away, 0.0) ** 2
            found[place] = score.tolist(), variance
        return found[place]

    ratios, variances, last = np.empty(joints), np.empty(joints), len(_RATIOS) - 1
    for joint in range(joints):

        def score(place, joint=joint):
            return tried(place)[0][joint]

        # Every fourth first: between them the likelihood has no other maximum.
        best = min(range(0, len(_RATIOS), 4), key=score)
        for step in (2, 1):
            best = min((best, max(best - step, 0), min(best + step, last)), key=score)
        ratios[joint], variances[joint] = _RATIOS[best], tried(best)[1][joint]
    return ratios, variances


def without_spikes(positions, sd):
    """
    Return positions [N, n] with NaN where a sample is far off from those before and after it.

    sd [n]: of encoders, as the sensors say. One that is far off moves all that is smoothed about
    it, and makes encoders look noisy. Those at either end stay.
    """
    if len(positions) < _ABOUT:
        return positions
    about = np.sort(np.lib.stride_tricks.sliding_window_view(positions, _ABOUT, 0), -1)
    middle = _ABOUT // 2
    bound = _SPREADS * (about[..., middle + 1] - about[..., middle - 1]) + _DEVIATIONS * sd
    inner = positions[middle:-middle]
    with np.errstate(invalid='ignore'):
        is_off = np.abs(inner - about[..., middle]) > bound
    if not is_off.any():
        return positions
    found = positions.copy()
    found[middle:-middle][is_off] = np.nan
    return found


def smoothed_motion(times, positions, noise):
    """
    Return positions, velocities and accelerations [N, n] at times, given all samples of a window.

    times [N] s, irregular as they are; positions [N, n], NaN where a sample lacks a joint; noise:
    `MotionNoise`.
    """
    spacing = float(np.median(np.diff(times)))
    dynamics = _dynamics_bands(np.maximum(np.diff(times) / spacing, _LEAST_STEP))
    count, result = len(times), np.empty((3, *positions.shape))
    for joint, column in enumerate(positions.T):
        is_there = np.isfinite(column)
        if is_there.sum() < _FEWEST_TO_SMOOTH:
            # What nobody measures is where it was seen last, or at zero, and rests.
            result[:, :, joint] = 0.0
            result[0, :, joint] = column[is_there][-1] if is_there.any() else 0.0
            continue
        origin = column[is_there][0]
        ratio = max(noise.jerk[joint] * spacing**5 / noise.sd[joint] ** 2, _RATIOS[0])
        bands, right = dynamics / ratio, np.zeros((count, 3))
        values = np.where(is_there, column - origin, 0.0)
        bands[-1, ::3] += is_there
        right[:, 0] = values
        _, states, status = dpbsv(bands, right.ravel(), overwrite_ab=True, overwrite_b=True)
        if status:
            raise np.linalg.LinAlgError(f'no motion of encoders: dpbsv {status}')
        states = states.reshape(count, 3)
        states[:, 0] += origin
        result[:, :, joint] = states.T
    result[1] /= spacing
    result[2] /= spacing**2
    return result


def _roughness(steps, states):
    """
    Return the squared lengths [n] of the unit white jerk between states.

    steps [N - 1]; states [n, N, 3].
    """
    q, v, a = np.moveaxis(states[:, 1:] - states[:, :-1], -1, 0)
    before = states[:, :-1]
    q = q - steps * (before[..., 1] + steps / 2 * before[..., 2])
    v = v - steps * before[..., 2]
    jolts = np.stack([q * steps**-2.5, v * steps**-1.5, a * steps**-0.5])
    # The root of the inverse covariance makes a sum of squares of it.
    jolts = _NOISE_ROOT @ jolts.reshape(3, -1)
    return (jolts**2).sum(0).reshape(len(states), -1).sum(1)


def _dynamics_bands(steps):
    """Return the information of unit white jerk between states, as upper bands [6, 3 N]."""
    count = len(steps) + 1
    transitions = _FACTORS * steps[:, None, None] ** _POWERS
    # In units of a step the covariance is that of one unit, scaled.
    scale = steps[:, None] ** np.array([-2.5, -1.5, -0.5])
    information = scale[:, :, None] * _NOISE_INVERSE * scale[:, None, :]
    forward = np.swapaxes(transitions, 1, 2) @ information
    diagonal = np.zeros((count, 3, 3))
    diagonal[1:] += information
    diagonal[:-1] += forward @ transitions
    above = -forward
    bands = np.zeros((6, 3 * count))
    for i in range(3):
        for j in range(3):
            if j >= i:
                bands[5 - (j - i), j::3] += diagonal[:, i, j]
            # Columns of the next state stand three further right.
            bands[5 - (3 + j - i), 3 + j :: 3] += above[:, i, j]
    return bands
