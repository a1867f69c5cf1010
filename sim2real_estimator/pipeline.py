"""
The main flow: messages in, estimates out.

Live, replayed, offline and under test it is this one. Only stamps of data drive it: the same
samples, settings and seed give the same posterior, bit for bit, whenever they arrive.
"""

from .errors import DataError
from .records import Status, UpdateReport
from .summary import summarize


class Pipeline:
    """Samples -> stream -> frames -> estimator -> estimates."""

    def __init__(self, problem, estimator, stream, sources=()):
        """
        Set up the flow.

        problem: a `RobotProblem`; estimator: an `AbstractEstimator`; stream: a `Stream`;
        sources: what decodes messages, each with a `name` that the stream knows.
        """
        self.problem, self.estimator, self.stream = problem, estimator, stream
        self.sources = {source.name: source for source in sources}
        self.reset()

    @classmethod
    def from_config(cls, config, plan=None):
        """Return the pipeline of a `Config`; plan: a `RecordedPlan` to follow instead of its."""
        from .build import build_parts  # a pipeline of ready parts needs no settings

        return cls(*build_parts(config, plan))

    @property
    def counts(self):
        """How often what happened to whose samples: `Counts`."""
        return self.stream.counts

    def reset(self):
        """Forget what was estimated, and begin again from the prior."""
        self.state = self.estimator.init(self.problem)
        self._stamp_ns, self._report = 0, UpdateReport('prior')

    def receive(self, name, message):
        """Decode a message for the source of that name, and push what it holds."""
        if name not in self.sources:
            raise DataError(
                f"there is no source '{name}' to decode a message; "
                f'there are: {", ".join(sorted(self.sources)) or "none"}'
            )
        self.take(name, self.sources[name].decode(message))

    def take(self, name, decoded):
        """Count and push what a message held for the source of that name: its `Decoded`."""
        for status in decoded.statuses:
            self.counts.add(name, status)
        for sample in decoded.samples:
            self.push(sample)

    def push(self, sample):
        """Take a sample in and return USED, or the `Status` that says why it is left out."""
        return self.stream.push(sample)

    def step(self):
        """Update with every frame that has become complete; return an `Estimate` for each."""
        return [self._update(frame) for frame in self.stream.frames()]

    def finish(self):
        """Update with all frames left: the data have come to their end."""
        return [self._update(frame) for frame in self.stream.flush()]

    def estimate(self):
        """Return the latest `Estimate`; the prior's before any frame."""
        mixture = self.estimator.mixture(self.problem, self.state)
        return summarize(self.problem, mixture, self._stamp_ns, self._report)

    def _update(self, frame):
        """Return the `Estimate` after one more frame."""
        self.state, self._report = self.estimator.update(self.problem, self.state, frame)
        self._stamp_ns = frame.end_ns
        is_refused = Status.UPDATE_REFUSED.value in self._report.events
        outcome = Status.UPDATE_REFUSED if is_refused else Status.USED
        for sample in frame.samples:
            self.counts.add(sample.sensor, outcome)
        return self.estimate()
