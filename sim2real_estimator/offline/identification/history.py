"""The history of an identification: estimates over time, and events."""

import numpy as np

from ...events import EventDescriber
from ...reported_events import Happened, kinds_of
from .result import Course, Happening

# Events after which there has been a fit.
_FITS = frozenset((Happened.FITTED, Happened.HANDED_OVER, Happened.RESUMED))


class History:
    """
    Records every `Progress`; it can be saved and continued like a pipeline.

    happened: which `Happened` were reported; frames: how many there were.
    """

    def __init__(self):
        """Begin empty."""
        self._rows, self._events = [], []
        self.begin()

    def begin(self):
        """Begin another recording; the estimates so far stay."""
        self._sums, self._assessed_ns, self._describer = (0.0, 0), None, EventDescriber()
        self.happened, self.frames = frozenset(), 0

    @property
    def has_fitted(self):
        """Whether there has been a fit to data."""
        return bool(_FITS & self.happened)

    def note(self, progress, bag):
        """
        Record the `Progress` after another frame; return (events, whether findings are new).

        bag: index of the recording.
        """
        estimate, found = progress.estimate, progress.assessment.latest
        report = estimate.report
        self.frames += 1
        self.happened |= kinds_of(report.events) & frozenset(Happened)
        events = self._describer.describe(report.events, estimate, len(found.modes))
        self._events += [
            (bag, estimate.stamp_ns, e.name, e.text, e.is_warning, e.values) for e in events
        ]
        self._sums = self._sums[0] + report.nis, self._sums[1] + report.degrees
        is_assessed = found.stamp_ns != self._assessed_ns and found.stamp_ns == estimate.stamp_ns
        if is_assessed:
            self._assessed_ns = found.stamp_ns
            numbers = np.array([*estimate.mean, *estimate.sd, *self._sums], dtype=float)
            kept = bag, estimate.stamp_ns, report.stage, estimate.verdicts, numbers
            self._rows.append(kept)
            self._sums = 0.0, 0
        return events, is_assessed

    def snapshot(self):
        """Return all of it as plain values."""
        happened = tuple(each for each in Happened if each in self.happened)
        assessed = self._sums, self._assessed_ns, self._describer.snapshot()
        return tuple(self._rows), tuple(self._events), happened, self.frames, assessed

    def restore(self, saved):
        """Continue from a snapshot."""
        rows, events, happened, self.frames, assessed = saved
        self._rows, self._events, self.happened = list(rows), list(events), frozenset(happened)
        self._sums, self._assessed_ns, describer = assessed
        self._describer.restore(describer)

    def course(self, problem):
        """Return the `Course` so far."""
        names = problem.parametrization.names
        names = (*names, *(f'{name}.noise' for name in problem.noises))
        size = len(names)
        numbers = np.array([row[-1] for row in self._rows]).reshape(-1, 2 * size + 2)
        return Course(
            names,
            tuple(problem.parameters.unit(name) for name in names),
            np.array([row[1] for row in self._rows], dtype=np.int64),
            numbers[:, :size],
            numbers[:, size : 2 * size],
            tuple(row[2] for row in self._rows),
            tuple(row[3] for row in self._rows),
            numbers[:, -2],
            numbers[:, -1].astype(np.int64),
            np.array([row[0] for row in self._rows], dtype=np.int64),
        )

    def happenings(self):
        """Return a `Happening` for every event so far."""
        return tuple(
            Happening(stamp_ns, name, text, is_warning, dict(values), bag)
            for bag, stamp_ns, name, text, is_warning, values in self._events
        )
