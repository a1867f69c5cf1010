"""Plans of where frames begin and end, which depend on nothing but the stamps of the data."""

from array import array
from dataclasses import dataclass
from enum import Enum

# Periods shorter by this share still pass, so that jitter does not halve the rate.
_JITTER = 0.1
_NANO = 1e9


class Edge(Enum):
    """The role of a sample of the reference sensor in the plan."""

    INSIDE = 'inside'
    CLOSES = 'closes'
    OPENS = 'opens'


@dataclass(frozen=True)
class ReferencePlan:
    """
    One frame per sample of the reference sensor, up to a rate.

    max_rate [1/s]: of frames; gap [s]: a longer time without a sample ends a stretch.
    """

    max_rate: float
    gap: float

    def edge(self, stamp_ns, previous_ns, bound_ns):
        """
        Return the `Edge` at a sample of the reference sensor.

        previous_ns: stamp of the sample before; bound_ns: end of the last frame; None: none yet.
        """
        if bound_ns is None or self.is_gap(previous_ns, stamp_ns):
            return Edge.OPENS
        least = (1 - _JITTER) * _NANO / self.max_rate
        return Edge.CLOSES if stamp_ns - bound_ns >= least else Edge.INSIDE

    def is_gap(self, previous_ns, stamp_ns):
        """Tell whether there is a gap between two successive samples of the reference sensor."""
        return stamp_ns - previous_ns > self.gap * _NANO

    def may_end(self, stamp_ns):
        """Tell whether a frame may end at the last sample before a gap."""
        return True


@dataclass(frozen=True)
class RecordedPlan:
    """
    The frames of an earlier run.

    bounds: stamps at which frames ended [ns]; openings: those that opened a stretch [ns].
    """

    bounds: frozenset
    openings: frozenset

    def edge(self, stamp_ns, previous_ns, bound_ns):
        """Return the `Edge` at a sample of the reference sensor in the earlier run."""
        if stamp_ns in self.openings:
            return Edge.OPENS
        return Edge.CLOSES if stamp_ns in self.bounds else Edge.INSIDE

    def is_gap(self, previous_ns, stamp_ns):
        """Tell whether there was a gap between two successive samples of the reference sensor."""
        return stamp_ns in self.openings

    def may_end(self, stamp_ns):
        """Tell whether a frame ended at the last sample before a gap: not where data were left."""
        return stamp_ns in self.bounds


class PlanRecorder:
    """Records the bounds of frames."""

    def __init__(self, before=None):
        """Begin without frames, or with the `RecordedPlan` of those before."""
        self.bounds = array('q', sorted(before.bounds) if before else ())
        self.openings = array('q', sorted(before.openings) if before else ())

    def add(self, frame):
        """Record a frame."""
        self.bounds.append(frame.end_ns)
        if frame.start_ns == frame.end_ns:
            self.openings.append(frame.end_ns)

    def after(self, bounds, openings):
        """Return the bounds and openings after the first of them, as bytes of int64."""
        return self.bounds[bounds:].tobytes(), self.openings[openings:].tobytes()

    def plan(self):
        """Return the `RecordedPlan` so far."""
        return RecordedPlan(frozenset(self.bounds), frozenset(self.openings))
