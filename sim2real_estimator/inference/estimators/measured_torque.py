"""
The estimator of robots whose torques are measured: online least squares on inverse dynamics.

On a servo-driven robot the servo fixes the motion, and what the model lacks shows in the torque.
So motion comes from encoders alone (`inference.motion`), inverse dynamics predicts the torques from
it, and least squares with learned noise (`inference.torque_regression`) gives the posterior. It is
linear from the first sample on: there is no batch, no start to choose and nothing to hand over.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...records import UpdateReport
from ..mixture import Mixture
from ..motion import learn_motion_noise, MotionNoise, smoothed_motion
from ..torque_regression import begin, block_rows, Fit, fit, Rows, Sums
from .base import AbstractEstimator

_SECOND = 10**9
# Rows are means over this time, and are made this much later, from motion smoothed over a window
# that begins so much before; several at a time.
_BLOCK_NS, _LAG_NS, _CONTEXT_NS = 20_000_000, 100_000_000, 200_000_000
# Residuals of real arms hang together over up to two seconds.
_CORRELATED_NS = 2_000_000_000
_AT_ONCE = 6
# The smoother needs so many samples beside a block, whatever their rate.
_LAG_SAMPLES, _CONTEXT_SAMPLES = 4, 8
# What is kept of the past to learn how joints move [ns], and how many samples are looked at.
_REMEMBERED_NS, _MOST_SAMPLES = 4 * _SECOND, 600
# Seconds of motion after which noise is learned (anew), and how often later on.
_LEARNED_AT, _LEARNED_EVERY = (0.3, 0.6, 1.0, 2.0), 10.0
# A joint moves where its positions span more than this [rad or m], and more than so many standard
# deviations of its encoder.
_MOVED, _MOVED_SDS = 1e-3, 8.0
# A joint rests that is slow for so long, and is not used for a while after it: friction has not
# settled [s]. Nor is one used that is slower than this part of slow.
_REST, _AFTER_REST, _CREEP = 0.1, 0.03, 0.2
# How often the posterior is worked out [ns], and over how much time of rows correlation is judged.
_RENEWED_NS, _RECENT_NS = _SECOND // 2, 30 * _SECOND
# Friction is never known better than this part of it: it is another tomorrow.
_LOSS_FLOOR = 0.05
# Samples of encoders and of torques that are so many deviations off are left out.
_OUTLIER_SDS = 8.0


@dataclass(frozen=True)
class TorqueState:
    """
    All that is carried on.

    motion: ((stamp_ns, positions [n]), ...) of the newest samples, and torques: ((stamp_ns,
    torques [J]), ...) not used yet; until_ns: end of the last block; noise: `MotionNoise`, None
    before any motion; moved, learned: seconds of motion, and of those when noise was learned last;
    sums: of all `Rows`; recent: the newest ones, as a tuple; fit: the posterior; due_ns: when it
    is worked out next; state: (positions, velocities) of the newest block's end.
    """

    fit: Fit
    sums: Sums
    motion: tuple = ()
    torques: tuple = ()
    until_ns: int | None = None
    noise: MotionNoise | None = None
    moved: float = 0.0
    learned: float = 0.0
    recent: tuple = ()
    due_ns: int = 0
    state: tuple | None = None


@dataclass(frozen=True)
class MeasuredTorque(AbstractEstimator):
    """See the module. seed: of nothing, since nothing is drawn."""

    seed: int = 0

    name = 'measured_torque'

    def init(self, problem):
        """Return the state before any data."""
        model = problem.torque
        sums = Sums.none(len(model.joints), len(model.names))
        return TorqueState(begin(model, problem.prior), sums)

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        reading = problem.torque.read(frame)
        events, is_last = (), frame.is_last
        if frame.after_gap and state.motion:
            state, events = self._taken(problem, state, None)
            state = replace(state, motion=(), torques=(), until_ns=None)
        if reading.positions is not None:
            state = replace(state, motion=(*state.motion, reading.positions))
        if reading.torques:
            state = replace(state, torques=(*state.torques, *reading.torques))
        if not state.motion:
            return state, UpdateReport('batch', events=events)
        if state.until_ns is None:
            state = replace(state, until_ns=state.motion[0][0])
        newest = state.motion[-1][0]
        due_ns = state.until_ns + _AT_ONCE * _BLOCK_NS
        enough = len(state.motion) > _LAG_SAMPLES and newest - _LAG_NS >= due_ns
        nis, degrees = 0.0, 0
        if is_last or (enough and state.motion[-1 - _LAG_SAMPLES][0] >= due_ns):
            state, more = self._taken(problem, state, None if is_last else newest)
            events += more
        stage = 'filter' if state.noise is not None and state.sums.number.any() else 'batch'
        return state, UpdateReport(stage, nis, degrees, events)

    def kept_frames(self, state):
        """Return no frames: none is looked at again."""
        return ()

    def with_frames(self, state, frames):
        """Return the state: it holds no frames."""
        return state

    def mixture(self, problem, state):
        """Return the posterior as a `Mixture` of one component."""
        size, found = problem.tangent_size, state.fit
        count = len(found.mean)
        root = np.zeros((1, size + count, size + count))
        floor = np.zeros(count)
        floor[problem.torque.losses] = _LOSS_FLOOR * found.mean[problem.torque.losses]
        root[0, size:, size:] = np.linalg.qr(np.vstack([found.root.T, np.diag(floor)]), 'r').T
        point = problem.neutral.copy()
        if state.state is not None:
            known = np.concatenate(state.state)
            point[: len(known)] = known
        return Mixture(np.zeros(1), point[:, None], found.mean[:, None], root)

    def _taken(self, problem, state, newest_ns):
        """
        Return (state, events) with the blocks that are complete.

        newest_ns: stamp of the newest sample, later ones may come; None: none comes.
        """
        times = np.array([stamp for stamp, _ in state.motion])
        positions = np.array([values for _, values in state.motion])
        state = self._watched(problem, state, times, positions)
        end_ns = int(times[-1]) + 1 if newest_ns is None else newest_ns - _LAG_NS
        whole = (end_ns - state.until_ns) // _BLOCK_NS
        until_ns = state.until_ns + max(int(whole), 0) * _BLOCK_NS
        if newest_ns is None:
            until_ns = end_ns
        if state.noise is None or len(times) < _LAG_SAMPLES + 2:
            return self._trimmed(state, times, until_ns), ()
        first = min(
            np.searchsorted(times, state.until_ns - _CONTEXT_NS),
            max(np.searchsorted(times, state.until_ns) - _CONTEXT_SAMPLES, 0),
        )
        window = slice(first, len(times))
        rows, place = self._rows(
            problem.torque, state, (times[window], positions[window]), until_ns
        )
        if rows is not None:
            recent = _kept((*state.recent, rows))
            state = replace(state, sums=state.sums.plus(rows), recent=recent)
        state = self._trimmed(replace(state, state=place), times, until_ns)
        if rows is None or not state.sums.number.any() or until_ns < state.due_ns:
            return state, ()
        found = fit(
            problem.torque,
            problem.prior,
            state.sums,
            Rows.joined(state.recent),
            state.fit,
            _CORRELATED_NS // _BLOCK_NS,
        )
        events = _events(state, found, problem.torque.joints)
        return replace(state, fit=found, due_ns=until_ns + _RENEWED_NS), events

    def _watched(self, problem, state, times, positions):
        """Return the state with the noise of motion learned, where it is time to."""
        low = np.where(np.isfinite(positions), positions, np.inf).min(0)
        high = np.where(np.isfinite(positions), positions, -np.inf).max(0)
        span = high - low
        moves = span > np.maximum(_MOVED, _MOVED_SDS * problem.torque.encoder_sd)
        if not moves.any():
            return state
        moved = state.moved + 1e-9 * _AT_ONCE * _BLOCK_NS
        state = replace(state, moved=moved)
        marks = [*_LEARNED_AT, state.learned + _LEARNED_EVERY]
        due = next((mark for mark in marks if mark > state.learned), None)
        if moved < due or len(times) < 2 * _CONTEXT_SAMPLES:
            return state
        times, positions = times[-_MOST_SAMPLES:], positions[-_MOST_SAMPLES:]
        noise = learn_motion_noise(1e-9 * (times - times[0]), positions)
        return replace(state, noise=noise, learned=moved)

    def _rows(self, model, state, window, until_ns):
        """Return (`Rows` of the torques up to a stamp or None, motion at the end)."""
        times, positions = window
        origin = times[0]
        seconds = 1e-9 * (times - origin)
        motion = smoothed_motion(seconds, positions, state.noise)
        off = np.abs(positions - motion[0]) > _OUTLIER_SDS * np.maximum(
            state.noise.sd, model.encoder_sd
        )
        if off.any():
            motion = smoothed_motion(seconds, np.where(off, np.nan, positions), state.noise)
        last = np.searchsorted(times, until_ns, side='right') - 1
        place = motion[0, last], motion[1, last]
        used = [(ns, values) for ns, values in state.torques if ns < until_ns]
        if not used:
            return None, place
        stamps = np.array([ns for ns, _ in used])
        torques = np.array([values for _, values in used])
        at = motion_at(1e-9 * (stamps - origin), seconds, motion)
        moves = _moves(seconds, motion[1][:, model.velocities], model.slowest)
        nearest = np.searchsorted(seconds, 1e-9 * (stamps - origin)).clip(0, len(seconds) - 1)
        usable = np.isfinite(torques) & moves[nearest]
        usable[stamps < times[0]] = False
        if not usable.any():
            return None, place
        columns = model.columns(*(part.T for part in at), state.fit.standard)
        predicted = state.fit.scales * (columns @ state.fit.standard)
        usable &= ~_outliers(torques - predicted, usable, model.limits)
        edges = np.arange(state.until_ns, until_ns, _BLOCK_NS)
        numbers = np.searchsorted(stamps, edges)
        bounds = np.unique(np.append(numbers, len(stamps)))
        return block_rows(columns, torques, usable, bounds), place

    @staticmethod
    def _trimmed(state, times, until_ns):
        """Return the state without what is no longer needed."""
        kept = np.searchsorted(times, until_ns - _REMEMBERED_NS)
        torques = tuple(entry for entry in state.torques if entry[0] >= until_ns)
        return replace(state, motion=state.motion[kept:], torques=torques, until_ns=until_ns)


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


def _moves(samples, speeds, slowest):
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


def _outliers(residuals, usable, limits):
    """Return [M, J] where a torque is far off from all others about it."""
    # What is not usable is sorted to the end.
    order, middle = np.where(usable, residuals, np.inf), np.maximum(usable.sum(0) - 1, 0) // 2
    joints = np.arange(len(limits))
    with np.errstate(invalid='ignore'):
        centre = np.sort(order, 0)[middle, joints]
        spread = 1.48 * np.sort(np.abs(order - centre), 0)[middle, joints]
        return np.abs(residuals - centre) > _OUTLIER_SDS * np.maximum(spread, 5e-3 * limits)


def _kept(recent):
    """Return the newest `Rows` of a tuple, as many as correlation is judged by."""
    most, count, kept = _RECENT_NS // _BLOCK_NS, 0, []
    for rows in reversed(recent):
        kept.append(rows)
        count += rows.count
        if count >= most:
            break
    return tuple(reversed(kept))


def _events(state, found, joints):
    """Return what has happened with a new `Fit`."""
    events = ('fitted',) if not state.due_ns else ()
    before, now = state.fit.noise.explained, found.noise.explained
    for joint, was, now_is in zip(joints, before, now):
        if was and not now_is:
            events += (f'not explained: {joint}',)
    return events
