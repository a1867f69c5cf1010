"""Samples that say nothing, or something that cannot be: frozen sensors and unmoved joints."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..records import Status

# So many standard deviations count as motion.
_MOTION = 10.0
# Efforts that change by this share of the largest one should move something.
_EFFORT_SPAN = 0.05


@dataclass
class _Track:
    """A sensor's latest values, since when they are the same, and when it moved last."""

    values: np.ndarray
    since_ns: int
    anchor: np.ndarray
    moved_ns: int | None = None
    used_ns: int | None = None


@dataclass
class _EffortTrack:
    """Efforts of one source: their range while a sensor stands still, and since when zero."""

    largest: np.ndarray
    zero_since_ns: np.ndarray
    recent: deque


class Screen:
    """
    Looks through samples in the order of time; its answers depend on nothing else.

    A pose that repeats itself to the last bit is a frozen one: motion capture is never without
    noise. Encoders at rest do repeat themselves, so they count as frozen only where something
    that the same joints move keeps moving, and as unmoved where the torque on them changes.
    """

    def __init__(self, channels, inputs, patience_ns, counts):
        """
        Set up the screen.

        channels: name -> `Channel`; inputs: name -> `InputChannel`; patience_ns: how long
        encoders may repeat themselves while they should not; counts: `Counts`.
        """
        self._channels, self._inputs = channels, inputs
        self._patience_ns, self._counts = patience_ns, counts
        self._tracks, self._efforts = {}, {}

    def clear(self):
        """Forget all samples."""
        self._tracks, self._efforts = {}, {}

    def snapshot(self):
        """Return what is remembered of the samples, as plain values."""
        tracks = {name: tuple(vars(track).values()) for name, track in self._tracks.items()}
        efforts = {
            name: (track.largest, track.zero_since_ns, tuple(track.recent))
            for name, track in self._efforts.items()
        }
        return tracks, efforts

    def restore(self, saved):
        """Go on from a snapshot."""
        tracks, efforts = saved
        self._tracks = {name: _Track(*values) for name, values in tracks.items()}
        self._efforts = {
            name: _EffortTrack(largest, zero_since_ns, deque(recent))
            for name, (largest, zero_since_ns, recent) in efforts.items()
        }

    def passed(self, samples):
        """Return the samples to be used; the others are counted."""
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
        """Return what becomes of a measurement."""
        track, stamp = self._tracks.get(sample.sensor), sample.stamp_ns
        if track is None:
            self._tracks[sample.sensor] = _Track(
                sample.values, stamp, sample.values, used_ns=stamp
            )
            return Status.USED
        is_same = np.array_equal(sample.values, track.values, equal_nan=True)
        if not is_same:
            track.values, track.since_ns = sample.values, stamp
            away = np.abs(sample.values - track.anchor)
            if (away > _MOTION * channel.scale).any():
                track.anchor, track.moved_ns = sample.values, stamp
            # A part that was missing at first takes its place in the anchor when it comes.
            track.anchor = np.where(np.isnan(track.anchor), sample.values, track.anchor)
        elif not channel.measures_joints:
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
        """Tell whether something moves that only the joints of a sensor at rest could move."""
        return any(
            name != sample.sensor
            and set(self._channels[name].joints) <= set(channel.joints)
            and self._moved_lately(track, sample.stamp_ns)
            for name, track in self._tracks.items()
        )

    def _moved_lately(self, track, stamp):
        return track.moved_ns is not None and stamp - track.moved_ns <= self._patience_ns

    def _torque_changes(self, channel, since_ns):
        """Tell whether a torque on one of a sensor's joints has changed while they stood still."""
        for name, track in self._efforts.items():
            rows = [i for i, j in enumerate(self._inputs[name].joints) if j in channel.joints]
            recent = [values[rows] for at, values in track.recent if at > since_ns]
            if rows and len(recent) > 1:
                with np.errstate(invalid='ignore'):
                    span = np.max(recent, 0) - np.min(recent, 0)
                    if (span > _EFFORT_SPAN * track.largest[rows]).any():
                        return True
        return False

    def _follow_effort(self, sample):
        """Remember efforts, and remark those that stay zero while the robot moves."""
        channel, stamp = self._inputs[sample.sensor], sample.stamp_ns
        track = self._efforts.get(sample.sensor)
        if track is None:
            limits = np.nan_to_num(np.array(channel.limits, dtype=float), nan=0.0)
            track = _EffortTrack(limits, np.full(channel.size, stamp), deque())
            self._efforts[sample.sensor] = track
        track.largest = np.fmax(track.largest, np.abs(sample.values))
        track.recent.append((stamp, sample.values))
        while track.recent[0][0] < stamp - self._patience_ns:
            track.recent.popleft()
        track.zero_since_ns = np.where(sample.values == 0, track.zero_since_ns, stamp)
        is_zero = stamp - track.zero_since_ns > self._patience_ns
        if any(self._joint_moves(j, stamp) for j, z in zip(channel.joints, is_zero) if z):
            self._counts.add(sample.sensor, Status.ZERO_EFFORT)

    def _joint_moves(self, joint, stamp):
        """Tell whether a sensor that a joint moves has moved lately."""
        return any(
            joint in self._channels[name].joints and self._moved_lately(track, stamp)
            for name, track in self._tracks.items()
        )
