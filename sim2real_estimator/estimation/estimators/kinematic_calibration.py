"""
Kinematic calibration: lengths, zeros, mounts and clocks from encoders and motion capture.

Where no effort is known, poses of links still determine the kinematics without any dynamics: a
pose is a function of the positions of joints when it was taken. So nothing is simulated, and least
squares with learned noise (`torque/poses.py`) gives the posterior. The robot may move, or stand in
some postures between which its motion is unknown.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from ...records import Status, UpdateReport
from ...reported_events import Happened, MisfitOver, MisfitTest, SensorTooNoisy
from ..misfits import too_noisy
from ..mixture import Mixture
from ..torque import poses as pose_regression
from ..torque.poses import PoseState
from .base import AbstractEstimator

# Between samples of encoders that are farther apart the motion of joints is unknown [ns].
_GAP_NS = 250_000_000
# Samples of encoders within so short a time, with none about them, are of a posture in which
# joints stood still; a pose belongs to it that is no farther away [ns].
_INSTANT_NS = 50_000_000
# Poses wait for so much of the motion after them, since their delay is unknown [ns].
_AFTER_NS = 150_000_000
# Encoders are kept from so long before the first pose that waits [ns].
_BEFORE_NS = 1_000_000_000
# Noise is judged after so many fits: the first ones are linearized far from their result.
_CONVERGED = 10
# Later than all data [ns].
_NEVER_NS = 2**62


@dataclass(frozen=True)
class CalibrationState:
    """
    All that is carried on.

    poses: `PoseState`; motion: (stamps [N] ns, positions [N, n], NaN where they are missing) of
    encoders, those about the poses that wait; place [n]: newest positions; worst: number of the
    position or turn that was reported to be far noisier than configured, or None; posterior:
    `Mixture` of all this.
    """

    poses: PoseState
    motion: tuple
    place: np.ndarray
    posterior: Mixture
    worst: int | None = None


@dataclass(frozen=True)
class KinematicCalibration(AbstractEstimator):
    """See the module. seed: unused, since nothing is drawn."""

    seed: int = 0

    name = 'kinematic_calibration'

    def init(self, problem):
        """Return the state before any data."""
        poses, count = pose_regression.begin(problem.poses, problem.prior), problem.position_count
        none, place = (np.zeros(0, dtype=np.int64), np.zeros((0, count))), problem.neutral[:count]
        return CalibrationState(poses, none, place, _posterior(problem, poses.fit, place))

    def update(self, problem, state, frame):
        """Return (state, `UpdateReport`) after one more frame."""
        model, before = problem.poses, state.poses
        motion, place = _with_encoders(model, state, frame)
        poses = pose_regression.received(model, before, frame)
        newest_ns = motion[0][-1] - _AFTER_NS if len(motion[0]) else 0
        until_ns = _NEVER_NS if frame.is_last else int(newest_ns)
        poses, lost = _placed(model, poses, motion, until_ns)
        # The last samples are used, however short the time since the last fit.
        now_ns = _NEVER_NS if frame.is_last else frame.end_ns
        poses = pose_regression.renewed(model, poses, now_ns)
        events, worst = (), state.worst
        if poses.fit is not before.fit:
            events = () if before.renewals else (Happened.FITTED,)
            if poses.renewals >= _CONVERGED or frame.is_last:
                worst = too_noisy(np.sqrt(poses.fit.variance), worst)
            if worst is not None and state.worst is None:
                sensor, part, _ = model.titles[worst]
                factor = float(np.sqrt(poses.fit.variance[worst]))
                events += (SensorTooNoisy(sensor, part, factor),)
            elif worst is None and state.worst is not None:
                events += (MisfitOver(MisfitTest.NOISE),)
        if poses.fit is not before.fit or frame.is_last:
            events += pose_regression.events_of(model, before.fit, poses, frame.is_last)
        posterior = _posterior(problem, poses.fit, place)
        needed_ns = min((until_ns, *(stamp for _, stamp, _ in poses.waiting))) - _BEFORE_NS
        kept = motion[0] >= needed_ns
        motion = tuple(part[kept] for part in motion)
        left_out = tuple((name, Status.OUTSIDE.value, number) for name, number in lost.items())
        report = UpdateReport('filter' if poses.renewals else 'batch', events=events)
        state = CalibrationState(poses, motion, place, posterior, worst)
        return state, replace(report, left_out=left_out)

    def interrupted(self, state):
        """Return the state without the samples that wait."""
        motion = tuple(part[:0] for part in state.motion)
        return replace(state, motion=motion, poses=replace(state.poses, waiting=()))

    def kept_frames(self, state):
        """Return no frames: none is used again."""
        return ()

    def with_frames(self, state, frames):
        """Return the state: it holds no frames."""
        return state

    def mixture(self, problem, state):
        """Return the posterior, one normal distribution."""
        return state.posterior


def _with_encoders(model, state, frame):
    """Return (motion, newest place [n]), as in the state, with the encoders of a frame."""
    stamps, positions = state.motion
    found, place = model.joint_positions(frame), state.place
    if not found:
        return state.motion, place
    rows = np.full((len(found), len(place)), np.nan)
    for row, (_, places, values) in zip(rows, found):
        row[places] = values
    stamps = np.concatenate([stamps, [stamp_ns for stamp_ns, _, _ in found]])
    positions = np.concatenate([positions, rows])
    order = np.argsort(stamps, kind='stable')
    for row in rows:
        place = np.where(np.isfinite(row), row, place)
    return (stamps[order], positions[order]), place


def _placed(model, poses, motion, until_ns):
    """
    Return (`PoseState` with the poses before a stamp placed on the motion, sensor -> number lost).

    Poses are lost if the motion is unknown at their time.
    """
    stamps, positions = motion
    delays, lost = model.delays(poses.fit.mean)[0], Counter()
    taken_ns = [stamp - round(1e9 * delays[number]) for number, stamp, _ in poses.waiting]
    due = [each for each, at_ns in zip(poses.waiting, taken_ns) if at_ns < until_ns]
    if not due:
        return poses, lost
    left = tuple(each for each, at_ns in zip(poses.waiting, taken_ns) if at_ns >= until_ns)
    parts = np.split(np.arange(len(stamps)), np.flatnonzero(np.diff(stamps) > _GAP_NS) + 1)
    stretches = [_Stretch.of(stamps[part], positions[part]) for part in parts if len(part)]
    for stretch in filter(None, stretches):
        own = tuple(each for each in due if stretch.holds(each[1] - round(1e9 * delays[each[0]])))
        poses = replace(poses, waiting=own)
        poses = pose_regression.placed(model, poses, until_ns, stretch.at, stretch.known_ns)
        due = [each for each in due if all(each is not other for other in own)]
    lost.update(model.sensors[number].name for number, _, _ in due)
    return replace(poses, waiting=left), lost


@dataclass(frozen=True)
class _Stretch:
    """
    Samples of encoders without a gap: (stamps [N] ns, positions [N]) of each joint.

    first_ns, last_ns: between which poses belong to it; known_ns: between which motion is known.
    """

    joints: tuple
    first_ns: int
    last_ns: int
    known_ns: tuple

    @staticmethod
    def of(stamps, positions):
        """Return the stretch of samples, None where a joint is missing in all of them."""
        there = np.isfinite(positions)
        if not there.any(0).all():
            return None
        joints = tuple((stamps[own], column[own]) for own, column in zip(there.T, positions.T))
        # All joints are known between the last of their first samples and the first of their last.
        first = max(int(own[0]) for own, _ in joints)
        last = min(int(own[-1]) for own, _ in joints)
        if stamps[-1] - stamps[0] > _INSTANT_NS:
            return _Stretch(joints, first, last, (first, last))
        first, last = int(stamps[0]) - _INSTANT_NS, int(stamps[-1]) + _INSTANT_NS
        return _Stretch(joints, first, last, (-_NEVER_NS, _NEVER_NS))

    def holds(self, at_ns):
        """Tell whether a pose of a stamp was taken during this stretch."""
        return self.first_ns <= at_ns <= self.last_ns

    def at(self, stamps):
        """Return the positions [M, n] at stamps [M] ns, constant beyond either end."""
        # Stamps are exact as integers: floats of that size are not.
        return np.stack(
            [np.interp(stamps - own[0], own - own[0], column) for own, column in self.joints], 1
        )


def _posterior(problem, fit, place):
    """Return the `Mixture` of a `PoseFit`, at positions [n]."""
    size, count = problem.tangent_size, len(problem.prior.mean)
    known = pose_regression.conditioned(problem.prior, problem.poses.places, fit)
    root = np.zeros((1, size + count, size + count))
    root[0, size:, size:] = known.root
    point = problem.neutral.copy()
    point[: len(place)] = place
    return Mixture(np.zeros(1), point[:, None], known.mean[:, None], root)
