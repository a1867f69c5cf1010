"""
The motion of joints from encoders alone: a smoother driven by white jerk.

Each joint is a chain of position, velocity and acceleration whose jerk is white noise (Rauch, Tung
and Striebel 1965; solved here as one banded system for all samples of a window). The intensity
of the jerk and the noise of the encoder are learned by marginal likelihood. The smoothed motion is
the mean given samples before and a little after, so that its error is uncorrelated with the
estimate (a Berkson error): regressing torques on it does not attenuate parameters.

In the order of an update: `without_spikes`, `with_learned_noise`, `followed_motion`,
`without_outliers`.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpbsv, dpbtrf, dpbtrs

from ...reported_events import NoiseQuestioned, StampsJitter

# How many samples the noise is learned from, at most, and how many of them at either end are left
# out, because it is not known whether they are outliers.
MOST_SAMPLES, _AT_AN_END = 600, 4
# The noise is learned after so many seconds of motion, later every so many seconds, and sooner
# where joints have begun to move in another way. Jitter of stamps takes longer to learn than all
# else and changes less: it is learned every so many seconds.
_LEARNED_AT, _LEARNED_EVERY, _LEARNED_AGAIN = (0.3, 0.6, 1.0, 2.0, 5.0), 10.0, 1.0
_JITTER_LEARNED_EVERY = 5.0
# How long samples are kept to learn from [ns], and the fewest that suffice.
REMEMBERED_NS, _FEWEST_TO_LEARN = 4 * 10**9, 24
# The learned noise of encoders is compared with the configured one after so many seconds of motion
# and reported if it is larger or smaller by this factor.
_COMPARED_AT, REPORTED_FACTOR = 2.0, 3.0
# Jitter of stamps is reported from this standard deviation on [s].
_NOTABLE_JITTER = 1e-4
# A joint moves where its positions span more than this [rad or m], and more than so many standard
# deviations of its encoder.
_MOVED, _MOVED_SDS = 1e-3, 8.0
# Where jitter has changed by this factor all other noise is learned anew, too.
_ANOTHER_JITTER = 3.0
# The smoothed motion does not follow its samples if their median residual is so many deviations.
_MISSED_SDS = 2.0
# Samples that are so many deviations off are outliers.
_OUTLIER_SDS = 8.0
# Where more than this part of the samples of a window are outliers the motion is unknown: after a
# clock was set back two motions are mixed.
_MOST_OFF = 0.1
# Candidates of jerk intensity over encoder variance, in units of the spacing of samples. Below the
# least one a window of samples is a parabola, and its equations are ill-conditioned.
_RATIOS = tuple(10.0 ** np.arange(-8.0, 6.1, 0.5))
# No encoder is better than this [rad or m].
_LEAST_SD = 2e-7
# Prior standard deviation of the logarithm of an encoder's noise about the configured one.
_SD_SPREAD = np.log(10.0)
# Fewest samples of a joint to learn its noise, and to smooth its motion.
_FEWEST, _FEWEST_TO_SMOOTH = 8, 4
# Stamps that are closer than this part of the usual spacing count as so far apart: information
# goes with one over the fifth power of the step; below a twelfth equations are ill-conditioned.
_LEAST_STEP = 0.1
# Jitter of stamps is learned from so many joints. Candidates are these multiples of an encoder's
# noise at the joint's usual speed; it is evident where twice the log likelihood gains so much.
_JITTER_JOINTS, _JITTERS, _EVIDENT_JITTER = 4, (0.7, 2.0, 6.0, 20.0, 60.0), 20.0
# Speeds for the effect of jitter are differences over this time [s].
_ROUGHLY = 0.04
# A spike differs from the median of so many samples about it by more than so many times the
# distance of the samples next to the median, and more than so many standard deviations of its
# encoder.
_ABOUT, _SPREADS, _DEVIATIONS = 7, 3.0, 8.0
# Where samples are too close together for so little jerk, and equations cannot be solved, they are
# tried with so many times as much; a joint whose equations have no solution at all rests.
_MORE_JERK = (1.0, 1e2, 1e4, 1e6, 1e8)
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
    Noise of the motion and of the encoders.

    jerk [n]: intensity of white jerk [rad^2/s^5 or m^2/s^5]; sd [n]: of encoders [rad or m];
    jitter: standard deviation of the time between a sample and its stamp [s], common to all
    joints, which displaces each of them by that time its velocity.
    """

    jerk: np.ndarray
    sd: np.ndarray
    jitter: float = 0.0

    def deviations(self, times, positions):
        """Return standard deviations [N, n] of samples [N, n] at times [N] s, jitter included."""
        if self.jitter == 0:
            return np.broadcast_to(self.sd, positions.shape)
        return self.sd * np.sqrt(1 + (self.jitter / self.sd * _speeds(times, positions)) ** 2)


