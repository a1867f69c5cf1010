"""The stream: samples in, in the order of arrival; frames out, in the order of time."""

from dataclasses import dataclass, replace
import math

import numpy as np

from ..errors import ConfigError, DataError
from ..records import Status
from .counts import Counts
from .frame_maker import FrameMaker
from .held_inputs import HeldInputs
from .plans import PlanRecorder, ReferencePlan
from .restamping import restamped
from .screen import Screen
from .time_buffer import TimeBuffer
from .waiting_time import WaitingTime

_NANO = 1e9


@dataclass(frozen=True)
class StreamOptions:
    """
    Times of the stream in seconds of data, never of the wall clock.

    lateness: by how much older than the newest a sample may arrive; jump_back: a stamp that goes
    back further restarts the stream; hold: an effort not renewed for this long is unknown;
    is_steady: whether efforts come at a steady pace, so that one that is overdue is unknown;
    history: longest delay of efforts, which reach from the past into a frame; past: how much
    longer delays may turn out; lead: longest time by which efforts act before their stamp;
    patience: time for which encoders may repeat although torques or poses show motion.
    """

    lateness: float = 0.05
    jump_back: float = 1.0
    hold: float = 0.5
    is_steady: bool = True
    history: float = 0.0
    past: float = 0.0
    lead: float = 0.0
    patience: float = 0.5


