"""A screen for frozen sensors, joints that do not move, and samples that come too often."""

from collections import deque
from dataclasses import dataclass
import math

import numpy as np

from ..records import Status

# Standard deviations beyond which a change of a measurement counts as motion.
_MOTION = 10.0
# A change of efforts by this share of the largest one should cause motion.
_EFFORT_SPAN = 0.05


@dataclass
class _Track:
    """A sensor's latest values, since when they are constant, and when it moved last."""

    values: tuple
    since_ns: int
    anchor: tuple
    moved_ns: int | None = None
    used_ns: int | None = None


@dataclass
class _EffortTrack:
    """Efforts of one source: the largest, since when they are zero, and those of late."""

    largest: tuple
    zero_since_ns: tuple
    recent: deque


class Screen:
    """
    Decides by samples in the order of time alone which of them are used.

    A pose that repeats to the last bit is frozen, since motion capture is never without noise.
    Encoders and pixels at rest do repeat. They count as frozen only while another sensor shows
    that the same joints move, and as without motion while the torque on these joints changes.

    It computes with Python's numbers, which are faster than arrays for a few joints; this runs
    every sample.
    """

    def __init__(self, channels, inputs, patience_ns, counts):
        """
        Begin without samples.

        channels: name -> `Channel`; inputs: name -> `InputChannel`; patience_ns: time for which
        encoders may repeat although something moves; counts: `Counts`.
        """
        self._channels, self._inputs = channels, inputs
        self._motions = {name: (_MOTION * c.scale).tolist() for name, c in channels.items()}
        self._patience_ns, self._counts = patience_ns, counts
        self._tracks, self._efforts = {}, {}

    def clear(self):
        """Forget all samples."""
        self._tracks, self._efforts = {}, {}

    def snapshot(self):
        """Return the state of all sensors, as plain values."""
        tracks = {name: tuple(vars(track).values()) for name, track in self._tracks.items()}
        efforts = {
            name: (track.largest, track.zero_since_ns, tuple(track.recent))
            for name, track in self._efforts.items()
        }
        return tracks, efforts

    def restore(self, saved):
        """Continue from a snapshot."""
        tracks, efforts = saved
        self._tracks = {name: _Track(*values) for name, values in tracks.items()}
        self._efforts = {
            name: _EffortTrack(largest, zero_since_ns, deque(recent))
            for name, (largest, zero_since_ns, recent) in efforts.items()
        }

    def passed(self, samples):
        """Return the samples to use, and count the others."""
        return [sample for sample in samples if self._passes(sample)]

    def _passes(self, sample):
        if sample.sensor in self._inputs:
            self._follow_effort(sample)
            return True
        status = self._status(sample, self._channels[sample.sensor])
        if status is not Status.USED:
            self._counts.add(sample.sensor, status)
        return status is Status.USED

    def _status(self, sample, channel):
        """Return the `Status` of a measurement."""
        track, stamp = self._tracks.get(sample.sensor), sample.stamp_ns
        values = tuple(sample.values.tolist())
        if track is None:
            self._tracks[sample.sensor] = _Track(values, stamp, values, used_ns=stamp)
            return Status.USED
        if not _are_same(values, track.values):
            track.values, track.since_ns = values, stamp
            if _any_farther(values, track.anchor, self._motions[sample.sensor]):
                track.anchor, track.moved_ns = values, stamp
            # A value that was missing at first joins the anchor when it comes.
            if any(map(math.isnan, track.anchor)):
                pairs = zip(track.anchor, values)
                track.anchor = tuple(new if math.isnan(old) else old for old, new in pairs)
        elif not channel.may_repeat:
            return Status.FROZEN
        elif stamp - track.since_ns > self._patience_ns:
            if self._others_move(sample, channel):
                return Status.FROZEN
            if self._torque_changes(channel, track.since_ns):
                return Status.TORQUE_WITHOUT_MOTION
        if track.used_ns is not None and stamp - track.used_ns < channel.least_interval_ns:
            return Status.THINNED
        track.used_ns = stamp
        return Status.USED

    def _others_move(self, sample, channel):
        """Tell whether another sensor shows motion that only this sensor's joints can cause."""
        return any(
            name != sample.sensor
            and set(self._channels[name].joints) <= set(channel.joints)
            and self._moved_lately(track, sample.stamp_ns)
            for name, track in self._tracks.items()
        )

    def _moved_lately(self, track, stamp):
        return track.moved_ns is not None and stamp - track.moved_ns <= self._patience_ns

    def _torque_changes(self, channel, since_ns):
        """Tell whether a torque on one of a sensor's joints has changed since a stamp."""
        for name, track in self._efforts.items():
            rows = [i for i, j in enumerate(self._inputs[name].joints) if j in channel.joints]
            recent = [values[rows] for at, values in track.recent if at > since_ns]
            if rows and len(recent) > 1:
                with np.errstate(invalid='ignore'):
                    span = np.max(recent, 0) - np.min(recent, 0)
                    if (span > _EFFORT_SPAN * np.array(track.largest)[rows]).any():
                        return True
        return False

    def _follow_effort(self, sample):
        """Record efforts, and count a remark on those that stay zero while the robot moves."""
        channel, stamp = self._inputs[sample.sensor], sample.stamp_ns
        track = self._efforts.get(sample.sensor)
        if track is None:
            limits = tuple(0.0 if math.isnan(limit) else limit for limit in channel.limits)
            track = _EffortTrack(limits, (stamp,) * channel.size, deque())
            self._efforts[sample.sensor] = track
        values = sample.values.tolist()
        # With NaN as its second argument, `max` returns the first.
        track.largest = tuple(map(max, track.largest, map(abs, values)))
        track.recent.append((stamp, sample.values))
        while track.recent[0][0] < stamp - self._patience_ns:
            track.recent.popleft()
        if 0.0 not in values:
            track.zero_since_ns = (stamp,) * channel.size
            return
        pairs = zip(values, track.zero_since_ns)
        track.zero_since_ns = tuple(since if value == 0 else stamp for value, since in pairs)
        before = stamp - self._patience_ns
        zero = [j for j, since in zip(channel.joints, track.zero_since_ns) if since < before]
        if any(self._joint_moves(joint, stamp) for joint in zero):
            self._counts.add(sample.sensor, Status.ZERO_EFFORT)

    def _joint_moves(self, joint, stamp):
        """Tell whether a sensor has lately shown motion of a joint."""
        return any(
            joint in self._channels[name].joints and self._moved_lately(track, stamp)
            for name, track in self._tracks.items()
        )


def _are_same(values, others):
    """Tell whether numbers are equal; NaN equals NaN."""
    return all(a == b or (a != a and b != b) for a, b in zip(values, others))


def _any_farther(values, others, limits):
    """Tell whether any number differs from the other by more than its limit."""
    return any(abs(a - b) > limit for a, b, limit in zip(values, others, limits))
