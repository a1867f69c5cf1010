"""
The main flow: messages in, estimates out.

Live, replayed, offline and under test it is this one. Only stamps of data drive it: the same
samples, settings and seed give the same posterior, bit for bit, whenever they arrive.
"""

import copy
import logging

from .config import to_yaml
from .errors import DataError
from .identity import describe, Recording, require_same
from .inference.merging import matched
from .inference.verdicts import Verdict
from .posterior_file import load, Posterior, require_same_prior, save
from .records import Status, UpdateReport
from .summary import summarize

_HERE = 'this pipeline'
_logger = logging.getLogger(__name__)


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
        self.config = ''
        self._begin(problem.prior, ())

    @classmethod
    def from_config(cls, config, plan=None):
        """Return the pipeline of a `Config`; plan: a `RecordedPlan` to follow instead of its."""
        from .build import build_parts  # a pipeline of ready parts needs no settings

        pipeline = cls(*build_parts(config, plan))
        pipeline.config = to_yaml(config)
        return pipeline

    @property
    def counts(self):
        """How often what happened to whose samples: `Counts`."""
        return self.stream.counts

    def reset(self):
        """Forget what was estimated, and begin again from what was known before."""
        self.state = self.estimator.init(self._begun)
        self._stamp_ns, self._report, self._recording = 0, UpdateReport('prior'), None

    def posterior(self):
        """Return all that is known, and all that it takes to go on: a `Posterior`."""
        prior = self._begun.prior
        run = {
            'state': self.state,
            'stream': self.stream.snapshot(),
            'report': self._report,
            'stamp_ns': self._stamp_ns,
            'begun': (prior, self._known),
            'recording': self._recording,
        }
        known = (*self._known, self._recording) if self._recording else self._known
        return Posterior(
            describe(self.problem, self.estimator),
            self.estimator.mixture(self._begun, self.state),
            self.problem.prior,
            known,
            self.config,
            self.estimate(),
            run,
        )

    def save(self, path):
        """Write all that is known to a file, from which another process can go on."""
        save(path, self.posterior())

    def load(self, path):
        """
        Go on from a file: with the same samples the posterior is the same, bit for bit.

        The frames are those of the plan that was followed when it was saved. A DataError where
        the file is of another robot, estimator or prior; then nothing has changed.
        """
        posterior = load(path)
        if posterior.run is None:
            raise DataError(
                f'{path}: is of several recordings, so there is none to go on with; begin '
                'a new one from it: Pipeline.begin_from'
            )
        self._require_fits(path, posterior, goes_on=True)
        run = posterior.run
        self.stream.restore(run['stream'])
        self._begin(*run['begun'])
        self.state, self._report, self._stamp_ns = run['state'], run['report'], run['stamp_ns']
        self._recording = run['recording']

    def begin_from(self, path):
        """
        Begin again, with the posterior of a file as what is known of the parameters.

        A normal distribution of the same mean and covariance stands for it: that it had several
        modes, and what it knew of the robot's state, is lost.
        """
        posterior = load(path)
        self._require_fits(path, posterior, goes_on=False)
        if posterior.mixture.size > 1:
            _logger.warning('%s: its modes become one normal distribution', path)
        self._begin(matched(posterior.mixture), posterior.recordings)

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
        mixture = self.estimator.mixture(self._begun, self.state)
        return summarize(self.problem, mixture, self._stamp_ns, self._report)

    def _begin(self, prior, known):
        """Begin from a prior that knows some `Recording`s already."""
        self._begun = copy.copy(self.problem)
        self._begun.prior, self._known = prior, tuple(known)
        self.reset()

    def _require_fits(self, path, posterior, goes_on):
        """Raise a DataError where a posterior is not one of this problem."""
        try:
            identity = describe(self.problem, self.estimator)
            require_same(posterior.identity, identity, _HERE, goes_on)
            require_same_prior(posterior, self.problem.prior)
        except DataError as error:
            raise DataError(f'{path}: {error}') from error

    def _update(self, frame):
        """Return the `Estimate` after one more frame."""
        self.state, self._report = self.estimator.update(self._begun, self.state, frame)
        self._stamp_ns = frame.end_ns
        self._recording = self._recording or Recording.begun(frame)
        # After a change the data before it are forgotten, and so is this frame.
        is_forgotten = Verdict.CHANGED.value in self._report.events
        self._recording = None if is_forgotten else self._recording.until(frame)
        is_refused = Status.UPDATE_REFUSED.value in self._report.events
        outcome = Status.UPDATE_REFUSED if is_refused else Status.USED
        for sample in frame.samples:
            self.counts.add(sample.sensor, outcome)
        return self.estimate()
