"""
Re-stamping of late clocks, between the stream and the estimator.

The delay of a clock is known only after some seconds of data. From then on its samples are
stamped earlier by whole milliseconds and go into the frames in which they were taken; frames wait
until these samples have come. All of it is a function of frames, so that a replay does the same.
"""

from bisect import bisect_left
from dataclasses import dataclass, field, replace

from ..records import Frame, Sample

# A delay is known well enough when its standard deviation is below this part of a frame; stamps
# move by whole units, milliseconds.
_KNOWN_PART, _UNIT_NS, _NANO = 0.25, 1_000_000, 1e9


def restamped(sample, by_ns):
    """Return a sample with a stamp that is earlier by `by_ns`."""
    moved_ns = sample.moved_ns + by_ns
    return Sample(sample.sensor, sample.stamp_ns - by_ns, sample.values, moved_ns)


@dataclass(frozen=True)
class Restamping:
    """
    The delays of clocks that may be late, and the frames and samples that wait because of them.

    moved: sensor -> by how many nanoseconds its samples are stamped earlier; margins: sensor ->
    by how many more it may be late, as long as its delay is unknown; held: frames that wait,
    without samples of these sensors; loose: those samples, as far as they have no frame;
    opened_ns: beginning of the stretch of the latest frame; done_ns, period_ns: end and length
    of the latest frame that was returned by `take`.
    """

    moved: dict = field(default_factory=dict)
    margins: dict = field(default_factory=dict)
    held: tuple = ()
    loose: tuple = ()
    opened_ns: int | None = None
    done_ns: int | None = None
    period_ns: int = 0

    def take(self, frame):
        """
        Return (`Restamping`, complete frames, samples of no frame) after one more frame.

        Samples that may have been taken before their stretch belong to no frame, since the
        efforts that acted then are unknown.
        """
        if not self.moved:
            return self, [frame], []
        if frame.is_last:
            ready, before, after = filled(self.held, self.loose)
            period_ns = _length(ready, self.period_ns)
            done = replace(self, held=(), loose=(), period_ns=period_ns)
            return done, ready, [*before, *after]
        # A clock that was set back is no reason to wait any more.
        is_back = bool(self.held) and frame.start_ns < self.held[-1].end_ns
        wait_ns = max(0, *self.moved.values())
        until_ns = frame.end_ns - wait_ns
        count = sum(is_back or f.end_ns <= until_ns for f in self.held)
        waiting = (*self.held, _with(frame, [s for s in frame.samples if not self._is_late(s)]))
        count += count == len(self.held) and frame.end_ns <= until_ns
        opens = frame.start_ns == frame.end_ns
        opened_ns = frame.end_ns if opens or self.opened_ns is None else self.opened_ns
        late = [restamped(s, self.moved[s.sensor]) for s in frame.samples if self._is_late(s)]
        is_sure = [s.stamp_ns - self.margins[s.sensor] >= opened_ns for s in late]
        loose = (*self.loose, *(s for s, sure in zip(late, is_sure) if sure))
        outside = [s for s, sure in zip(late, is_sure) if not sure]
        ready, before, loose = filled(waiting[:count], loose)
        done_ns = ready[-1].end_ns if ready else self.done_ns
        if done_ns is not None:
            before += [s for s in loose if s.stamp_ns <= done_ns]
            loose = [s for s in loose if s.stamp_ns > done_ns]
        if is_back:
            outside, loose = [*outside, *loose], []
        after = replace(
            self,
            held=waiting[count:],
            loose=tuple(loose),
            opened_ns=opened_ns,
            done_ns=done_ns,
            period_ns=_length(ready, self.period_ns),
        )
        return after, ready, [*before, *outside]

    def end(self):
        """Return a last frame after which nothing waits any more, None where nothing does."""
        if not self.held and not self.loose:
            return None
        end_ns = self.held[-1].end_ns if self.held else self.done_ns
        return Frame(end_ns, end_ns, (), is_last=True)

    def left_to_move(self, sensor, delay, sd):
        """
        Return by how many nanoseconds more the samples of a sensor are to be stamped earlier.

        delay, sd [s]: posterior mean and standard deviation of the delay of its clock. Less than
        a frame is not worth moving: it stays a parameter of the estimator.
        """
        left = delay * _NANO - self.moved[sensor]
        if sd * _NANO > _KNOWN_PART * self.period_ns or abs(left) < self.period_ns:
            return 0
        return round(left / _UNIT_NS) * _UNIT_NS

    def move(self, sensor, by_ns, frames):
        """
        Return (`Restamping`, frames, samples of no frame) with a clock later by `by_ns`.

        frames: the latest complete frames, as far as their samples can still be moved.
        """
        taken = [s for f in frames for s in f.samples if s.sensor == sensor]
        waiting = [s for s in self.loose if s.sensor == sensor]
        others = [s for s in self.loose if s.sensor != sensor]
        samples = [restamped(sample, by_ns) for sample in (*taken, *waiting)]
        bare = [_with(f, [s for s in f.samples if s.sensor != sensor]) for f in frames]
        frames, before, loose = filled(bare, samples)
        before += [s for s in loose if s.stamp_ns <= self.done_ns]
        loose = [s for s in loose if s.stamp_ns > self.done_ns]
        after = replace(
            self,
            moved=self.moved | {sensor: self.moved[sensor] + by_ns},
            margins=self.margins | {sensor: 0},
            loose=(*others, *loose),
        )
        return after, tuple(frames), before

    def _is_late(self, sample):
        return sample.sensor in self.moved


def _length(frames, period_ns):
    """Return the length [ns] of the last of some frames, `period_ns` where there are none."""
    return frames[-1].end_ns - frames[-1].start_ns if frames else period_ns


def filled(frames, samples):
    """Return (frames with the samples that fall into them, samples before, samples after)."""
    if not frames:
        return [], [], list(samples)
    ends, places, before, after = [frame.end_ns for frame in frames], {}, [], []
    for sample in samples:
        index = bisect_left(ends, sample.stamp_ns)
        if index == len(ends):
            after.append(sample)
        elif sample.stamp_ns <= frames[index].start_ns and sample.stamp_ns < ends[index]:
            # In a gap between two stretches, or before the first of these frames.
            before.append(sample)
        else:
            places.setdefault(index, []).append(sample)
    full = [_with(f, [*f.samples, *places[k]]) if k in places else f for k, f in enumerate(frames)]
    return full, before, after


def _with(frame, samples):
    """Return a frame with these samples, in the order of (stamp, sensor)."""
    if len(samples) == len(frame.samples):
        return frame
    order = sorted(samples, key=lambda sample: (sample.stamp_ns, sample.sensor))
    return replace(frame, samples=tuple(order))