def without_spikes(positions, sd):
    """
    Return positions [N, n] with NaN in place of spikes.

    sd [n]: configured, of encoders. A spike disturbs the smoothed motion about it, and makes
    encoders look noisy. Samples at either end are not checked.
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


def with_learned_noise(model, state, seconds, report):
    """
    Return the `TorqueState` with the noise of motion learned anew where that is due.

    seconds: length of the new samples [s]. Noise that differs from the configured one, and jitter
    of stamps, are reported once.
    """
    times, positions = state.motion
    before = state.noise
    if have_moved(positions[times >= times[-1] - REMEMBERED_NS], model.encoder_sd):
        state = _learned_if_due(model, replace(state, moved=state.moved + seconds))
    if not state.is_noise_compared and state.learned >= _COMPARED_AT:
        report.events += questioned_noise(model, state.noise)
        state = replace(state, is_noise_compared=True)
    if before is not None and not is_similar_jitter(before.jitter, state.noise.jitter):
        # The frequency responses collected so far were computed with another jitter.
        state = state.without_responses()
        if state.noise.jitter > _NOTABLE_JITTER:
            report.events += (StampsJitter(float(state.noise.jitter)),)
    return state


def _learned_if_due(model, state):
    """Return the `TorqueState` with its noise learned, if enough motion has passed."""
    times, positions = state.motion
    marks = [*_LEARNED_AT, state.learned + _LEARNED_EVERY]
    due = next((mark for mark in marks if mark > state.learned), None)
    if state.is_noise_outdated:
        due = min(due, state.learned + _LEARNED_AGAIN)
    if state.moved < due or len(times) < _FEWEST_TO_LEARN:
        return state
    before, now = (t // _JITTER_LEARNED_EVERY for t in (state.learned, state.moved))
    is_jitter_known = state.learned >= _COMPARED_AT and before == now
    noise = learned_noise(times, positions, model.encoder_sd, state.noise, is_jitter_known)
    return replace(state, noise=noise, learned=state.moved, is_noise_outdated=False)


def have_moved(positions, encoder_sd):
    """Tell whether any joint moves within samples [N, n]."""
    low = np.where(np.isfinite(positions), positions, np.inf).min(0)
    high = np.where(np.isfinite(positions), positions, -np.inf).max(0)
    return bool((high - low > np.maximum(_MOVED, _MOVED_SDS * encoder_sd)).any())


def questioned_noise(model, noise):
    """Return the event of every sensor whose noise is far from the configured one."""
    found = []
    for name, places in model.encoders.items():
        learned = float(np.median(noise.sd[places]))
        factor = learned / float(np.median(model.encoder_sd[places]))
        if not 1 / REPORTED_FACTOR <= factor <= REPORTED_FACTOR:
            found.append(NoiseQuestioned(name, '', factor, learned))
    return tuple(found)


def is_similar_jitter(jitter, before):
    """Tell whether jitter of stamps has hardly changed."""
    return max(jitter, before) < _ANOTHER_JITTER * min(jitter, before) or jitter == before


def learned_noise(times, positions, encoder_sd, before, is_jitter_known=False):
    """
    Return the `MotionNoise` of the newest samples; before: that of earlier ones, None if none.

    times [N] ns; positions [N, n]; encoder_sd [n]: as configured; is_jitter_known: whether the
    jitter of stamps stays as it was.
    """
    inner = slice(-MOST_SAMPLES, -_AT_AN_END)
    times, positions = times[inner][_AT_AN_END:], positions[inner][_AT_AN_END:]
    seconds = 1e-9 * (times - times[0])
    jitter = 0.0 if before is None else before.jitter
    known = encoder_sd, jitter, is_jitter_known
    noise = learn_motion_noise(seconds, positions, *known)
    cleaned = _without_far_off(positions, smoothed_motion(seconds, positions, noise)[0])
    if not np.array_equal(cleaned, positions, equal_nan=True):
        noise = learn_motion_noise(seconds, cleaned, *known)
    if before is None or not is_similar_jitter(noise.jitter, before.jitter):
        return noise
    # Motion that is slow just now may become fast again.
    return replace(noise, jerk=np.maximum(noise.jerk, before.jerk))


def followed_motion(seconds, positions, noise):
    """
    Return (smoothed motion [3, N, n] of a window of samples, `MotionNoise` that was used).

    Where the motion does not follow its samples, joints move with more jerk than was learned.
    """
    motion = smoothed_motion(seconds, positions, noise)
    missed = 1.48 * _median(np.abs(positions - motion[0]) / noise.deviations(seconds, positions))
    is_off = missed > _MISSED_SDS
    if not is_off.any():
        return motion, noise
    new = learn_motion_noise(
        seconds, _without_far_off(positions, motion[0]), None, noise.jitter, True
    )
    # Only jerk: the noise of encoders is learned from more samples, soon.
    jerk = np.where(is_off, np.maximum(new.jerk, noise.jerk), noise.jerk)
    noise = replace(noise, jerk=jerk)
    return smoothed_motion(seconds, positions, noise), noise


def without_outliers(seconds, positions, motion, noise, encoder_sd):
    """
    Return (motion smoothed without outliers, `away`, whether the motion is known).

    away [N, n]: positions [N, n] less the motion, zero where there is none; motion [3, N, n]:
    smoothed from all positions, at seconds [N].
    """
    usual = np.maximum(noise.deviations(seconds, positions), encoder_sd)
    off = np.abs(positions - motion[0]) > _OUTLIER_SDS * usual
    is_known = not off.mean(0).max() > _MOST_OFF
    if off.any() and is_known:
        motion = smoothed_motion(seconds, np.where(off, np.nan, positions), noise)
    away = np.where(np.isfinite(positions) & ~off, positions - motion[0], 0.0)
    return motion, away, is_known


def _without_far_off(positions, smoothed):
    """Return positions [N, n] with NaN in place of outliers about the smoothed ones."""
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


def smoothed_motion(times, positions, noise):
    """
    Return positions, velocities and accelerations [N, n] at times, given all samples of a window.

    times [N] s, irregular as they are; positions [N, n], NaN where a sample lacks a joint; noise:
    `MotionNoise`.
    """
    spacing = float(np.median(np.diff(times)))
    dynamics = _dynamics_bands(np.maximum(np.diff(times) / spacing, _LEAST_STEP))
    count, result = len(times), np.empty((3, *positions.shape))
    weights = np.isfinite(positions).astype(float)
    if noise.jitter > 0:
        weights *= (noise.sd / noise.deviations(times, positions)) ** 2
    for joint, column in enumerate(positions.T):
        is_there = np.isfinite(column)
        if is_there.sum() < _FEWEST_TO_SMOOTH:
            # A joint that is not measured rests where it was measured last, or at zero.
            result[:, :, joint] = 0.0
            result[0, :, joint] = column[is_there][-1] if is_there.any() else 0.0
            continue
        origin, right = column[is_there][0], np.zeros((count, 3))
        right[:, 0] = weights[:, joint] * np.where(is_there, column - origin, 0.0)
        ratio = max(noise.jerk[joint] * spacing**5 / noise.sd[joint] ** 2, _RATIOS[0])
        for more in _MORE_JERK:
            bands = dynamics / (more * ratio)
            bands[-1, ::3] += weights[:, joint]
            _, states, status = dpbsv(bands, right.ravel(), overwrite_ab=True)
            if not status:
                break
        else:
            states = np.zeros(3 * count)
        states = states.reshape(count, 3)
        states[:, 0] += origin
        result[:, :, joint] = states.T
    result[1] /= spacing
    result[2] /= spacing**2
    return result


def learn_motion_noise(times, positions, expected=None, jitter=0.0, is_jitter_known=False):
    """
    Return the `MotionNoise` of samples in which joints move, by marginal likelihood.

    times [N] s; positions [N, n], NaN where a sample lacks a joint; expected [n]: configured
    standard deviations of the encoders, None: unknown; jitter: of stamps, as learned before [s];
    is_jitter_known: whether to leave it as it is. A joint that stands still all the time gets the
    median of the others.
    """
    spacing = float(np.median(np.diff(times)))
    steps = np.maximum(np.diff(times) / spacing, _LEAST_STEP)
    is_there = np.isfinite(positions)
    origins = positions[is_there.argmax(0), range(positions.shape[1])]
    values = np.where(is_there, positions - origins, 0.0)
    is_moving = (is_there.sum(0) >= _FEWEST) & (np.ptp(values, 0) > 0)
    likelihood = _Likelihood(steps, values, is_there, expected)
    places, variances = (
        np.zeros(positions.shape[1], dtype=int),
        np.full(positions.shape[1], np.nan),
    )
    moving = np.flatnonzero(is_moving)
    for group in _seen_together(is_there, moving):
        places[group], variances[group] = likelihood.of_group(group)
    speeds = _speeds(times, positions)
    if not is_jitter_known:
        jitter = _likeliest_jitter(likelihood, moving, speeds, (places, variances), jitter)
    if jitter > 0:
        for joint in moving:
            place, _, variance, _ = likelihood.with_jitter(joint, places[joint], speeds[:, joint])
            places[joint], variances[joint] = place, variance
    jerk = np.array(_RATIOS)[places] * variances / spacing**5
    sd = np.sqrt(variances)
    for values, usual in ((jerk, 1.0), (sd, 1e-5)):
        known = values[np.isfinite(values)]
        values[np.isnan(values)] = np.median(known) if len(known) else usual
    return MotionNoise(jerk, sd, jitter)


def _likeliest_jitter(likelihood, joints, speeds, without, before):
    """
    Return the standard deviation of the jitter of stamps [s], zero if there is none.

    By the joints that move fastest, whose samples scatter in proportion to their speed. joints:
    that move; speeds [N, n]; without: (numbers of ratios, variances) [n] of no jitter; before: the
    one learned before, which is kept if the evidence is weak.
    """
    usual = (speeds[:, joints] ** 2).mean(0)
    fastest, found, evidence_against = joints[np.argsort(-usual)[:_JITTER_JOINTS]], [], 0
    for joint in fastest:
        place = without[0][joint]
        none = likelihood.score(joint, place)[0]
        _, score, _, jitter = likelihood.with_jitter(joint, place, speeds[:, joint])
        if none - score > _EVIDENT_JITTER:
            found.append(jitter)
        elif before > 0:
            shape = before / np.sqrt(without[1][joint]) * speeds[:, joint]
            evidence_against += likelihood.climb(joint, place, shape)[1] - none > _EVIDENT_JITTER
    # A single joint may scatter with its speed for other reasons.
    if len(found) >= min(2, len(fastest)) and found:
        return float(np.median(found))
    return 0.0 if evidence_against > len(fastest) / 2 else before


def _seen_together(is_there, joints):
    """Yield groups of joints that are measured in the same samples; is_there [N, n]."""
    while len(joints):
        are_together = (is_there[:, joints] == is_there[:, joints[:1]]).all(0)
        yield joints[are_together]
        joints = joints[~are_together]


def _speeds(times, positions):
    """
    Return rough speeds [N, n] of joints: differences over `_ROUGHLY` seconds.

    times [N] s; positions [N, n], NaN where a sample lacks a joint.
    """
    count = len(times)
    span = max(float(np.median(np.diff(times))), 1e-6)
    reach = min(max(int(round(_ROUGHLY / span / 2)), 1), max((count - 1) // 2, 1))
    place = np.arange(count)
    before, after = np.maximum(place - reach, 0), np.minimum(place + reach, count - 1)
    if not np.isfinite(positions).all():
        positions = positions.copy()
        for column in positions.T:
            is_there = np.isfinite(column)
            if is_there.any():
                column[~is_there] = np.interp(times[~is_there], times[is_there], column[is_there])
            else:
                column[:] = 0.0
    steps = np.maximum(times[after] - times[before], span)
    return np.abs(positions[after] - positions[before]) / steps[:, None]


class _Likelihood:
    """
    The marginal likelihood of samples, by the ratio of jerk intensity to encoder variance.

    Scores are minus twice its logarithm, at the likeliest variance. The prior of the first state
    is flat.
    """

    def __init__(self, steps, positions, is_there, expected):
        """
        Take samples.

        steps [N - 1]: between them, in units of the spacing; positions [N, n], relative to the
        first ones, zero where they are missing; is_there [N, n]; expected [n]: standard deviations
        of the encoders, or None.
        """
        self._steps, self._dynamics = steps, _dynamics_bands(steps)
        self._positions, self._is_there = positions, is_there
        self._expected, self._found = expected, {}

    def of_group(self, joints):
        """
        Return (numbers of the likeliest ratios, encoder variances) of joints of a group, [g].

        Joints that are measured in the same samples have the same equations.
        """
        found, last = {}, len(_RATIOS) - 1

        def tried(place):
            if place not in found:
                found[place] = self._scores(joints, place, self._is_there[:, joints[0]])
            return found[place]

        places, variances = np.empty(len(joints), dtype=int), np.empty(len(joints))
        for k in range(len(joints)):

            def score(place, k=k):
                return tried(place)[0][k]

            # Coarse to fine: every fourth one brackets the only maximum.
            best = min(range(0, len(_RATIOS), 4), key=score)
            for step in (2, 1):
                best = min((best, max(best - step, 0), min(best + step, last)), key=score)
            places[k], variances[k] = best, tried(best)[1][k]
        return places, variances

    def score(self, joint, place, shape=None):
        """
        Return (score, encoder variance) of a joint at the ratio of a number.

        shape [N]: additional scatter of samples, over the encoder's noise.
        """
        weights = self._is_there[:, joint].astype(float)
        if shape is not None:
            weights = weights / (1 + shape**2)
        scores, variances = self._scores(np.array([joint]), place, weights)
        return scores[0], variances[0]

    def climb(self, joint, first, shape):
        """Return (number of the likeliest ratio near one, score, encoder variance) of a joint."""
        found, last, best = {}, len(_RATIOS) - 1, int(first)

        def score(place):
            if place not in found:
                found[place] = self.score(joint, place, shape)
            return found[place][0]

        for step in (2, 1):
            before = None
            while best != before:
                before = best
                best = min((best, max(best - step, 0), min(best + step, last)), key=score)
        return best, *found[best]

    def with_jitter(self, joint, place, speeds):
        """
        Return (number of the likeliest ratio, score, encoder variance, jitter) of a joint.

        place: number of the likeliest ratio without jitter; speeds [N].
        """
        if joint in self._found:
            return self._found[joint]
        score, variance = self.score(joint, place)
        best = place, score, variance, 0.0
        usual = max(float(np.sqrt((speeds**2).mean())), 1e-12)
        for ratio in _JITTERS:
            # In units of the encoder's noise at the usual speed.
            place, score, variance = self.climb(joint, place, ratio / usual * speeds)
            if score < best[1]:
                best = place, score, variance, float(ratio / usual * np.sqrt(variance))
            elif best[3]:
                break
        self._found[joint] = best
        return best

    def _scores(self, joints, place, weights):
        """Return scores and encoder variances of joints [g], all with the same weights [N]."""
        count, ratio = len(weights), _RATIOS[place]
        positions = self._positions[:, joints].T
        degrees = max(np.count_nonzero(weights) - 3, 1)
        bands = self._dynamics / ratio
        bands[-1, ::3] += weights
        root, status = dpbtrf(bands, overwrite_ab=True)
        if status:
            # Samples are too close together for so little jerk.
            return [np.inf] * len(joints), np.full(len(joints), _LEAST_SD**2)
        right = np.zeros((len(joints), 3 * count))
        right[:, ::3] = weights * positions
        states = dpbtrs(root, right.T)[0].T.reshape(len(joints), count, 3)
        missed = weights * (positions - states[:, :, 0]) ** 2
        square = missed.sum(1) + _roughness(self._steps, states) / ratio
        variance = np.maximum(square / degrees, _LEAST_SD**2)
        volume = 2 * np.log(root[-1]).sum() + 3 * (count - 1) * np.log(ratio)
        volume -= np.log(weights[weights > 0]).sum()
        score = degrees * np.log(variance) + square / variance + volume
        if self._expected is not None:
            expected = self._expected[joints]
            is_known = np.isfinite(expected)
            usual = np.where(is_known, expected, 1.0)
            away = np.log(variance / usual**2) / (2 * _SD_SPREAD)
            score += np.where(is_known, away, 0.0) ** 2
        return score.tolist(), variance


def _roughness(steps, states):
    """
    Return the sums of squares [n] of the whitened jerk between states.

    steps [N - 1]; states [n, N, 3].
    """
    q, v, a = np.moveaxis(states[:, 1:] - states[:, :-1], -1, 0)
    before = states[:, :-1]
    q = q - steps * (before[..., 1] + steps / 2 * before[..., 2])
    v = v - steps * before[..., 2]
    impulses = np.stack([q * steps**-2.5, v * steps**-1.5, a * steps**-0.5])
    # Whitened by the root of the inverse covariance.
    impulses = _NOISE_ROOT @ impulses.reshape(3, -1)
    return (impulses**2).sum(0).reshape(len(states), -1).sum(1)


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
            # Columns of the next state are three further right.
            bands[5 - (3 + j - i), 3 + j :: 3] += above[:, i, j]
    return bands
