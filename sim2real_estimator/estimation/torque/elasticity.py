"""
Elastic joints, with a spring between motor and link, by their frequency response.

The motor of a rigid joint has the same inertia at all frequencies: the torque T beyond gravity and
friction is P = M a. Behind a spring the part b of the inertia resonates,

    T / P = 1 - b + b / (1 - (f / f0)^2),

at the frequency f0 at which the link swings while the motor is held: the ratio rises above one and
falls below zero beyond f0 (the antiresonance of a two-mass drive). Noise of encoders biases the
ratio towards zero, in proportion to what it adds to the power of P. So cross spectra of short
windows are summed and regressed on both effects; the test is by how many standard deviations b
differs from zero. Positions are measured ones, since smoothing takes away more of P the higher f.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...reported_events import ElasticJoint

# Length and spacing of windows [ns], tapered by this power of a sine. Chosen, as all below, on
# arms in MuJoCo, where shorter windows blur resonances and longer ones are rare.
_WINDOW_NS, _EVERY_NS, _POWER = 800_000_000, 200_000_000, 4
# Frequencies [Hz]: friction acts on lower ones, and encoders do not resolve higher ones.
_FREQUENCIES = np.arange(3.0, 24.5)
# Longest time between samples [s].
_STEP = 0.5 / _FREQUENCIES[-1]
# Candidates of f0 [Hz], and the damping ratio, which stands for the spread of modes of several
# joints.
_RESONANCES, _DAMPING = np.arange(5.0, 16.1, 0.5), 0.08
# Share of a window in which a joint has to move.
_MOVING = 0.95
# The learned variance of encoders is too small by about this factor, with this standard deviation;
# and the part of it by which it is wrong at single frequencies, since quantization is not white.
_ENCODER, _ENCODER_SPREAD, _COLOURED = 1.5, 1.0, 0.3
# Jitter of stamps is not white, and is known to a factor of two where it is more than this [s];
# its effect on accelerations is allowed for at up to twice the learned one. By rigid arms in
# MuJoCo whose stamps jitter by 1 ms; the effect of springs may be taken for jitter of .1 ms.
_JITTER = 1.5e-4
# Prior standard deviation of the factor by which the inertia is wrong.
_WRONG_INERTIA = 0.1
# Windows overlap: their information counts so many times less, and so many make one independent
# one.
_OVERLAP, _PER_INDEPENDENT = 1.5, 3.0
# Fewest windows of a test. An arm is elastic from this root of the sum over its joints of squares
# of b in standard deviations; a joint of it from the next number on, and if b is between the last
# two. Rigid arms never reached more than 4.5, elastic ones 4.85 and more but for two that are
# missed.
_FEWEST, _ARM, _JOINT, _PARTS = 20, 4.7, 2.0, (0.3, 1.5)
# T / P of an elastic joint falls below this, as a mean over so many adjacent frequencies between
# f0 and so many times f0: neither noise of encoders nor friction makes it negative.
_AGAINST, _ADJACENT, _ABOVE = -0.02, 3, 2.0
# Windows that are kept, half a minute of motion: the robot may have changed since earlier ones.
_KEPT = 150


# Inertias are known well enough to tell elastic joints after so many seconds of rows.
_INERTIAS_KNOWN = 3.0
# An elastic arm is reported if it is found at so many posteriors in a row: a rigid one in MuJoCo
# was at two.
_CONFIRMED = 4


@dataclass(frozen=True)
class Samples:
    """
    Measurements and the smoothed motion, in the order of time.

    stamps [N]: of encoders [ns]; away [N, n]: measured less smoothed positions, zero where none
    was measured; velocities [N, n]: smoothed; torque_stamps [M]; residuals [M, J]: measured less
    predicted torques; usable [M, J]; positions, accelerations [M, n]: smoothed.
    """

    stamps: np.ndarray
    away: np.ndarray
    velocities: np.ndarray
    torque_stamps: np.ndarray
    residuals: np.ndarray
    usable: np.ndarray
    positions: np.ndarray
    accelerations: np.ndarray

    def then(self, others):
        """Return these and others that follow."""
        return Samples(*map(np.concatenate, zip(vars(self).values(), vars(others).values())))

    def between(self, begin_ns, end_ns):
        """Return those from one time to another."""
        encoders = slice(*np.searchsorted(self.stamps, (begin_ns, end_ns)))
        torques = slice(*np.searchsorted(self.torque_stamps, (begin_ns, end_ns)))
        parts = tuple(vars(self).values())
        return Samples(
            *(part[encoders] for part in parts[:3]), *(part[torques] for part in parts[3:])
        )


@dataclass(frozen=True)
class Spectra:
    """
    A window at F frequencies, transformed.

    accelerations [F, n]; torques [F, J]: beyond gravity and friction; position [n]: in the middle;
    is_moving [J]: joints that count; noise [F, n, n]: covariance of accelerations by the noise of
    encoders and the jitter of their stamps, which is common to all joints.
    """

    accelerations: np.ndarray
    torques: np.ndarray
    position: np.ndarray
    is_moving: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class Response:
    """The `Spectra` of the newest windows, and `Samples` of the next one from begin_ns."""

    windows: tuple = ()
    samples: Samples | None = None
    begin_ns: int | None = None

    def plus(self, samples, noise, inertias):
        """
        Return this with the windows that `Samples` complete.

        noise: `MotionNoise` of the encoders; inertias: function from positions [K, n] to the mass
        matrix [K, J, n] with which residuals were computed.
        """
        if self.samples is not None and self.samples.stamps[-1] < samples.stamps[0]:
            waiting, begin_ns = self.samples.then(samples), self.begin_ns
        else:
            waiting, begin_ns = samples, int(samples.stamps[0])
        windows = self.windows
        while begin_ns + _WINDOW_NS <= waiting.stamps[-1]:
            window = waiting.between(begin_ns, begin_ns + _WINDOW_NS)
            found = _spectra(window, begin_ns, noise, inertias)
            windows = (*windows, *found)[-_KEPT:]
            begin_ns += _EVERY_NS
            waiting = waiting.between(begin_ns, np.iinfo(np.int64).max)
        return Response(windows, waiting, begin_ns)

    def resonances(self, inertias):
        """
        Return (f0 [Hz], b, b in standard deviations, least T / P above f0), all [J].

        inertias: as above, as they are known now.
        """
        names = ('accelerations', 'torques', 'position', 'is_moving', 'noise')
        by_name = (np.stack([getattr(window, name) for window in self.windows]) for name in names)
        accelerations, torques, positions, is_moving, noise = by_name
        by_acceleration = inertias(positions)
        motion = accelerations @ np.swapaxes(by_acceleration, 1, 2)
        added = by_acceleration[:, None]
        added = ((added @ noise) * added).sum(-1)
        parts = (torques * motion.conj()).real, np.abs(motion) ** 2, np.abs(torques) ** 2, added
        # Joint by joint, then window by window.
        parts = ((part * is_moving[:, None]).transpose(2, 0, 1) for part in parts)
        return _regressed(*parts, is_moving.sum(0))

    def elastic(self, inertias):
        """
        Return the resonances of joints [J] [Hz], NaN of rigid ones.

        A spring acts on all joints that move its link: they are judged together.
        """
        frequencies, parts, scores, least = self.resonances(inertias)
        is_spring = (parts > _PARTS[0]) & (parts < _PARTS[1]) & (least < _AGAINST)
        scores = np.where(is_spring, np.maximum(scores, 0.0), 0.0)
        is_elastic = (scores > _JOINT) & (np.sqrt((scores**2).sum()) > _ARM)
        return np.where(is_elastic, frequencies, np.nan)


def with_samples(model, state, samples):
    """Return the `TorqueState` with more `Samples`, None where there are none."""
    if samples is None or state.used < _INERTIAS_KNOWN:
        return state
    inertias = _inertias(model, state.fit)
    return replace(state, response=state.response.plus(samples, state.noise, inertias))


def with_elastic_joints(model, state, report):
    """Return the `TorqueState` with joints that are elastic, each reported once."""
    if not state.response.windows:
        return state
    found = state.response.elastic(_inertias(model, state.fit))
    found = np.where(state.fit.noise.explained, found, np.nan)
    times_elastic = 0 if np.isnan(found).all() else state.times_elastic + 1
    state = replace(state, times_elastic=times_elastic)
    if times_elastic < _CONFIRMED:
        return state
    elastic = np.where(np.isnan(state.elastic), found, state.elastic)
    for row in np.flatnonzero(np.isnan(state.elastic) & ~np.isnan(elastic)):
        report.events += (ElasticJoint(model.joints[row], float(elastic[row])),)
    return replace(state, elastic=elastic)


def _inertias(model, found):
    """Return the function from positions [K, n] to the mass matrix [K, J, n] of a `Fit`."""

    def inertias(positions):
        return found.scales[:, None] * model.inertias(positions, found.standard)

    return inertias


def _shapes():
    """Return T / P less one of a spring behind which all inertia is, [resonances, frequencies]."""
    ratio = _FREQUENCIES / _RESONANCES[:, None]
    return (1 / (1 - ratio**2 + 2j * _DAMPING * ratio)).real - 1


_SHAPES = _shapes()


def _regressed(cross, motion, torque, noise, number):
    """
    Return (f0, b, b in standard deviations, least T / P above f0), all [J].

    Of K windows, [J, K, F], zero where one does not count: cross: real part of the cross spectrum
    of T and P; motion, torque, noise: power of P, of T, and of the noise of encoders in P; number
    [J]: of windows that count.
    """
    sums = cross.sum(1), motion.sum(1), torque.sum(1), noise.sum(1)
    # The part of T that is not in phase with P is noise.
    squares = np.maximum(sums[2] - sums[0] ** 2 / np.maximum(sums[1], 1e-300), 0.0)
    variance = _OVERLAP * sums[1] * squares / np.maximum(number, 1.0)[:, None] / 2
    variance = variance + (_COLOURED * sums[3]) ** 2 + 1e-300
    rigid = np.maximum(sums[1] - _ENCODER * sums[3], 0.0)
    columns = np.empty((len(_RESONANCES), *rigid.shape, 3))
    columns[..., 0] = _SHAPES[:, None] * rigid
    columns[..., 1] = _WRONG_INERTIA * rigid
    columns[..., 2] = _ENCODER_SPREAD * sums[3]
    weighted = np.swapaxes(columns / variance[..., None], 2, 3)
    # The priors of all three coefficients are standard normal.
    covariance = np.linalg.inv(weighted @ columns + np.eye(3))
    beyond = cross - motion + _ENCODER * noise
    found = (covariance @ (weighted @ beyond.sum(1)[..., None]))[..., 0]
    scores = found[..., 0] / np.sqrt(covariance[..., 0, 0])
    scores[:, number < _FEWEST] = 0.0
    best, joints = np.argmax(scores, 0), np.arange(len(number))
    found, covariance = found[best, joints], covariance[best, joints]
    # Sandwich variance over windows, so that a few in which the model is wrong do not decide.
    share = motion / np.maximum(sums[1][:, None], 1e-300)
    explained = share * (columns[best, joints] @ found[..., None])[:, None, :, 0]
    scores_of_windows = (beyond - explained) @ np.swapaxes(weighted[best, joints], 1, 2)
    scores_of_windows = (scores_of_windows @ covariance)[..., 0]
    spread = np.sqrt(np.maximum(covariance[:, 0, 0], _OVERLAP * (scores_of_windows**2).sum(1)))
    # The variance of few windows is itself uncertain: the normal equivalent of Student's t.
    freedom = np.maximum(number, 1.0) / _PER_INDEPENDENT
    scores = np.sign(found[:, 0]) * np.sqrt(
        freedom * np.log1p((found[:, 0] / spread) ** 2 / freedom)
    )
    scores = np.where(number < _FEWEST, 0.0, scores)
    ratio = np.lib.stride_tricks.sliding_window_view(
        sums[0] / np.maximum(sums[1], 1e-300), _ADJACENT, 1
    ).mean(-1)
    middle = _FREQUENCIES[_ADJACENT // 2 : -(_ADJACENT // 2)] / _RESONANCES[best][:, None]
    least = np.where((middle > 1) & (middle <= _ABOVE), ratio, np.inf).min(1)
    return _RESONANCES[best], found[:, 0], scores, least


def _spectra(window, begin_ns, noise, inertias):
    """Return (`Spectra`,) of a window of `Samples`, () where it cannot be used."""
    stamps = window.stamps, window.torque_stamps
    if min(map(len, stamps)) < 2 or max(_longest_step(s, begin_ns) for s in stamps) > _STEP:
        return ()
    is_moving = window.usable.mean(0) >= _MOVING
    if not is_moving.any():
        return ()
    position = window.positions[len(window.positions) // 2]
    # Accelerations are not measured: integration by parts moves both derivatives to the window.
    _, twice = _kernels(window.stamps, begin_ns)
    once, _ = _kernels(window.torque_stamps, begin_ns)
    smoothed = once @ window.accelerations
    torques = once @ np.where(window.usable, window.residuals, 0.0)
    torques = torques + smoothed @ inertias(position[None])[0].T
    gain = np.abs(twice) ** 2
    # A wrong stamp displaces all joints at once, by their velocities.
    allowed = np.clip(noise.jitter / _JITTER, 1.0, 2.0)
    shifts = allowed * noise.jitter * window.velocities
    added = gain.sum(1)[:, None, None] * np.diag(noise.sd**2)
    added = added + np.swapaxes(gain[..., None] * shifts, 1, 2) @ shifts
    accelerations = smoothed + twice @ window.away
    return (Spectra(accelerations, torques, position, is_moving.astype(float), added),)


def _longest_step(stamps, begin_ns):
    """Return the longest time without a sample in a window [s]."""
    return 1e-9 * np.diff(stamps, prepend=begin_ns, append=begin_ns + _WINDOW_NS).max()


def _kernels(stamps, begin_ns):
    """Return (w, w'') at samples [F, N], times their spacing; w: tapered waves."""
    times = 1e-9 * (stamps - begin_ns)
    turn = np.pi / (1e-9 * _WINDOW_NS)
    sine, cosine = np.sin(turn * times), np.cos(turn * times)
    taper = sine**_POWER
    slope = _POWER * turn * sine ** (_POWER - 1) * cosine
    curve = _POWER * turn**2 * ((_POWER - 1) * sine ** (_POWER - 2) * cosine**2 - taper)
    rates = 2 * np.pi * _FREQUENCIES[:, None]
    wave = np.exp(-1j * rates * times) * np.gradient(times)
    return wave * taper, wave * (curve - rates**2 * taper - 2j * rates * slope)
