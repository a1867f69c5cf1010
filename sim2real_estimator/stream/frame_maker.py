"""Frames, cut from samples in the order of time."""

from ..records import Frame, Status
from .plans import Edge, PlanRecorder


class FrameMaker:
    """
    Cuts the stream into frames at the edges of a plan, and puts each sample into its frame.

    A stretch without gaps opens with a frame of length zero, which holds the samples of its first
    instant. Samples outside of all frames, before the first and in gaps, are counted OUTSIDE.
    """

    def __init__(self, reference, plan, held, inputs, counts):
        """
        Begin without frames.

        reference: name of the sensor whose stamps are the edges; plan: a `ReferencePlan` or
        `RecordedPlan`; held: `HeldInputs`; inputs: names of the sources of efforts; counts:
        `Counts`.
        """
        self.plan, self.recorder = plan, PlanRecorder()
        self._reference, self._held, self._inputs = reference, held, frozenset(inputs)
        self._counts, self._has_opened = counts, False
        self._pending, self._bound_ns, self._previous_ns = [], None, None
        self._is_interrupted = False

    def snapshot(self, has_plan=True):
        """Return the plan, the recorded plan and the open frame, as plain values."""
        recorded = self.recorder.plan() if has_plan else PlanRecorder().plan()
        bounds = tuple(self._pending), self._bound_ns, self._previous_ns, self._has_opened
        bounds = (*bounds, self._is_interrupted) if self._is_interrupted else bounds
        return self.plan, recorded, bounds, self._held.snapshot()

    def restore(self, saved):
        """Continue from a snapshot, with the plan of that time."""
        self.plan, recorded, bounds, held = saved
        self.recorder = PlanRecorder(recorded)
        pending, self._bound_ns, self._previous_ns, self._has_opened, *interrupted = bounds
        self._is_interrupted = bool(interrupted)
        self._pending = list(pending)
        self._held.restore(held)

    def end_at(self, stamp_ns):
        """Set the stamp of the last sample at the end of the data; None: more may come."""
        self._held.data_end_ns = stamp_ns

    def make(self, samples):
        """Return the frames that all samples of one instant complete."""
        frames = self._take(samples[0].stamp_ns, samples) if samples else []
        for frame in frames:
            self.recorder.add(frame)
        return frames

    def flush(self):
        """Return the last frame, if there is one, at the end of the data, as a list."""
        frames = self._close()
        for frame in frames:
            self.recorder.add(frame)
        self._leave_out()
        return frames

    def clear(self):
        """End the stretch, and return the samples of the open frame."""
        waiting, self._pending = self._pending, []
        self._bound_ns = self._previous_ns = None
        self._is_interrupted = False
        self._held.clear()
        return waiting

    def interrupt(self):
        """End the stretch without its last frame, as `_take` does where a plan has none there."""
        waiting, self._pending = self._pending, []
        self._bound_ns, self._is_interrupted = None, True
        return waiting

    def _take(self, stamp, samples):
        """Return the frames that the samples of one instant complete."""
        measured = [sample for sample in samples if sample.sensor not in self._inputs]
        is_reference = self._reference in [sample.sensor for sample in measured]
        edge = Edge.INSIDE
        if is_reference:
            edge = self.plan.edge(stamp, self._previous_ns, self._bound_ns)
        frames = []
        if edge is Edge.OPENS and (self._is_interrupted or not self._may_end()):
            # Of a run that had skipped data, nothing of before is used in a later run either.
            self._held.clear()
            self._is_interrupted = False
        elif edge is Edge.OPENS:
            frames = self._close()
        for sample in samples:
            if sample.sensor in self._inputs:
                self._held.put(sample)
        if edge is Edge.OPENS:
            frames.append(self._open(stamp, measured))
        else:
            self._pending += measured
        if is_reference:
            self._previous_ns = stamp
        if edge is Edge.CLOSES:
            frames += self._close()
        if self._bound_ns is None:
            self._leave_out()
        return frames

    def _may_end(self):
        """Tell whether the plan has a frame that ends where the stretch does."""
        return self._previous_ns is None or self.plan.may_end(self._previous_ns)

    def _open(self, stamp, measured):
        """Return the frame of length zero that opens a stretch."""
        self._leave_out()
        if self._bound_ns is not None:
            self._counts.add(self._reference, Status.GAP)
        frame = Frame(
            stamp, stamp, tuple(measured), self._held.between(stamp, stamp), self._has_opened
        )
        self._bound_ns, self._has_opened = stamp, True
        return frame

    def _close(self):
        """Return the frame up to the latest sample of the reference sensor, as a list."""
        start, end = self._bound_ns, self._previous_ns
        if start is None or start == end:
            return []
        samples = tuple(sample for sample in self._pending if sample.stamp_ns <= end)
        self._pending = self._pending[len(samples) :]
        self._bound_ns = end
        return [Frame(start, end, samples, self._held.between(start, end))]

    def _leave_out(self):
        """Count the samples that belong to no frame."""
        for sample in self._pending:
            self._counts.add(sample.sensor, Status.OUTSIDE)
        self._pending = []