class Stream:
    """
    Orders, screens and cuts the samples of all sensors; `counts` says what became of each.

    `TimeBuffer` puts samples into the order of time, `Screen` leaves out those of frozen
    sensors, and `FrameMaker` cuts frames and adds the efforts of `HeldInputs`.
    """

    def __init__(self, channels, inputs, command_count, reference, plan, options=None):
        """
        Begin without samples.

        channels: name -> `Channel` of every sensor; inputs: name -> `InputChannel`;
        command_count: number of efforts of all of these; reference: name of the sensor whose
        stamps are the edges of frames; plan: a `ReferencePlan` or `RecordedPlan`.
        """
        options = options or StreamOptions()
        if reference not in channels:
            raise ConfigError(
                f"there is no sensor '{reference}' to take frames from; "
                f'choose one of {", ".join(sorted(channels))}'
            )
        self.counts, self._reference = Counts(), reference
        # Complete frames from before the clock was set back.
        self._complete = []
        self._channels, self._inputs = dict(channels), dict(inputs)
        self._sizes = {name: c.size for name, c in {**channels, **inputs}.items()}
        lead = _nano(options.lead)
        # Efforts that act before their stamp are buffered with an earlier one.
        self._leads = {name: lead - c.first_ns for name, c in inputs.items()}
        self._buffer = TimeBuffer(
            _nano(options.lateness) + max([0, *self._leads.values()]),
            _nano(options.jump_back),
            {name: c.ahead_ns for name, c in channels.items()}
            | {name: max(-by_ns, 0) for name, by_ns in self._leads.items()},
        )
        self._screen = Screen(channels, inputs, _nano(options.patience), self.counts)
        times = _nano(options.hold), _nano(options.history), _nano(options.past), lead
        held = HeldInputs(inputs, command_count, times, self.counts, options.is_steady)
        self._frames = FrameMaker(reference, plan, held, inputs, self.counts)
        self._waiting_time = self._measured()

    @property
    def recorded_plan(self):
        """The `RecordedPlan` of all frames so far."""
        return self._frames.recorder.plan()

    @property
    def waiting(self):
        """Number of samples that await their frame."""
        return len(self._buffer)

    @property
    def lag(self):
        """Time span of samples that could be cut into frames already, without gaps [s]."""
        floor = self._buffer.floor_ns
        return 0.0 if floor is None else self._waiting_time.before(floor) / _NANO

    @property
    def max_rate(self):
        """The largest rate of frames [1/s]; None where the plan is a recorded one."""
        plan = self._frames.plan
        return plan.max_rate if isinstance(plan, ReferencePlan) else None

    def set_rate(self, max_rate):
        """Set the largest rate of frames from now on, unless the plan is a recorded one."""
        if self.max_rate is not None:
            self._frames.plan = replace(self._frames.plan, max_rate=max_rate)

    def recorded_after(self, bounds, openings):
        """Return the recorded plan after its first bounds and openings, as bytes."""
        return self._frames.recorder.after(bounds, openings)

    def record_after(self, plan):
        """Let the recorded plan continue a `RecordedPlan`."""
        self._frames.recorder = PlanRecorder(plan)

    def snapshot(self, has_plan=True):
        """
        Return the samples that await their frame and the state of all parts.

        They are plain values, arrays and records, from which a stream with the same settings
        continues bit for bit. has_plan: with the recorded plan, which keeps growing.
        """
        parts = (self._buffer, self._screen, self.counts)
        buffer, screen, counts = (part.snapshot() for part in parts)
        snapshots = buffer, screen, self._frames.snapshot(has_plan), counts
        return self._sizes, snapshots, tuple(self._complete)

    def restore(self, saved):
        """Continue from a snapshot; raise a DataError where it is of other sensors."""
        sizes, snapshots, complete = saved
        if sizes != self._sizes:
            raise DataError(
                f'the samples that wait are of {_listed(sizes)}, but this stream takes '
                f'{_listed(self._sizes)}; use the same sensors and efforts'
            )
        parts = (self._buffer, self._screen, self._frames, self.counts)
        for part, snapshot in zip(parts, snapshots):
            part.restore(snapshot)
        self._complete = list(complete)
        self._waiting_time = self._measured()

    def push(self, sample):
        """Buffer a sample; return USED, or the `Status` that says why it is left out."""
        if sample.sensor not in self._sizes:
            raise DataError(
                f"a sample names the sensor '{sample.sensor}', which does not exist; "
                f'there are: {", ".join(sorted(self._sizes))}'
            )
        if np.shape(sample.values) != (self._sizes[sample.sensor],):
            raise DataError(
                f"a sample of '{sample.sensor}' has values of shape {np.shape(sample.values)}, "
                f'but should have ({self._sizes[sample.sensor]},)'
            )
        cleaned, missing = self._cleaned(sample)
        status = Status.NON_FINITE
        if cleaned:
            by_ns = self._leads.get(sample.sensor, 0)
            status = self._buffer.push(restamped(cleaned, by_ns) if by_ns else cleaned)
        if status is Status.JUMPED_BACK:
            self._restart()
        if status is Status.USED:
            if sample.sensor == self._reference:
                self._waiting_time.add(sample.stamp_ns)
            self.counts.add(sample.sensor, Status.MISSING_EFFORT, missing)
        else:
            self.counts.add(sample.sensor, status)
        return status

    def next_frames(self, is_end=False):
        """
        Return the next complete frames, for which no earlier sample can come; [] without any.

        They are those that the samples of one stamp complete, so that the rate may change after
        each. is_end: whether the data have come to their end.
        """
        if self._complete:
            complete, self._complete = self._complete, []
            return complete
        self._frames.end_at(self._newest_ns() if is_end else None)
        if is_end:
            self._buffer.flush()
        while samples := self._buffer.ready():
            if any(sample.sensor == self._reference for sample in samples):
                self._waiting_time.drop_first()
            if frames := self._frames.make(self._screen.passed(samples)):
                return frames
        return self._frames.flush() if is_end else []

    def _newest_ns(self):
        """Return the stamp of the newest sample, as received; None before any."""
        stamps = [
            stamp + self._leads.get(name, 0) for name, stamp in self._buffer.newest().items()
        ]
        return max(stamps, default=None)

    def frames(self):
        """Return all complete frames."""
        return self._all(is_end=False)

    def flush(self):
        """Return all frames left at the end of the data."""
        return self._all(is_end=True)

    def _all(self, is_end):
        frames = []
        while more := self.next_frames(is_end):
            frames += more
        return frames

    def _cleaned(self, sample):
        """Return (sample or None where it has no usable value, number of missing efforts)."""
        values = np.asarray(sample.values, dtype=float)
        if values is sample.values and all(map(math.isfinite, values.tolist())):
            return sample, 0
        if sample.sensor in self._inputs:
            values = np.where(np.isfinite(values), values, np.nan)
            return replace(sample, values=values), int(np.isnan(values).sum())
        if np.isinf(values).any() or np.isnan(values).all():
            return None, 0
        return replace(sample, values=values), 0

    def skip(self, kept):
        """
        Leave out what waits, save the latest samples: the estimator cannot keep up.

        kept: time span of these [s]. They are counted SKIPPED, and the next frame is one after a
        gap.
        """
        floor = self._buffer.floor_ns
        if floor is None:
            return
        for sample in (*self._buffer.drop_before(floor - _nano(kept)), *self._frames.interrupt()):
            self.counts.add(sample.sensor, Status.SKIPPED)
        self._waiting_time = self._measured()

    def _restart(self):
        """Drop the samples that wait, since the clock was set back; the estimate stays."""
        # Complete frames are kept, whether or not `next_frames` was called by now.
        self._complete = self.frames()
        self._screen.clear()
        for sample in (*self._buffer.clear(), *self._frames.clear()):
            self.counts.add(sample.sensor, Status.JUMPED_BACK)
        self._waiting_time = self._measured()

    def _measured(self):
        """Return the `WaitingTime` of the samples in the buffer."""
        return WaitingTime(
            lambda a, b: self._frames.plan.is_gap(a, b), self._buffer.stamps(self._reference)
        )


def _nano(seconds):
    """Return seconds as whole nanoseconds."""
    return round(seconds * _NANO)


def _listed(sizes):
    """Return sensors and the sizes of their samples in words."""
    return ', '.join(f'{name} ({size} values)' for name, size in sorted(sizes.items()))
